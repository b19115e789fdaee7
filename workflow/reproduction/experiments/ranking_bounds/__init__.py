"""Generalization bounds of ranking (thesis, section 3.2.3)."""
