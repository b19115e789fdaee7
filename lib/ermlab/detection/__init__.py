"""Object detection: exact search over all boxes of an image, and models of boxes (thesis, 3.1 and 5.1).

`search` and `detect` take weighted points; `best_box` and `best_boxes` take any `Quality` of boxes; `BoxTask`
learns the weights from annotated boxes with `ermlab.structured.StructuredSVM`.
"""

from ermlab._utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
