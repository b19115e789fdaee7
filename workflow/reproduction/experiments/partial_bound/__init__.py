"""Bound of the partial risk (cheap data, section 1.3.4)."""
