"""Acquisition of data sets: verified, whole, from the first source that has them."""
