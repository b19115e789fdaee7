"""Oxford Flowers 17: photographs of 17 kinds of flower, equally many of each."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ermlab.datasets._files import ImageFiles, broken, list_series

CLASSES = (
    "daffodil",
    "snowdrop",
    "lily of the valley",
    "bluebell",
    "crocus",
    "iris",
    "tiger lily",
    "tulip",
    "fritillary",
    "sunflower",
    "daisy",
    "colt's foot",
    "dandelion",
    "cowslip",
    "buttercup",
    "windflower",
    "pansy",
)


@dataclass(frozen=True)
class Flowers17:
    """Images, read when asked for, and the kind of flower on each."""

    images: ImageFiles  #: RGB, about 500 x 600
    labels: np.ndarray  #: indices into `CLASSES`


def read_flowers17(folder: str | Path) -> Flowers17:
    """Find the images ``image_<number>.jpg``: numbers count from 1, one class after the other."""
    paths = list_series(folder, "image_*.jpg", first=1)
    if len(paths) % len(CLASSES):
        raise broken(folder, f"{len(paths)} images", f"equally many of each of the {len(CLASSES)} classes")
    return Flowers17(ImageFiles(paths), np.repeat(np.arange(len(CLASSES)), len(paths) // len(CLASSES)))
