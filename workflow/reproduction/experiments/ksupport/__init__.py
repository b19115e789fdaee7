"""The k-support norm (thesis, section 4.2)."""
