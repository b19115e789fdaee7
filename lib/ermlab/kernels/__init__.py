"""Kernels of graphs, histograms and windows, and feature maps for them."""

from ermlab._utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
