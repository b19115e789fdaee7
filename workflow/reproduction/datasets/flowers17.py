"""Oxford Flowers 17: photographs of 17 classes of flowers, the same number of each."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from ermlab._utils.files import broken, list_series
from ermlab._utils.image_files import ImageFiles
from reproduction.datasets.simulators.flower_scenes import draw_flower
from reproduction.datasets.simulators.scenes.noise import Noise
from reproduction.datasets.simulators.sizes import check_size

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
    """Images, which are read on access, and their classes."""

    images: ImageFiles  #: RGB, about 500 x 600
    labels: np.ndarray  #: indices into `CLASSES`


def read_flowers17(folder: str | Path) -> Flowers17:
    """Find the images ``image_<number>.jpg``, numbered from 1, ordered by class."""
    paths = list_series(folder, "image_*.jpg", first=1)
    if len(paths) % len(CLASSES):
        raise broken(folder, f"{len(paths)} images", f"the same number of each of the {len(CLASSES)} classes")
    return Flowers17(ImageFiles(paths), np.repeat(np.arange(len(CLASSES)), len(paths) // len(CLASSES)))


#: Images per class, and pixels of their shorter side; the last one is that of the real data.
SIZES = {"smoke": (8, 90), "demo": (40, 250), "paper": (80, 500)}


def simulate_flowers17(folder: str | Path, seed: int, size: str) -> None:
    """Write simulated photographs with the names and the layout of the real ones.

    Image ``k`` of a class depends on the seed, the class and ``k`` alone.
    """
    check_size(size, SIZES)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    count, side = SIZES[size]
    noise = Noise(np.random.default_rng([seed, 0]))
    for label, name in enumerate(CLASSES):
        for number in range(count):
            image = draw_flower(name, np.random.default_rng([seed, 1, label, number]), noise, side)
            path = folder / f"image_{label * count + number + 1:04d}.jpg"
            Image.fromarray(image).save(path, quality=90)
