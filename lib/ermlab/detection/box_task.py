"""Object localization as structured prediction: the outputs are all boxes of an image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.saving import remembers_arguments
from ermlab._utils.validation import whole_number
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
from ermlab.detection.subwindow import Detection, best_box, best_boxes
from ermlab.features.surf import dense_surf
from ermlab.features.words import Vocabulary

Box = NDArray[np.int64]


class BagOfWords(NamedTuple):
    """An image as points with visual words.

    Attributes
    ----------
    points : ndarray of int, of shape (n_points, 2)
        x and y of each point.
    words : ndarray of int, of shape (n_points,)
        Word of each point.
    shape : (int, int)
        Height and width of the image.
    """

    points: NDArray[np.int64]
    words: NDArray[np.int64]
    shape: tuple[int, int]

    @classmethod
    def from_image(
        cls, image: ArrayLike, vocabulary: Vocabulary, *, step: int, scales: Sequence[float] = (1.0,)
    ) -> Self:
        """Return the words of the dense SURF descriptors of a gray image (`ermlab.features.dense_surf`)."""
        points, descriptors = dense_surf(image, step=step, scales=scales)
        return cls(points, vocabulary.assign(descriptors), np.shape(image))


@remembers_arguments
class BoxTask:
    """Task of predicting a box (left, top, right, bottom) with the loss ``1 - overlap`` (thesis, eq. 3.27).

    The joint feature of an image and a box is the histogram of the words in the box, or in each cell of a
    spatial pyramid in the box. All maxima are exact, over all boxes of at least one pixel, by branch and
    bound.

    Parameters
    ----------
    n_words : int
        Size of the vocabulary.
    grids : sequence of int, default=(1,)
        Levels of the spatial pyramid, see `ermlab.detection.pyramid`.

    Examples
    --------
    >>> import numpy as np
    >>> from ermlab.detection import BagOfWords, BoxTask
    >>> from ermlab.structured import StructuredSVM
    >>> points = np.array([[1, 1], [4, 2], [6, 5], [8, 1]])
    >>> X = [BagOfWords(points, np.array([0, 0, 1, 1]), (8, 10))]
    >>> Y = [(1, 1, 4, 2)]
    >>> svm = StructuredSVM(BoxTask(n_words=2), C=10.0).fit(X, Y)
    >>> svm.predict(X)[0].tolist()
    [1, 1, 4, 2]
    """

    def __init__(self, n_words: int, grids: Sequence[int] = (1,)):
        self.n_words, self.grids = whole_number("n_words", n_words, 1), check_grids(grids)

    @property
    def dimension(self) -> int:
        """Length of ``w``: one weight for each word in each cell, ordered by cell."""
        return int(np.sum(self.grids**2)) * self.n_words

    def joint_feature(self, x: BagOfWords, y: ArrayLike) -> NDArray[np.float64]:
        """Return the counts of the words in each cell of the box, ordered by cell."""
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
        """Return 1 minus the overlap of two boxes."""
        return 1.0 - float(overlap([y], [z])[0, 0])

    def quality(self, w: NDArray[np.float64], x: BagOfWords) -> Quality:
        """Return the compatibility ``<w, joint_feature(x, y)>`` as a quality of boxes y."""
        x = self._image(x)
        w = np.asarray(w, dtype=np.float64)
        if w.shape != (self.dimension,):
            raise ValueError(f"weights of shape {w.shape}: expected ({self.dimension},)")
        weights = w.reshape(-1, self.n_words)[:, x.words]
        if self.grids.tolist() == [1]:
            return linear(x.points, weights[0], x.shape)
        return pyramid(x.points, weights.T, x.shape, self.grids)

    def predict(self, w: NDArray[np.float64], x: BagOfWords) -> Box:
        """Return the box with the highest compatibility."""
        return best_box(self.quality(w, x)).box

    def detect(
        self,
        w: NDArray[np.float64],
        x: BagOfWords,
        n_detections: int = 10,
        overlap: float | Callable[[float], float] = 0.5,
        min_score: float | None = 0.0,
    ) -> list[Detection]:
        """Return several boxes with high compatibility, see `ermlab.detection.best_boxes`.

        By default boxes need a positive compatibility, as any box without points has 0.
        """
        return best_boxes(self.quality(w, x), n_detections, overlap, min_score=min_score)

    def most_violated(self, w: NDArray[np.float64], x: BagOfWords, y: ArrayLike, rescaling: str) -> Box:
        """Return the box with the largest violation of the margin."""
        return best_box(loss_augmented(self.quality(w, x), y, rescaling)).box

    def _image(self, x: BagOfWords) -> BagOfWords:
        points = check_points(x.points, x.shape)
        return BagOfWords(points, check_words(x.words, len(points), self.n_words), check_shape(x.shape))


def _cell(offset: NDArray[np.int64], length: int, grid: int) -> NDArray[np.int64]:
    """Return the cell of each offset in ``length`` pixels, divided as in `pyramid`."""
    return np.searchsorted(np.arange(grid) * length // grid, offset, side="right") - 1
