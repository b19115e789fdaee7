"""DaimlerChrysler pedestrian classification benchmark: 18 x 36 crops, three training and two test sets."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ermlab.datasets._files import broken, list_series, read_pgm_stack, require_folder

#: Height and width of a crop.
CROP_SHAPE = (36, 18)
TRAIN, TEST = ("1", "2", "3"), ("T1", "T2")
#: Pedestrians come in blocks: the base image, its mirror image, and four shifted versions.
BLOCK = 6


@dataclass(frozen=True)
class CropSet:
    """One of the five sets."""

    pedestrians: np.ndarray  #: (4800, 36, 18), blocks of six versions of one pedestrian
    others: np.ndarray  #: (5000, 36, 18)

    @property
    def base(self) -> np.ndarray:
        """The (800, 36, 18) first images of the blocks, one of each pedestrian.

        In T2 the files are out of step with the blocks for a while (from block 709 to 752), so there the
        first image of 36 blocks is a shifted version of its pedestrian and not the base image.
        """
        return self.pedestrians[::BLOCK]


@dataclass(frozen=True)
class DaimlerPedestrians:
    """The benchmark: each set is drawn from other streets and days."""

    train: tuple[CropSet, ...]  #: sets 1, 2, 3
    test: tuple[CropSet, ...]  #: sets T1, T2


def read_daimler_pedestrians(folder: str | Path) -> DaimlerPedestrians:
    """Read all five sets, 32 MB of pixels."""
    folder = require_folder(folder)
    return DaimlerPedestrians(
        train=tuple(_read_set(folder / name) for name in TRAIN),
        test=tuple(_read_set(folder / name) for name in TEST),
    )


def _read_set(folder: Path) -> CropSet:
    pedestrians, others = (
        read_pgm_stack(list_series(folder / kind, "img_*.pgm"), CROP_SHAPE)
        for kind in ("ped_examples", "non-ped_examples")
    )
    if len(pedestrians) % BLOCK:
        raise broken(folder / "ped_examples", f"{len(pedestrians)} images", f"blocks of {BLOCK}")
    return CropSet(pedestrians, others)
