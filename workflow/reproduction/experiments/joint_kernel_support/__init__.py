"""Joint kernel support estimation (thesis, section 3.1)."""
