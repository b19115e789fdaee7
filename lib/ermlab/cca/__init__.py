"""Kernel canonical correlation analysis with Laplacian regularization (thesis, section 4.1)."""

from ermlab._utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
