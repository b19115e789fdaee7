"""Visual words: descriptors named by the nearest centre of a vocabulary, and counted inside boxes."""

import math
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.cluster import MiniBatchKMeans
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.parallel import over_ranges
from ermlab._utils.validation import largest_magnitude, real_array, require_room, safe_unit, whole_number
from ermlab.exceptions import DataError
from ermlab.features._words_numba import count_words, nearest_of_close

_CHUNK = 1024
#: Magnitudes of centres between which their products are safe in single precision.
_SMALLEST_ROUGH, _LARGEST_ROUGH = 1e-10, 1e10
#: Largest entry of a descriptor: squared distances stay finite.
_LARGEST = 1e150
#: Largest coordinate of a box: the kernel multiplies it by the number of cells.
_FURTHEST = 1 << 31


class Vocabulary(BaseEstimator):
    """Centres of descriptors, found by mini-batch k-means.

    Parameters
    ----------
    n_words
        Number of centres.
    random_state
        Seed; the centres depend on it and on nothing else, in particular not on the number of threads.
    batch_size
        Descriptors in a mini-batch.
    max_iter
        Limit on the passes over all descriptors.

    Attributes
    ----------
    centers_
        (n_words, n_features).
    """

    def __init__(
        self,
        n_words: int = 1000,
        random_state: int | None = None,
        batch_size: int = 1024,
        max_iter: int = 30,
    ):
        self.n_words = n_words
        self.random_state = random_state
        self.batch_size = batch_size
        self.max_iter = max_iter

    def fit(self, descriptors: ArrayLike, y: None = None) -> Self:
        """Find the centres."""
        descriptors = _matrix(descriptors, "descriptors")
        if not 1 <= whole_number("n_words", self.n_words, 0) <= len(descriptors):
            raise ValueError(f"{self.n_words} words of {len(descriptors)} descriptors: expected 1 to as many")
        model = MiniBatchKMeans(
            int(self.n_words),
            random_state=self.random_state,
            batch_size=self.batch_size,
            max_iter=self.max_iter,
            n_init=1,
        )
        unit = safe_unit(descriptors)
        with threadpool_limits(1):  # sums over threads differ in their last bits, and then in the stopping
            model.fit(descriptors / unit)
        self.centers_ = model.cluster_centers_.astype(np.float64) * unit
        return self

    def assign(self, descriptors: ArrayLike, n_threads: int | None = None) -> NDArray[np.int64]:
        """Return the word of each descriptor: the nearest centre, the first of several equally near.

        Distances are found roughly by a matrix product in single precision; all centres that it cannot tell
        from the nearest are measured again in double precision. So the words are exact, and the same for
        any number of threads and in any company.
        """
        check_is_fitted(self)
        centres = np.ascontiguousarray(self.centers_)
        if np.shape(descriptors)[:1] == (0,):
            return np.zeros(0, dtype=np.int64)
        descriptors = _matrix(descriptors, "descriptors", centres.shape[1])
        unit = safe_unit(centres)
        if unit != 1:
            centres, descriptors = centres / unit, descriptors / unit
        if largest_magnitude(descriptors) > _LARGEST:
            raise ValueError(
                f"descriptors up to {largest_magnitude(descriptors) * unit:.3g}: expected at most "
                f"{_LARGEST * unit:.3g} with centres up to {largest_magnitude(centres) * unit:.3g}"
            )
        words = np.zeros(len(descriptors), dtype=np.int64)
        # What all have in common would only cost digits.
        middle = centres.mean(axis=0)
        rough = centres - middle
        rough_unit = _rough_unit(rough)
        rough = (rough / rough_unit).astype(np.float32)
        squares = np.einsum("ij,ij->i", rough, rough)
        longest = float(np.sqrt(squares.max()))
        digits = float(np.finfo(np.float32).eps) * (centres.shape[1] + 8)

        def work(first: int, last: int) -> None:
            for start in range(first * _CHUNK, min(last * _CHUNK, len(words)), _CHUNK):
                part = slice(start, start + _CHUNK)
                moved = descriptors[part] - middle
                if rough_unit != 1:
                    moved /= rough_unit
                # A product that is infinite or NaN has all centres measured.
                with np.errstate(over="ignore", invalid="ignore"):
                    scores = moved.astype(np.float32) @ rough.T
                    scores *= -2
                    scores += squares
                    # Rounding of both sides, of a sum of products and of the difference, for two centres.
                    tolerances = 2 * digits * longest * (np.linalg.norm(moved, axis=1) + longest)
                    limits = scores.min(axis=1) + tolerances
                nearest_of_close(scores, limits, descriptors[part], centres, words[part])

        with one_blas_thread():
            over_ranges(work, -(-len(words) // _CHUNK), n_threads)
        return words

    def save(self, path: str | Path) -> None:
        """Write the centres to an ``.npz`` file."""
        check_is_fitted(self)
        with Path(path).open("wb") as file:
            np.savez(file, centres=self.centers_)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a vocabulary that `save` wrote; a damaged file is a `DataError`."""
        try:
            with np.load(path, allow_pickle=False) as content:
                centres = _matrix(content["centres"], "centres")
                if centres.size == 0:
                    raise ValueError(f"centres of shape {centres.shape}: expected at least one")
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, TypeError) as error:
            raise DataError(f"{path}: {error}; expected an .npz file with a matrix `centres`") from error
        vocabulary = cls(n_words=len(centres))
        vocabulary.centers_ = centres
        return vocabulary


def n_cells(levels: Sequence[int]) -> int:
    """Return the number of cells of a spatial pyramid."""
    return sum(cells * cells for cells in _levels(levels))


def histogram(
    points: ArrayLike, words: ArrayLike, box: ArrayLike, n_words: int, levels: Sequence[int] = (1,)
) -> NDArray[np.int64]:
    """Count the words inside a box, cell by cell of a spatial pyramid.

    Parameters
    ----------
    points, words
        (n, 2) integers x, y, and the word at each.
    box
        Left, top, right and bottom pixel, inclusive; it may leave the image.
    n_words
        Size of the vocabulary.
    levels
        For each level of the pyramid the number of cells along a side: ``(1, 2, 4, 8)`` halves the cells from
        level to level, ``(1, 2, 3, 4)`` adds one a side. Row i of g begins at ``top + i * height // g``, and
        columns likewise, as for the ``grids`` of `ermlab.detection`.

    Returns
    -------
    counts
        (n_cells, n_words), cells level by level and row by row.
    """
    points, words, box = np.asarray(points), np.asarray(words), np.asarray(box)
    sides = _levels(levels)
    # Python's numbers, which do not overflow.
    shape = sum(side * side for side in sides), whole_number("n_words", n_words, 0)
    require_room(shape, "a histogram of so many words and cells")
    cells, counts = np.array(sides, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    if box.shape != (4,) or not np.issubdtype(box.dtype, np.integer):
        raise ValueError(f"box is {box.tolist()}: expected whole left, top, right, bottom")
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
    """Return whole numbers in a native signed type: numba makes unsigned and signed numbers a float."""
    if values.dtype.kind == "u" or not values.dtype.isnative:
        if values.max() > np.iinfo(np.int64).max:
            raise ValueError(f"points go up to {values.max()}: expected numbers of 63 bits")
        return values.astype(np.int64)
    return values


def _rough_unit(rough: NDArray[np.float64]) -> float:
    """Return a power of two to divide by before single precision, 1 if the magnitudes are ordinary."""
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
        raise ValueError(f"{name} row {row} holds NaN or infinity: expected finite numbers")
    return values
