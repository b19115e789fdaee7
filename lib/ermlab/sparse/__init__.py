"""Sparse linear models: the k-support norm (thesis, section 4.2) and the elastic net for few samples."""

from ermlab._utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
