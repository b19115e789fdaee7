"""Convex bounds of the step loss (thesis, section 2.3.1)."""
