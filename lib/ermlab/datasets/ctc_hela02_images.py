"""Fluo-N2DL-HeLa 02 of the Cell Tracking Challenge: raw frames and a machine's segmentation of them."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ermlab.datasets._files import broken, read_pages, require_folder


@dataclass(frozen=True)
class HelaImages:
    """Fluorescence frames; no lineage is published with them."""

    images: np.ndarray  #: (20, 700, 1100) 16 bit grey
    segmentation: np.ndarray  #: (20, 700, 1100) labels within each frame, 0 for background; has errors


def read_ctc_hela02_images(folder: str | Path) -> HelaImages:
    """Read the two stacks of 20 frames."""
    folder = require_folder(folder)
    images = read_pages(folder / "Fluo_Hela_02_img.tif")
    path = folder / "Fluo_Hela_02_ERR_SEG.tif"
    segmentation = read_pages(path)
    if segmentation.shape != images.shape or segmentation.dtype.kind not in "iu":
        raise broken(
            path, f"shape {segmentation.shape} of {segmentation.dtype}", f"labels of shape {images.shape}"
        )
    return HelaImages(images, segmentation)
