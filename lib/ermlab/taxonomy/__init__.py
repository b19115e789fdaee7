"""Taxonomies of classes: trees, their covariances, and SVMs that use them (thesis, section 5.2)."""

from ermlab._utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
