"""Oxford Flowers 17: photographs of 17 kinds of flower, equally many of each."""

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
    """Images, read when asked for, and the kind of flower on each."""

    images: ImageFiles  #: RGB, about 500 x 600
    labels: np.ndarray  #: indices into `CLASSES`


def read_flowers17(folder: str | Path) -> Flowers17:
    """Find the images ``image_<number>.jpg``: numbers count from 1, one class after the other."""
    paths = list_series(folder, "image_*.jpg", first=1)
    if len(paths) % len(CLASSES):
        raise broken(folder, f"{len(paths)} images", f"equally many of each of the {len(CLASSES)} classes")
    return Flowers17(ImageFiles(paths), np.repeat(np.arange(len(CLASSES)), len(paths) // len(CLASSES)))


#: Images of a kind, and pixels of their shorter side; the last one is that of the real data.
SIZES = {"smoke": (8, 90), "demo": (40, 250), "paper": (80, 500)}


def simulate_flowers17(folder: str | Path, seed: int, size: str) -> None:
    """Write simulated photographs with the names and the layout of the real ones.

    Image k of a kind depends on the seed, the kind and k alone.

    Parameters
    ----------
    folder
        Where to write.
    seed
        Of all that is random.
    size
        ``"smoke"``, ``"demo"`` or ``"paper"``, which has as many images as the real data, as large as there.
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
