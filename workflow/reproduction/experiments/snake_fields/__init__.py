"""Snakes, cell by cell and as grids (thesis, section 2.3.2)."""
