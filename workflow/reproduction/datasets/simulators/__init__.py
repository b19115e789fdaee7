"""Models of the acquisition of the data, from which simulated data sets are drawn."""
