"""Precision of CCCP (cheap data, section 1.3.3)."""
