"""Acquire and verify data sets from the first source that provides them."""
