"""Laplacian regularization on handwritten digits with few labels (thesis, section 2.1)."""
