"""Data page with a picture of each data set."""
