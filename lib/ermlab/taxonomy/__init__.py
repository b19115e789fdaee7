"""Taxonomies of classes: trees, their covariances, and SVMs that use them (thesis, section 5.2)."""
