"""Windows and cues of a class-independent detection cascade (thesis, 3.2.4)."""

from reproduction.experiments.window_cascade.objectness.cues import CUES, ImageCues, cues
from reproduction.experiments.window_cascade.objectness.maps import superpixels
from reproduction.experiments.window_cascade.objectness.windows import (
    WindowPrior,
    initial_windows,
    superpixel_windows,
)

__all__ = ["CUES", "ImageCues", "WindowPrior", "cues", "initial_windows", "superpixel_windows", "superpixels"]
