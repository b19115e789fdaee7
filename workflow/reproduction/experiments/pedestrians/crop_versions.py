"""Mirrored and shifted versions of small crops, and their descriptors, each computed once and kept in a file.

A shift by a pixel moves something into the crop that nobody has seen. Either the last pixels are repeated
(``"replicate"``), or every version is cut a pixel smaller on all sides (``"crop"``): then a shift is another
cut of the same crop, and no pixel is invented.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.features.hog_crops import HogLayout, small_hog
from reproduction.claims.results import read_json, write_json

BORDERS = ("replicate", "crop")


class Version(NamedTuple):
    """A transformation of a crop: its content moves, then the crop may be mirrored."""

    down: int = 0
    right: int = 0
    flip: bool = False


#: By one pixel in the eight directions; none comes first.
SHIFTS = ((0, 0), *((down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)))
#: The 18 transformations of the source, those of a smaller set first: none, the flip, the shifts with both.
VERSIONS = tuple(Version(down, right, flip) for down, right in SHIFTS for flip in (False, True))
#: How many of the versions make up each set of transformations.
VERSION_SETS = {"none": 1, "flip": 2, "all": len(VERSIONS)}


def shift_crops(crops: ArrayLike, down: int, right: int, border: str = "replicate") -> NDArray:
    """Return (n, height, width) crops whose content is moved by at most a pixel.

    ``"replicate"`` repeats the last row or column; ``"crop"`` returns crops that are smaller by two pixels.
    """
    crops = np.asarray(crops)
    if crops.ndim != 3 or min(crops.shape[1:]) < 3:
        raise ValueError(
            f"crops of shape {crops.shape}: expected (n, height, width), at least 3 pixels a side"
        )
    if max(abs(down), abs(right)) > 1:
        raise ValueError(f"down, right are {down}, {right}: expected -1, 0 or 1")
    if border not in BORDERS:
        raise ValueError(f"border is {border!r}: expected one of {BORDERS}")
    height, width = crops.shape[1:]
    if border == "crop":
        return crops[:, 1 - down : height - 1 - down, 1 - right : width - 1 - right]
    wide = np.pad(crops, ((0, 0), (1, 1), (1, 1)), mode="edge")
    return wide[:, 1 - down : 1 - down + height, 1 - right : 1 - right + width]


def transform_crops(crops: ArrayLike, version: Version, border: str = "replicate") -> NDArray:
    """Return one version of all crops."""
    moved = shift_crops(crops, version.down, version.right, border)
    return moved[:, :, ::-1] if version.flip else moved


class VersionStore:
    """Descriptors of the versions of some crops, in one file for each shift.

    A file that is there is never made again, whatever versions are asked for later; mirrored versions are
    permutations and need none. Files that were made from other crops, or in another way, are removed first.

    Parameters
    ----------
    folder
        Where the files are.
    crops
        Needed for what is not in the folder yet.
    layout, border
        How crops are described, and what a shift does at the border.

    Attributes
    ----------
    computed
        Number of files that this object has made.
    """

    def __init__(
        self, folder: str | Path, crops: NDArray[np.uint8], layout: HogLayout, border: str = "replicate"
    ):
        if border not in BORDERS:
            raise ValueError(f"border is {border!r}: expected one of {BORDERS}")
        self._folder, self._crops = Path(folder), crops
        self._layout, self._border = layout, border
        self.computed = 0
        digest = hashlib.sha256(np.ascontiguousarray(crops).tobytes()).hexdigest()
        self._agree(
            {"crops": digest, "shape": list(crops.shape), "border": border, "layout": str(asdict(layout))}
        )

    def features(self, down: int = 0, right: int = 0) -> NDArray[np.float32]:
        """Return the (n, d) descriptors of the crops after a shift, memory-mapped."""
        path = self._folder / f"shift_{down:+d}_{right:+d}.npy"
        if not path.exists():
            described = small_hog(shift_crops(self._crops, down, right, self._border), self._layout)
            part = path.with_suffix(".part.npy")
            np.save(part, described)
            part.replace(path)
            self.computed += 1
        return np.load(path, mmap_mode="r")

    def bags(self, versions: Sequence[Version] = VERSIONS) -> NDArray[np.float32]:
        """Return the (n, T, d) descriptors of some versions of each crop, in single precision."""
        mirror = self._layout.mirror
        bags = np.empty((len(self._crops), len(versions), self._layout.dimension), dtype=np.float32)
        for t, version in enumerate(versions):
            described = self.features(version.down, version.right)
            bags[:, t] = described[:, mirror] if version.flip else described
        return bags

    def _agree(self, key: dict) -> None:
        """Make the folder; remove files that were made of other crops or in another way."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / "store.json"
        if path.exists() and read_json(path) == key:
            return
        for old in self._folder.glob("shift_*.npy"):
            old.unlink()
        write_json(path, key)
