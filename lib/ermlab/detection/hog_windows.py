"""Windows of HOG cells at many places and scales of an image, and the task of finding the right one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from ermlab.detection.boxes import overlap
from ermlab.features.hog_cells import hog
from ermlab.kernels.slot import score_windows, windows_shape

#: Cells by which a window may leave the image; one more is needed for the gradients.
MARGIN = 1
#: Smallest overlap with an object of windows that are no mistakes for the background.
NEAR = 0.3
NOWHERE = np.full(5, -1)

Output = NDArray[np.int64]


@dataclass(frozen=True)
class WindowPyramid:
    """All windows of an image.

    Attributes
    ----------
    grids : tuple of ndarray of shape (rows, columns, n_channels)
        HOG cells of the image at each scale.
    window : (int, int)
        Rows and columns of cells in a window.
    boxes : ndarray of int, of shape (n_windows, 4)
        The windows in pixels of the image, ordered by scale, row and column; they may leave the image.
    allowed : ndarray of bool, of shape (n_windows,)
        Windows that are possible answers; the others show other objects.
    """

    grids: tuple[NDArray[np.float32], ...]
    window: tuple[int, int]
    boxes: NDArray[np.int64]
    allowed: NDArray[np.bool_]

    @classmethod
    def of(
        cls, image: NDArray[np.float64], window: tuple[int, int], cell: int, zooms: Sequence[float]
    ) -> Self:
        """Return the windows of an image that is shrunk by each of the factors ``zooms``."""
        grids, boxes = [], []
        for zoom in zooms:
            small = _shrunk(image, zoom)
            if min(small.shape) < cell:
                continue
            grid = hog(small, cell, pad=MARGIN + 1)
            rows, columns = (side - size + 1 for side, size in zip(grid.shape, window, strict=False))
            if rows < 1 or columns < 1:
                continue
            grids.append(grid)
            top, left = np.indices((rows, columns)).reshape(2, -1) - MARGIN
            sides = np.column_stack([left, top, left + window[1], top + window[0]]) * cell
            # Exact factors, since the size of the image is rounded.
            exact = np.tile([image.shape[1] / small.shape[1], image.shape[0] / small.shape[0]], 2)
            boxes.append(np.rint(sides * exact).astype(np.int64) - [0, 0, 1, 1])
        places = np.concatenate(boxes) if boxes else np.empty((0, 4), np.int64)
        return cls(tuple(grids), window, places, np.ones(len(places), dtype=bool))

    def without(self, objects: NDArray[np.int64]) -> Self:
        """Return the pyramid without windows that overlap any of the objects."""
        if not len(objects) or not len(self.boxes):
            return self
        return replace(self, allowed=self.allowed & (overlap(self.boxes, objects).max(axis=1) < NEAR))

    def scores(self, w: ArrayLike) -> NDArray[np.float64]:
        """Return ``<w, (phi, 1)>`` of all windows."""
        found = [
            score_windows(w, grid, np.zeros(windows_shape(grid.shape[:2], self.window), int), self.window)
            for grid in self.grids
        ]
        return np.concatenate([scores.ravel() for scores in found] or [np.empty(0)]).astype(np.float64)

    def descriptor(self, number: int) -> NDArray[np.float64]:
        """Return ``(phi, 1)`` of one window."""
        for grid in self.grids:
            rows, columns = windows_shape(grid.shape[:2], self.window)
            if number < rows * columns:
                row, column = divmod(number, columns)
                cells = grid[row : row + self.window[0], column : column + self.window[1]]
                return np.append(cells.ravel().astype(np.float64), 1.0)
            number -= rows * columns
        raise IndexError(f"window {number} behind the last: expected one of the pyramid")


class WindowTask:
    """Task of finding the window of an object, or none, with the loss ``1 - overlap`` (thesis, eq. 3.27).

    Inputs are `WindowPyramid` objects. An output is an array of five integers: the number of a window, and
    its box. ``NOWHERE`` stands for no object; its score is 0.

    Parameters
    ----------
    n_features : int
        Length of a descriptor.
    """

    def __init__(self, n_features: int):
        self.dimension = n_features + 1

    def joint_feature(self, x: WindowPyramid, y: Output) -> NDArray[np.float64]:
        """Return ``(phi, 1)`` of a window, or 0 for none."""
        return np.zeros(self.dimension) if y[0] < 0 else x.descriptor(int(y[0]))

    def loss(self, y: Output, z: Output) -> float:
        """Return 1 minus the overlap, or 1 if only one of the answers is none."""
        if y[0] < 0 or z[0] < 0:
            return float((y[0] < 0) != (z[0] < 0))
        return 1.0 - float(overlap([y[1:]], [z[1:]])[0, 0])

    def predict(self, w: NDArray[np.float64], x: WindowPyramid) -> Output:
        """Return the window with the highest score, or none if all are negative."""
        return _best(x, np.where(x.allowed, x.scores(w), -np.inf), 0.0)

    def most_violated(self, w: NDArray[np.float64], x: WindowPyramid, y: Output, rescaling: str) -> Output:
        """Return the answer with the largest violation of the margin."""
        if rescaling != "margin":
            raise ValueError(f"rescaling is {rescaling!r}: expected 'margin'")
        if not len(x.boxes):
            return NOWHERE
        losses = np.ones(len(x.boxes)) if y[0] < 0 else 1.0 - overlap(x.boxes, [y[1:]])[:, 0]
        return _best(x, np.where(x.allowed, x.scores(w) + losses, -np.inf), self.loss(y, NOWHERE))


def nearest_window(x: WindowPyramid, box: ArrayLike) -> Output:
    """Return the allowed window that overlaps a box most, or none if all overlap it by less than half."""
    if not len(x.boxes):
        return NOWHERE
    return _best(x, np.where(x.allowed, overlap(x.boxes, [box])[:, 0], -np.inf), 0.5)


def _best(x: WindowPyramid, values: NDArray[np.float64], of_none: float) -> Output:
    """Return the window of the largest value, or none if that is less than ``of_none``."""
    if not len(values) or values.max() < of_none:
        return NOWHERE
    number = int(np.argmax(values))
    return np.array([number, *x.boxes[number]])


def _shrunk(image: NDArray[np.float64], zoom: float) -> NDArray[np.float64]:
    """Return an image shrunk by a factor, without aliasing."""
    shape = np.maximum(np.rint(np.array(image.shape) / zoom), 1)
    smooth = ndimage.gaussian_filter(image, 0.5 * (zoom - 1)) if zoom > 1 else image
    return ndimage.zoom(smooth, shape / image.shape, order=1, mode="nearest", grid_mode=True)
