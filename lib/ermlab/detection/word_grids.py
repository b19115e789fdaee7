"""Images as visual words on a regular grid."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.detection.boxes import as_boxes
from ermlab.exceptions import DataError
from ermlab.features.surf import dense_surf, grid_points
from ermlab.features.words import Vocabulary


class WordGrid(NamedTuple):
    """Visual words at the places of a regular grid.

    Attributes
    ----------
    words : ndarray of int, of shape (n_scales, rows, columns)
        Words, -1 at places outside the image.
    corner : (int, int)
        x and y of the upper left pixel of the first place.
    step : int
        Side of a place in pixels.
    """

    words: NDArray[np.int32]
    corner: tuple[int, int]
    step: int

    def size_of(self, box: ArrayLike) -> tuple[int, int]:
        """Return the numbers of columns and rows of places of a box in pixels, at least one each."""
        left, top, right, bottom = as_boxes([box], "box")[0].tolist()
        return tuple(max(round(side / self.step), 1) for side in (right - left + 1, bottom - top + 1))

    def window_of(self, box: ArrayLike) -> NDArray[np.int64]:
        """Return the window nearest to a box in pixels: (left, top, right, bottom) places, inclusive."""
        size, (rows, columns) = np.array(self.size_of(box)), self.words.shape[1:]
        last = np.array([columns, rows]) - size
        if (last < 0).any():
            raise ValueError(
                f"box {np.asarray(box).tolist()} has {size[0]} x {size[1]} places: expected at most "
                f"{columns} x {rows}, the grid"
            )
        first = np.rint((np.asarray(box)[:2] - self.corner) / self.step).astype(np.int64)
        first = np.clip(first, 0, last)
        return np.concatenate([first, first + size - 1])

    def boxes_of(self, windows: ArrayLike) -> NDArray[np.int64]:
        """Return the boxes in pixels of windows (n, 4)."""
        ends = [0, 0, self.step - 1, self.step - 1]
        return as_boxes(windows, "windows") * self.step + np.tile(self.corner, 2) + ends

    def fits(self, size: Sequence[int]) -> bool:
        """Return whether a window of ``size`` (columns, rows) fits into the grid."""
        return size[0] <= self.words.shape[2] and size[1] <= self.words.shape[1]

    def widened(self, margin: int) -> WordGrid:
        """Return the grid with a margin of places without words, for windows that leave the image."""
        words = np.pad(self.words, ((0, 0), (margin, margin), (margin, margin)), constant_values=-1)
        return WordGrid(words, tuple(side - margin * self.step for side in self.corner), self.step)


def learn_words(
    images: Sequence[ArrayLike],
    *,
    n_words: int,
    step: int,
    scales: Sequence[float],
    max_samples: int,
    random_state: int,
) -> Vocabulary:
    """Learn a vocabulary of dense upright SURF descriptors from a random sample of them."""
    descriptors = np.concatenate([dense_surf(image, step=step, scales=scales)[1] for image in images])
    chosen = np.random.default_rng(random_state).permutation(len(descriptors))[:max_samples]
    return Vocabulary(n_words, random_state=random_state).fit(descriptors[np.sort(chosen)])


def word_grid(image: ArrayLike, vocabulary: Vocabulary, *, step: int, scales: Sequence[float]) -> WordGrid:
    """Return the words of the dense upright SURF descriptors of an image."""
    points, descriptors = dense_surf(image, step=step, scales=scales)
    columns, rows = (np.unique(grid_points(np.shape(image), step)[:, axis]).size for axis in (0, 1))
    words = vocabulary.assign(descriptors).astype(np.int32).reshape(len(scales), rows, columns)
    return WordGrid(words, tuple((points[0] - step // 2).tolist()), step)


def save_word_grids(path: str | Path, sets: dict[str, Sequence[WordGrid]]) -> None:
    """Write named sets of grids to an ``.npz`` file."""
    arrays = {}
    for name, grids in sets.items():
        arrays[f"{name}_words"] = np.concatenate([grid.words.ravel() for grid in grids])
        arrays[f"{name}_layout"] = np.array([[*grid.words.shape, *grid.corner, grid.step] for grid in grids])
    with Path(path).open("wb") as file:
        np.savez_compressed(file, **arrays)


def load_word_grids(path: str | Path) -> dict[str, list[WordGrid]]:
    """Read a file written by `save_word_grids`; raise a `DataError` if it is damaged."""
    try:
        with np.load(path, allow_pickle=False) as content:
            names = [name.removesuffix("_layout") for name in content.files if name.endswith("_layout")]
            return {name: _unpack(content[f"{name}_words"], content[f"{name}_layout"]) for name in names}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, TypeError, OverflowError) as error:
        raise DataError(f"{path}: {error}; expected an .npz file that `save_word_grids` wrote") from error


def _unpack(words: NDArray[np.int32], layout: NDArray[np.int64]) -> list[WordGrid]:
    if layout.ndim != 2 or layout.shape[1] != 6 or layout.dtype.kind != "i" or words.dtype.kind != "i":
        raise ValueError(
            f"layout of shape {layout.shape} and type {layout.dtype}, words of type {words.dtype}: "
            "expected (grids, 6) and integers"
        )
    # Python integers do not overflow.
    sizes = [math.prod(row) for row in layout[:, :3].tolist()]
    if layout[:, :3].min(initial=1) < 1 or layout[:, 5].min(initial=1) < 1 or words.min(initial=0) < -1:
        raise ValueError("expected grids of at least one place, steps of at least 1, and words from -1 on")
    if sum(sizes) != words.size:
        raise ValueError(f"{words.size} words for grids of {sum(sizes)} places")
    parts = np.split(words, np.cumsum(sizes)[:-1])
    return [
        WordGrid(part.reshape(row[:3]), (int(row[3]), int(row[4])), int(row[5]))
        for part, row in zip(parts, layout, strict=True)
    ]
