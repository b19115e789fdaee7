"""Vessels of the retina (thesis, chapter 5, figure 5.1)."""
