"""Metrics that scikit-learn does not have: detections, rankings, and comparisons on random splits."""

from ermlab._utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
