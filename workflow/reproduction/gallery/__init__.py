"""The data page: a picture of each data set."""
