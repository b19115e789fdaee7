"""Joint kernel support estimation with many pairs (thesis, sections 3.1.4 and 3.1.5)."""
