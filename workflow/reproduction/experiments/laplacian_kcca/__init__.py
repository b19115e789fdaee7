"""Laplacian KCCA (thesis, section 4.1)."""
