"""Models of how the data were acquired, from which simulated data sets are made."""
