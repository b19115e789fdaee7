"""All windows of one size on a grid of visual words, scored at once.

Windows consist of whole places of the grid, so that all windows of one size have the same cells of a spatial
pyramid. A linear score of the histogram is then a sum over cells of differences of an integral image, which
windows of all sizes share; `chi2_windows` has scores with the chi-squared kernel.

Thousands of windows of an image are scored exactly in a millisecond. Branch and bound would have to bound
each bin of a set of windows, which costs as much as scoring a window, and it cannot bound histograms that
are divided by their length; `ermlab.detection.pyramid` is for boxes of any position and size.
"""

from collections.abc import Sequence
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from ermlab._utils.validation import check_choice, whole_number
from ermlab.detection.boxes import as_boxes
from ermlab.detection.word_grids import WordGrid
from ermlab.features.words import n_cells
from reproduction.experiments.joint_kernel_support import _windows_numba as kernels

Vector = NDArray[np.float64]
#: Divisors of histograms for each kernel.
NORMALIZATIONS = {"linear": ("counts", "area", "length"), "chi2": ("counts", "area")}
#: Largest absolute weight: the scores of all windows stay finite.
LARGEST_WEIGHT = 2.0**900
#: Bins are numbered with 32 bits, as in sparse matrices of that size.
_MOST_BINS = np.iinfo(np.int32).max


class PairKernel(NamedTuple):
    """Kernel of pairs of image and box that compares the words inside the boxes by cell (thesis, 3.1.7).

    Parameters
    ----------
    n_words : int
        Size of the vocabulary.
    levels : tuple of int
        Number of cells along a side for each level of the pyramid, see `ermlab.features.histogram`.
    name : {"linear", "chi2"}, default="linear"
        Kernel of two histograms.
    normalization : {"counts", "area", "length"}, default="area"
        ``"counts"`` does not normalize, ``"area"`` divides histograms by the sum of a window inside the
        image, and ``"length"``, for the linear kernel only, by their Euclidean length.
    """

    n_words: int
    levels: tuple[int, ...]
    name: str = "linear"
    normalization: str = "area"

    @property
    def n_cells(self) -> int:
        """Number of cells of the pyramid."""
        return n_cells(self.levels)

    @property
    def dimension(self) -> int:
        """Number of bins."""
        return self.n_cells * self.n_words

    def checked(self) -> "PairKernel":
        """Return the kernel itself, or raise a ValueError if a parameter is invalid."""
        check_choice("kernel", self.name, tuple(NORMALIZATIONS))
        check_choice("normalization", self.normalization, NORMALIZATIONS[self.name])
        for name, numbers in (("n_words", (self.n_words,)), ("levels", tuple(self.levels))):
            if not numbers or not all(isinstance(n, (int, np.integer)) and n >= 1 for n in numbers):
                raise ValueError(f"{name} is {getattr(self, name)}: expected integers of at least 1")
        if self.dimension > _MOST_BINS:
            raise ValueError(
                f"{self.n_words} words at levels {tuple(self.levels)} are {self.dimension} bins: expected "
                f"at most {_MOST_BINS}"
            )
        return self

    def features(self, grids: Sequence[WordGrid], windows: Sequence[ArrayLike]) -> csr_array:
        """Return the normalized histogram of one window of each grid, one sparse row per window."""
        windows, rows = as_boxes(windows, "windows"), []
        if not len(grids) or len(grids) != len(windows):
            raise ValueError(
                f"{len(windows)} windows of {len(grids)} grids: expected the same number, at least one"
            )
        for grid, window in zip(grids, windows, strict=True):
            rows.append(_cut_out(grid, window, self).filled_bins(0, 0))
        bins, values = zip(*rows, strict=True)
        starts = np.cumsum([0, *map(len, bins)])
        return csr_array(
            (np.concatenate(values), np.concatenate(bins), starts), shape=(len(bins), self.dimension)
        )

    def by_cell(self, w: Vector) -> Vector:
        """Return weights of all bins as a matrix (n_cells, n_words + 1), 0 for places without a word."""
        w, n_cells = np.asarray(w, dtype=np.float64), self.n_cells
        if w.size != n_cells * self.n_words or not np.abs(w).max() <= LARGEST_WEIGHT:
            raise ValueError(
                f"weights of shape {w.shape}: expected {self.dimension} finite numbers, at most "
                f"{LARGEST_WEIGHT:.3g} in size"
            )
        weights = np.zeros((n_cells, self.n_words + 1))
        weights[:, :-1] = np.reshape(w, (n_cells, self.n_words))
        return weights


class Windows:
    """All windows of one size on a grid.

    Parameters
    ----------
    grid : WordGrid
        Words.
    size : (int, int)
        Columns and rows of a window, in places.
    kernel : PairKernel
        Definition of the histograms.
    stride : int, default=1
        Places between windows, from left to right and from top to bottom.
    """

    def __init__(self, grid: WordGrid, size: Sequence[int], kernel: PairKernel, stride: int = 1):
        _check_words(grid.words, kernel.checked())
        if len(size) != 2 or not all(isinstance(side, (int, np.integer)) for side in size):
            raise ValueError(f"windows of size {tuple(size)}: expected integer numbers of columns and rows")
        if not grid.fits(size) or min(size) < 1:
            raise ValueError(
                f"windows of {size[0]} x {size[1]} places: expected at least 1 x 1 and at most "
                f"{grid.words.shape[2]} x {grid.words.shape[1]}, the grid"
            )
        self.grid, self.kernel = grid, kernel
        self.columns, self.rows = (int(side) for side in size)
        self.stride = whole_number("stride", stride, 1)
        last = grid.words.shape[1] - self.rows, grid.words.shape[2] - self.columns
        #: Rows and columns of windows.
        self.shape = (last[0] // stride + 1, last[1] // stride + 1)
        self._cut = _cut(self.rows, self.columns, tuple(kernel.levels))

    @property
    def cell_bounds(self) -> NDArray[np.int64]:
        """First row, first column, last row + 1 and last column + 1 of each cell, (n_cells, 4)."""
        return self._cut.bounds

    def places(self) -> NDArray[np.int64]:
        """Return the windows (left, top, right, bottom) in places of the grid, row by row."""
        top, left = np.indices(self.shape).reshape(2, -1) * self.stride
        return np.stack([left, top, left + self.columns - 1, top + self.rows - 1], axis=1)

    def boxes(self) -> NDArray[np.int64]:
        """Return the windows as boxes in pixels, row by row."""
        return self.grid.boxes_of(self.places())

    def histogram(self, row: int, column: int) -> Vector:
        """Return the normalized histogram of a window, given its row and column among the windows."""
        histogram = np.zeros(self.kernel.dimension)
        bins, values = self.filled_bins(row, column)
        histogram[bins] = values
        return histogram

    def filled_bins(self, row: int, column: int) -> tuple[NDArray[np.int32], Vector]:
        """Return the non-empty bins of a window, in order, and their normalized values."""
        if not (0 <= row < self.shape[0] and 0 <= column < self.shape[1]):
            raise ValueError(
                f"a window at row {row}, column {column}: expected rows 0 to {self.shape[0] - 1} and columns "
                f"0 to {self.shape[1] - 1}"
            )
        top, left = row * self.stride, column * self.stride
        words = self.grid.words[:, top : top + self.rows, left : left + self.columns]
        bins, counts = kernels.filled_bins(words, self._cut.cells, self.kernel.n_words, len(self._cut.bounds))
        return bins, counts / self._divisors(np.sum(counts**2))

    @cached_property
    def divisors(self) -> Vector:
        """Divisor of the histogram of each window."""
        squares = np.zeros(self.shape, dtype=np.int64)
        if self.kernel.normalization == "length":
            counts = np.zeros((self.kernel.n_words, self.kernel.n_cells), dtype=np.int32)
            kernels.sums_of_squares(
                self.grid.words, self._cut.cells, self._cut.bounds, self.stride, counts, squares
            )
        return self._divisors(squares)

    def linear_scores(self, weights: Vector) -> Vector:
        """Return ``<w, histogram>`` of each window, with the weights of `PairKernel.by_cell`."""
        return linear_scores([self], weights)[0]

    @cached_property
    def numbers(self) -> NDArray[np.uint32]:
        """Words, with ``n_words`` in place of -1, so that the compiled loop needs no test."""
        words = self.grid.words
        return np.where(words < 0, self.kernel.n_words, words).astype(np.uint32)

    def _divisors(self, squares: ArrayLike) -> Vector:
        if self.kernel.normalization == "counts":
            return np.ones(np.shape(squares))
        if self.kernel.normalization == "area":
            full = self.grid.words.shape[0] * self.rows * self.columns * len(self.kernel.levels)
            return np.full(np.shape(squares), float(full))
        # A window without words is not divided.
        return np.maximum(np.sqrt(squares), 1.0)


def linear_scores(windows: Sequence[Windows], weights: Vector) -> list[Vector]:
    """Return ``<w, histogram>`` of windows of several sizes on one grid.

    Parameters
    ----------
    windows : sequence of Windows
        Windows of the same grid and kernel.
    weights : array-like of shape (n_cells, n_words + 1)
        As returned by `PairKernel.by_cell`.
    """
    grid, kernel = windows[0].grid, windows[0].kernel
    if any(part.grid is not grid or part.kernel != kernel for part in windows):
        raise ValueError("windows of different grids or kernels: expected one grid and one kernel")
    weights, expected = np.asarray(weights, np.float64), (kernel.n_cells, kernel.n_words + 1)
    if weights.shape != expected or not np.isfinite(weights).all():
        raise ValueError(f"weights of shape {weights.shape}: expected {expected}, finite")
    _, rows, columns = grid.words.shape
    sums = np.empty((rows + 1, columns + 1, kernel.n_cells))
    kernels.add_up(windows[0].numbers, np.ascontiguousarray(weights.T), sums)
    scores = []
    for part in windows:
        out = np.empty(part.shape)
        kernels.linear_scores(sums, part.cell_bounds, part.stride, out)
        scores.append(out / part.divisors)
    return scores


def _cut_out(grid: WordGrid, window: NDArray[np.int64], kernel: PairKernel) -> Windows:
    """Return one window (left, top, right, bottom) alone."""
    left, top, right, bottom = window.tolist()
    rows, columns = grid.words.shape[1:]
    if not (0 <= left <= right < columns and 0 <= top <= bottom < rows):
        raise ValueError(
            f"window {window.tolist()}: expected places of the grid, {columns} x {rows}, left to right"
        )
    words = np.ascontiguousarray(grid.words[:, top : bottom + 1, left : right + 1])
    return Windows(WordGrid(words, grid.corner, grid.step), (right - left + 1, bottom - top + 1), kernel)


def _check_words(words: NDArray, kernel: PairKernel) -> None:
    """Raise a ValueError unless all words are in the vocabulary, as compiled loops do not check indices."""
    if np.ndim(words) != 3 or words.dtype.kind not in "iu" or not words.dtype.isnative:
        raise ValueError(
            f"words of shape {np.shape(words)}, {np.asarray(words).dtype}: expected integers (scales, rows, "
            "columns) in native byte order"
        )
    if words.size and words.max() >= kernel.n_words:
        raise ValueError(f"words up to {words.max()}: expected at most {kernel.n_words - 1}, the last word")


class _Cut(NamedTuple):
    """The cells of a window."""

    cells: NDArray[np.int64]  #: cell of each place for each level, (rows, columns, n_levels)
    bounds: NDArray[np.int64]  #: see `Windows.cell_bounds`


@cache
def _cut(rows: int, columns: int, levels: tuple[int, ...]) -> _Cut:
    """Divide a window into the cells of a pyramid."""
    cells, bounds, first = [], [], 0
    for grid in levels:
        y, x = (np.arange(grid + 1) * side // grid for side in (rows, columns))
        row, column = (
            np.searchsorted(begins[:-1], np.arange(side), side="right") - 1
            for begins, side in ((y, rows), (x, columns))
        )
        cells.append(first + row[:, None] * grid + column)
        bounds += [(y[i], x[j], y[i + 1], x[j + 1]) for i in range(grid) for j in range(grid)]
        first += grid * grid
    return _Cut(np.stack(cells, axis=-1), np.array(bounds))
