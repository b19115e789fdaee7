"""Fluo-N2DL-HeLa 02 of the Cell Tracking Challenge: raw frames and an automatic segmentation."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tifffile

from ermlab._utils.files import broken, require_folder
from reproduction.datasets.files import read_pages
from reproduction.datasets.nuclei_films import MITOCHECK
from reproduction.datasets.simulators.nuclei import Tracks, take_film
from reproduction.datasets.simulators.sizes import check_size


@dataclass(frozen=True)
class HelaImages:
    """Fluorescence frames; no lineage is published with them."""

    images: np.ndarray  #: (20, 700, 1100) gray levels of 16 bits
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


#: Frames, and the pixels of a frame.
SIZES = {"smoke": (4, (240, 300)), "demo": (20, (700, 1100)), "paper": (20, (700, 1100))}
#: Random numbers differ from those of the films of the laboratory.
_NUMBER = 4


def simulate_ctc_hela02_images(folder: str | Path, seed: int, size: str) -> None:
    """Write frames of HeLa nuclei, with the true masks in place of an automatic segmentation."""
    check_size(size, SIZES)
    rng = np.random.default_rng([seed, _NUMBER])
    images, masks = zip(*take_film(MITOCHECK, rng, *SIZES[size], Tracks()), strict=True)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, pages in (("img", images), ("ERR_SEG", masks)):
        path = folder / f"Fluo_Hela_02_{name}.tif"
        tifffile.imwrite(path, np.stack(pages), compression="deflate", photometric="minisblack")
