"""DaimlerChrysler pedestrian classification benchmark: three training and two test sets of small crops."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ermlab._utils.files import broken, list_series, require_folder
from reproduction.datasets.files import read_pgm_stack
from reproduction.datasets.simulators import walkers
from reproduction.datasets.simulators.scenes.noise import Noise
from reproduction.datasets.simulators.sizes import check_size

#: Height and width of a crop.
CROP_SHAPE = (36, 18)
TRAIN, TEST = ("1", "2", "3"), ("T1", "T2")
#: Images of each pedestrian: the base image, its flipped version, and four shifted versions.
BLOCK = 6


@dataclass(frozen=True)
class CropSet:
    """One of the five sets."""

    pedestrians: np.ndarray  #: (4800, 36, 18), blocks of six versions of one pedestrian
    others: np.ndarray  #: (5000, 36, 18)

    @property
    def base(self) -> np.ndarray:
        """The (800, 36, 18) first images of the blocks, one of each pedestrian.

        In T2 the files are not aligned with the blocks from block 709 to 752, so that the first image of 36
        blocks is a shifted version and not the base image. The real sets contain exact duplicates: a block of
        six images of T2, and 63 other crops of set 2. They are kept because they are part of the benchmark.
        """
        return self.pedestrians[::BLOCK]


@dataclass(frozen=True)
class DaimlerPedestrians:
    """The benchmark; the sets show different streets and days."""

    train: tuple[CropSet, ...]  #: sets 1, 2, 3
    test: tuple[CropSet, ...]  #: sets T1, T2


def read_daimler_pedestrians(folder: str | Path) -> DaimlerPedestrians:
    """Read all five sets, 32 MB of pixels."""
    return DaimlerPedestrians(
        train=tuple(read_crop_set(folder, name) for name in TRAIN),
        test=tuple(read_crop_set(folder, name) for name in TEST),
    )


def read_crop_set(folder: str | Path, name: str) -> CropSet:
    """Read one set, ``"1"``, ``"2"``, ``"3"``, ``"T1"`` or ``"T2"``."""
    folder = require_folder(folder) / name
    pedestrians, others = (
        read_pgm_stack(list_series(folder / kind, "img_*.pgm"), CROP_SHAPE)
        for kind in ("ped_examples", "non-ped_examples")
    )
    if len(pedestrians) % BLOCK:
        raise broken(folder / "ped_examples", f"{len(pedestrians)} images", f"blocks of {BLOCK}")
    return CropSet(pedestrians, others)


@dataclass(frozen=True)
class _Size:
    """Numbers of images of a simulated set; each pedestrian gives a block of six."""

    pedestrians: int
    others: int


#: The last one is that of the real data.
SIZES = {"smoke": _Size(40, 75), "demo": _Size(300, 1500), "paper": _Size(800, 5000)}
#: Largest number of frames of a track; number of other crops from one street.
_TRACK, _CUTS = 25, 25
#: Largest shift in pixels of a shifted version.
_SHIFT = 2
_README = """Simulated walkers in the layout of the DaimlerChrysler Pedestrian Classification Benchmark.
ped_examples hold blocks of six: an image, its mirror image, and four versions cut a little beside it.
"""


def simulate_daimler_pedestrians(folder: str | Path, seed: int, size: str) -> None:
    """Write simulated crops with the names and the layout of the real ones.

    Image ``k`` of each part of a set depends on the seed and ``k`` alone: a larger set begins with a smaller
    one.
    """
    check_size(size, SIZES)
    folder, counts = Path(folder), SIZES[size]
    noise = Noise(np.random.default_rng([seed, 0]))
    for number, name in enumerate(TRAIN + TEST, start=1):
        _write_series(
            folder / name / "ped_examples", _pedestrians(noise, [seed, number, 0], counts.pedestrians)
        )
        _write_series(folder / name / "non-ped_examples", _others(noise, [seed, number, 1], counts.others))
    (folder / "README.txt").write_text(_README)


def _pedestrians(noise: Noise, seed: list[int], count: int) -> Iterator[np.ndarray]:
    """Yield the blocks of ``count`` pedestrians, ordered by track."""
    height, width = CROP_SHAPE
    wide = (height + 2 * _SHIFT, width + 2 * _SHIFT)
    for track in itertools.count():
        if count <= 0:
            return
        rng = np.random.default_rng([*seed, track])
        frames = int(rng.integers(1, _TRACK, endpoint=True))
        for crop in walkers.draw_track(rng, noise, wide, frames)[:count]:
            yield from _block(crop, rng)
        count -= frames


def _block(crop: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield the center of a crop with a margin of `_SHIFT`, its flip, and four shifted parts."""

    def cut(top: int, left: int) -> np.ndarray:
        return crop[top : top + CROP_SHAPE[0], left : left + CROP_SHAPE[1]]

    yield cut(_SHIFT, _SHIFT)
    yield cut(_SHIFT, _SHIFT)[:, ::-1]
    places = [place for place in np.ndindex(2 * _SHIFT + 1, 2 * _SHIFT + 1) if place != (_SHIFT, _SHIFT)]
    for place in rng.choice(places, BLOCK - 2, replace=False):
        yield cut(*place)


def _others(noise: Noise, seed: list[int], count: int) -> Iterator[np.ndarray]:
    for street, start in enumerate(range(0, count, _CUTS)):
        rng = np.random.default_rng([*seed, street])
        yield from walkers.draw_others(rng, noise, CROP_SHAPE, _CUTS)[: count - start]


def _write_series(folder: Path, images: Iterable[np.ndarray]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(images):
        header = b"P5\n%d %d\n255\n" % CROP_SHAPE[::-1]
        (folder / f"img_{number:05d}.pgm").write_bytes(header + image.tobytes())
