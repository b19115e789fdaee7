"""Visual words: descriptors assigned to the nearest center of a vocabulary, and counted inside boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.parallel import over_ranges
from ermlab._utils.saving import SavedModel
from ermlab._utils.validation import largest_magnitude, real_array, require_room, safe_unit, whole_number
from ermlab.features._words_numba import count_words, nearest_of_close

_CHUNK = 1024
#: Magnitudes of centers between which their products are safe in single precision.
_SMALLEST_ROUGH, _LARGEST_ROUGH = 1e-10, 1e10
#: Largest entry of a descriptor: squared distances stay finite.
_LARGEST = 1e150
#: Largest coordinate of a box: the kernel multiplies it by the number of cells.
_FURTHEST = 1 << 31


class Vocabulary(SavedModel, BaseEstimator):
    """Vocabulary of visual words: centers of descriptors found by mini-batch k-means.

    Parameters
    ----------
    n_words : int, default=1000
        Number of centers.
    random_state : int, default=None
        Seed of k-means; the centers do not depend on the number of threads.
    batch_size : int, default=1024
        Number of descriptors in a mini-batch.
    max_iter : int, default=30
        Maximum number of passes over all descriptors.
    verbose : bool, default=False
        Whether k-means prints its progress.

    Attributes
    ----------
    centers_ : ndarray of shape (n_words, n_features)
        The words.
    n_features_in_ : int
        Number of features of a descriptor.
    """

    def __init__(
        self,
        n_words: int = 1000,
        random_state: int | None = None,
        batch_size: int = 1024,
        max_iter: int = 30,
        verbose: bool = False,
    ):
        self.n_words = n_words
        self.random_state = random_state
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.verbose = verbose

    def fit(self, descriptors: ArrayLike, y: None = None) -> Self:
        """Find the centers of descriptors, (n_descriptors, n_features)."""
        if np.ma.is_masked(descriptors):
            raise ValueError("descriptors have masked entries: expected numbers only")
        descriptors = validate_data(self, descriptors, dtype=np.float64, order="C")
        if not 1 <= whole_number("n_words", self.n_words, 0) <= len(descriptors):
            raise ValueError(
                f"{self.n_words} words: expected 1 to {len(descriptors)}, as n_samples={len(descriptors)}"
            )
        model = MiniBatchKMeans(
            int(self.n_words),
            random_state=self.random_state,
            batch_size=self.batch_size,
            max_iter=self.max_iter,
            n_init=1,
            verbose=int(self.verbose),
        )
        unit = safe_unit(descriptors)
        with threadpool_limits(1):  # sums over threads differ in their last bits, which affects the stopping
            model.fit(descriptors / unit)
        self.centers_ = model.cluster_centers_.astype(np.float64) * unit
        return self

    def assign(self, descriptors: ArrayLike, n_jobs: int | None = None) -> NDArray[np.int64]:
        """Return the word of each descriptor: the nearest center, the first of several equally near.

        Approximate distances are computed by a matrix product in single precision; centers that it cannot
        distinguish from the nearest are compared in double precision. The words are therefore exact, and do
        not depend on the number of threads or on other descriptors.
        """
        check_is_fitted(self)
        centers = np.ascontiguousarray(self.centers_)
        if np.shape(descriptors)[:1] == (0,):
            return np.zeros(0, dtype=np.int64)
        descriptors = _matrix(descriptors, "descriptors", centers.shape[1])
        unit = safe_unit(centers)
        if unit != 1:
            centers, descriptors = centers / unit, descriptors / unit
        if largest_magnitude(descriptors) > _LARGEST:
            raise ValueError(
                f"descriptors up to {largest_magnitude(descriptors) * unit:.3g}: expected at most "
                f"{_LARGEST * unit:.3g} with centers up to {largest_magnitude(centers) * unit:.3g}"
            )
        words = np.zeros(len(descriptors), dtype=np.int64)
        # A common offset would only cost digits.
        middle = centers.mean(axis=0)
        rough = centers - middle
        rough_unit = _rough_unit(rough)
        rough = (rough / rough_unit).astype(np.float32)
        squares = np.einsum("ij,ij->i", rough, rough)
        longest = float(np.sqrt(squares.max()))
        digits = float(np.finfo(np.float32).eps) * (centers.shape[1] + 8)

        def work(first: int, last: int) -> None:
            for start in range(first * _CHUNK, min(last * _CHUNK, len(words)), _CHUNK):
                part = slice(start, start + _CHUNK)
                moved = descriptors[part] - middle
                if rough_unit != 1:
                    moved /= rough_unit
                # If a product is infinite or NaN, all centers are compared exactly.
                with np.errstate(over="ignore", invalid="ignore"):
                    scores = moved.astype(np.float32) @ rough.T
                    scores *= -2
                    scores += squares
                    # Rounding of both factors, of a sum of products and of the difference, for two centers.
                    tolerances = 2 * digits * longest * (np.linalg.norm(moved, axis=1) + longest)
                    limits = scores.min(axis=1) + tolerances
                nearest_of_close(scores, limits, descriptors[part], centers, words[part])

        with one_blas_thread():
            over_ranges(work, -(-len(words) // _CHUNK), n_jobs)
        return words


def n_cells(levels: Sequence[int]) -> int:
    """Return the number of cells of a spatial pyramid."""
    return sum(cells * cells for cells in _levels(levels))


def histogram(
    points: ArrayLike, words: ArrayLike, box: ArrayLike, n_words: int, levels: Sequence[int] = (1,)
) -> NDArray[np.int64]:
    """Count the words inside a box for each cell of a spatial pyramid.

    Parameters
    ----------
    points : array-like of int, of shape (n, 2)
        x and y of each point.
    words : array-like of int, of shape (n,)
        Word at each point.
    box : array-like of int, of shape (4,)
        Left, top, right and bottom pixel, inclusive; it may leave the image.
    n_words : int
        Size of the vocabulary.
    levels : sequence of int, default=(1,)
        Number of cells along a side for each level of the pyramid. Row i of g begins at
        ``top + i * height // g``, columns likewise, as for the ``grids`` of `ermlab.detection.pyramid`.

    Returns
    -------
    ndarray of int, of shape (n_cells, n_words)
        Cells are ordered by level and row.
    """
    points, words, box = np.asarray(points), np.asarray(words), np.asarray(box)
    sides = _levels(levels)
    # Python integers do not overflow.
    shape = sum(side * side for side in sides), whole_number("n_words", n_words, 0)
    require_room(shape, "a histogram of so many words and cells")
    cells, counts = np.array(sides, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    if box.shape != (4,) or not np.issubdtype(box.dtype, np.integer):
        raise ValueError(f"box is {box.tolist()}: expected integers left, top, right, bottom")
    left, top, right, bottom = (int(side) for side in box)
    if right < left or bottom < top:
        raise ValueError(f"box is {box.tolist()}: expected left <= right and top <= bottom")
    if min(left, top) < -_FURTHEST or max(right, bottom) > _FURTHEST:
        raise ValueError(f"box is {box.tolist()}: expected pixels between {-_FURTHEST} and {_FURTHEST}")
    if words.size == 0 and points.size == 0:
        return counts
    if points.shape != (len(words), 2) or words.ndim != 1:
        raise ValueError(f"points of shape {points.shape}, words of {words.shape}: expected (n, 2) and (n,)")
    if not (np.issubdtype(points.dtype, np.integer) and np.issubdtype(words.dtype, np.integer)):
        raise ValueError(f"points of type {points.dtype}, words of {words.dtype}: expected integers")
    if words.min() < 0 or words.max() >= n_words:
        raise ValueError(f"words from {words.min()} to {words.max()}: expected 0 to {n_words - 1}")
    points, words = _signed(points), _signed(words)
    count_words(points, words, left, top, right - left + 1, bottom - top + 1, cells, counts)
    return counts


def _levels(levels: Sequence[int]) -> tuple[int, ...]:
    if len(levels) == 0:
        raise ValueError(f"levels is {levels}: expected numbers of cells along a side, each at least 1")
    return tuple(whole_number(f"a level of {levels}", cells, 1) for cells in levels)


def _signed(values: NDArray[np.integer]) -> NDArray[np.signedinteger]:
    """Return integers in a native signed type, as numba turns sums of unsigned and signed ones to floats."""
    if values.dtype.kind == "u" or not values.dtype.isnative:
        if values.max() > np.iinfo(np.int64).max:
            raise ValueError(f"points go up to {values.max()}: expected numbers of 63 bits")
        return values.astype(np.int64)
    return values


def _rough_unit(rough: NDArray[np.float64]) -> float:
    """Return the power of two to divide by before single precision, 1 for ordinary magnitudes."""
    largest = largest_magnitude(rough)
    if largest == 0 or _SMALLEST_ROUGH <= largest <= _LARGEST_ROUGH:
        return 1.0
    return math.ldexp(1.0, math.frexp(largest)[1] - 1)


def _matrix(values: ArrayLike, name: str, n_features: int | None = None) -> NDArray[np.float64]:
    """Return a contiguous matrix of finite numbers, or raise a ValueError."""
    values = np.ascontiguousarray(real_array(values, name))
    if values.ndim != 2 or n_features not in (None, values.shape[1]):
        raise ValueError(f"{name} of shape {values.shape}: expected (n, {n_features or 'n_features'})")
    if not np.isfinite(values).all():
        row = int(np.argmax(~np.isfinite(values).all(axis=1)))
        raise ValueError(f"{name} row {row} has NaN or infinity: expected finite numbers")
    return values
