"""Image features: dense SURF, histograms of oriented gradients, rotated patches, visual words."""

from ermlab._utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
