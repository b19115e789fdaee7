"""Efficient subwindow search: exact branch and bound over all boxes of an image (thesis, section 5.1).

`search` and `detect` take weighted points; `best_box` and `best_boxes` any `Quality`.
"""

from ermlab.detection.qualities import Quality, histogram, linear, loss_augmented, pyramid
from ermlab.detection.subwindow import (
    Detection,
    Detector,
    best_box,
    best_box_of_each,
    best_boxes,
    detect,
    search,
)

__all__ = [
    "Detection",
    "Detector",
    "Quality",
    "best_box",
    "best_box_of_each",
    "best_boxes",
    "detect",
    "histogram",
    "linear",
    "loss_augmented",
    "pyramid",
    "search",
]
