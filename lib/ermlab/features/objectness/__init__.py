"""Windows and cues of a detection cascade that knows no classes (thesis, 3.2.4)."""

from ermlab.features.objectness.cues import CUES, ImageCues, cues
from ermlab.features.objectness.maps import superpixels
from ermlab.features.objectness.windows import WindowPrior, initial_windows, superpixel_windows

__all__ = ["CUES", "ImageCues", "WindowPrior", "cues", "initial_windows", "superpixel_windows", "superpixels"]
