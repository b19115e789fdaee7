"""Object localisation as structured prediction: the outputs are the boxes of an image."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.detection.boxes import overlap
from ermlab.detection.qualities import (
    Quality,
    check_box,
    check_grids,
    check_points,
    check_shape,
    check_words,
    linear,
    loss_augmented,
    pyramid,
)
from ermlab.detection.subwindow import best_box

Box = NDArray[np.int64]


class BagOfWords(NamedTuple):
    """An image as points (x, y) with a visual word each, and its height and width."""

    points: NDArray[np.int64]
    words: NDArray[np.int64]
    shape: tuple[int, int]


class BoxTask:
    """Boxes (left, top, right, bottom) in images, with the loss ``1 - overlap`` (thesis, eq. 3.27).

    The joint feature of an image and a box is the histogram of the words in the box, or in each cell of the
    box. All maxima are over all boxes of at least one pixel, by branch and bound.

    Parameters
    ----------
    n_words
        Size of the vocabulary.
    grids
        Levels of the spatial pyramid, see `ermlab.detection.pyramid`.
    """

    def __init__(self, n_words: int, grids: Sequence[int] = (1,)):
        if not isinstance(n_words, (int, np.integer)) or n_words < 1:
            raise ValueError(f"{n_words} words: expected a whole number, at least 1")
        self.n_words, self.grids = n_words, check_grids(grids)

    @property
    def dimension(self) -> int:
        """Length of ``w``: a weight for each word in each cell, cell by cell."""
        return int(np.sum(self.grids**2)) * self.n_words

    def joint_feature(self, x: BagOfWords, y: ArrayLike) -> NDArray[np.float64]:
        """Return the counts of the words in each cell of the box, cell by cell."""
        x = self._image(x)
        left, top, right, bottom = check_box(y, x.shape)
        inside = ((x.points >= (left, top)) & (x.points <= (right, bottom))).all(axis=1)
        column, row = (x.points[inside] - (left, top)).T
        feature, first_cell = np.zeros((self.dimension // self.n_words, self.n_words)), 0
        for grid in self.grids:
            cell = _cell(row, bottom - top + 1, grid) * grid + _cell(column, right - left + 1, grid)
            np.add.at(feature, (first_cell + cell, x.words[inside]), 1)
            first_cell += grid**2
        return feature.ravel()

    def loss(self, y: ArrayLike, z: ArrayLike) -> float:
        """Return 1 minus the overlap."""
        return 1.0 - float(overlap([y], [z])[0, 0])

    def quality(self, w: NDArray[np.float64], x: BagOfWords) -> Quality:
        """Return the compatibility ``<w, joint_feature(x, y)>`` of all boxes y."""
        x = self._image(x)
        w = np.asarray(w, dtype=np.float64)
        if w.shape != (self.dimension,):
            raise ValueError(f"weights of shape {w.shape}: expected ({self.dimension},)")
        weights = w.reshape(-1, self.n_words)[:, x.words]
        if self.grids.tolist() == [1]:
            return linear(x.points, weights[0], x.shape)
        return pyramid(x.points, weights.T, x.shape, self.grids)

    def predict(self, w: NDArray[np.float64], x: BagOfWords) -> Box:
        """Return the box of the highest compatibility."""
        return best_box(self.quality(w, x)).box

    def most_violated(self, w: NDArray[np.float64], x: BagOfWords, y: ArrayLike, rescaling: str) -> Box:
        """Return the box that violates the margin most."""
        return best_box(loss_augmented(self.quality(w, x), y, rescaling)).box

    def _image(self, x: BagOfWords) -> BagOfWords:
        points = check_points(x.points, x.shape)
        return BagOfWords(points, check_words(x.words, len(points), self.n_words), check_shape(x.shape))


def _cell(offset: NDArray[np.int64], length: int, grid: int) -> NDArray[np.int64]:
    """Return the cell of each offset from the first of ``length`` pixels, cut as in `pyramid`."""
    return np.searchsorted(np.arange(grid) * length // grid, offset, side="right") - 1
