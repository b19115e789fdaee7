"""A detection cascade (thesis, section 3.2.4)."""
