"""Laplacian regularization on two moons with few labels (thesis, section 2.1)."""
