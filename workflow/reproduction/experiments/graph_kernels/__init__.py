"""Graph kernels (thesis, section 4.3)."""
