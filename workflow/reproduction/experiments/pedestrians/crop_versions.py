"""Flipped and shifted versions of small crops, and their descriptors, each computed once and kept in a file.

A shift by one pixel needs pixels from outside the crop. Either the last row or column is repeated
(``"replicate"``), or every version is cropped by one pixel on all sides (``"crop"``): then a shift is another
part of the same crop, and no pixel is repeated.
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
    """A transformation of a crop: a shift of its content, followed by an optional flip."""

    down: int = 0
    right: int = 0
    flip: bool = False


#: No shift, then one pixel in the eight directions.
SHIFTS = ((0, 0), *((down, right) for down in (-1, 0, 1) for right in (-1, 0, 1) if (down, right) != (0, 0)))
#: The 18 transformations of the source, ordered such that each set of `VERSION_SETS` is a prefix.
VERSIONS = tuple(Version(down, right, flip) for down, right in SHIFTS for flip in (False, True))
#: Number of versions in each set of transformations.
VERSION_SETS = {"none": 1, "flip": 2, "all": len(VERSIONS)}


def shift_crops(crops: ArrayLike, down: int, right: int, border: str = "replicate") -> NDArray:
    """Return (n, height, width) crops with their content shifted by at most one pixel.

    ``"replicate"`` repeats the last row or column; ``"crop"`` returns crops that are smaller by two pixels.
    """
    crops = np.asarray(crops)
    if crops.ndim != 3 or min(crops.shape[1:]) < 3:
        raise ValueError(
            f"crops of shape {crops.shape}: expected (n, height, width), at least 3 pixels per side"
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
    """Descriptors of the versions of crops, in one file per shift.

    Existing files are reused; flipped versions are permutations and need no file. Files that were written for
    other crops or with other parameters are removed first.

    Parameters
    ----------
    folder : str or Path
        Folder of the files.
    crops : array of shape (n, height, width)
        Crops for the files that do not exist yet.
    layout : HogLayout
        Layout of the descriptor.
    border : {"replicate", "crop"}, default="replicate"
        What a shift does at the border.

    Attributes
    ----------
    computed : int
        Number of files that this object has written.
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
        self._remove_stale(
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
        """Return the (n, T, d) descriptors of the given versions of each crop, in single precision."""
        mirror = self._layout.mirror
        bags = np.empty((len(self._crops), len(versions), self._layout.dimension), dtype=np.float32)
        for t, version in enumerate(versions):
            described = self.features(version.down, version.right)
            bags[:, t] = described[:, mirror] if version.flip else described
        return bags

    def _remove_stale(self, key: dict) -> None:
        """Make the folder, and remove files that were written for other crops or with other parameters."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / "store.json"
        if path.exists() and read_json(path) == key:
            return
        for old in self._folder.glob("shift_*.npy"):
            old.unlink()
        write_json(path, key)
