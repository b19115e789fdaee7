"""One module for each data set: reader and simulator."""
