"""Kernel canonical correlation analysis with Laplacian regularization (thesis, section 4.1)."""
