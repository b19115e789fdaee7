"""All windows of one size on a grid of visual words, scored at once.

Windows cover whole places of the grid, so that all windows of one size cut their places into the cells of a
spatial pyramid alike. A score that is linear in the histogram then takes four look-ups a cell, and the chi2
kernel with any number of references one look-up a word and level: it is a sum over the bins of functions of
their counts, which are tabulated where that pays.

All windows of an image, some thousands, are so scored in milliseconds, exactly. Branch and bound over them
would have to bound each of the thousand bins of a set of windows, which costs as much as scoring a window;
`ermlab.inference.subwindow.histogram` does that where boxes are free in place and size.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array

from ermlab.features.word_grids import WordGrid
from ermlab.features.words import n_cells
from ermlab.inference import _windows_numba as kernels
from ermlab.inference.boxes import as_boxes
from ermlab.optimize._blas import one_blas_thread

Vector = NDArray[np.float64]
KERNELS = ("linear", "chi2")
NORMALISATIONS = ("counts", "area", "unit")
#: Filled bins of some histograms, sorted by bin: where each begins, whose they are, and their values.
ByBin = tuple[NDArray, NDArray, NDArray]
#: A table takes as long as some hundred windows without one; many tables would fill the memory.
_WORTH_A_TABLE, _MOST_TABLES = 200, 4


class PairKernel(NamedTuple):
    """The kernel of pairs of image and box: words inside the boxes, compared cell by cell (thesis, 3.1.7).

    Attributes
    ----------
    n_words
        Size of the vocabulary.
    levels
        For each level of the pyramid the number of cells along a side, see `ermlab.features.words.histogram`.
    name
        ``"linear"`` or ``"chi2"``.
    normalisation
        What histograms are divided by: ``"counts"`` leaves them as they are, ``"area"`` divides by the sum of
        a window inside the image, ``"unit"`` makes the kernel of a pair with itself 1: length 1 for the
        linear kernel, sum 1 for chi2.
    """

    n_words: int
    levels: tuple[int, ...]
    name: str = "linear"
    normalisation: str = "unit"

    @property
    def n_cells(self) -> int:
        """Number of cells of the pyramid."""
        return n_cells(self.levels)

    @property
    def dimension(self) -> int:
        """Number of bins."""
        return self.n_cells * self.n_words

    def checked(self) -> "PairKernel":
        """Return the kernel itself, or raise a ValueError if it is none."""
        for name, value, known in (
            ("kernel", self.name, KERNELS),
            ("normalisation", self.normalisation, NORMALISATIONS),
        ):
            if value not in known:
                raise ValueError(f"{name} is {value!r}: expected one of {known}")
        return self

    def features(self, grids: Sequence[WordGrid], windows: Sequence[ArrayLike]) -> csr_array:
        """Return the normalised histogram of a window of each grid, a sparse row each, cell by cell."""
        bins, values = [], []
        for grid, window in zip(grids, as_boxes(windows, "windows"), strict=True):
            left, top, right, bottom = window.tolist()
            row = Windows(grid, (right - left + 1, bottom - top + 1), self).histogram(top, left)
            bins.append(np.flatnonzero(row))
            values.append(row[bins[-1]])
        starts = np.cumsum([0, *map(len, bins)])
        return csr_array(
            (np.concatenate(values), np.concatenate(bins), starts), shape=(len(bins), self.dimension)
        )


class Windows:
    """All windows of one size on a grid.

    Parameters
    ----------
    grid
        The words.
    size
        Columns and rows of a window, in places.
    kernel
        Says what the histogram of a window is.
    """

    def __init__(self, grid: WordGrid, size: Sequence[int], kernel: PairKernel):
        if not grid.fits(size) or min(size) < 1:
            raise ValueError(
                f"windows of {size[0]} x {size[1]} places: expected at least 1 x 1 and at most "
                f"{grid.words.shape[2]} x {grid.words.shape[1]}, the grid"
            )
        self.grid, self.kernel = grid, kernel.checked()
        self.columns, self.rows = (int(side) for side in size)
        #: Rows and columns of the places where a window can begin.
        self.shape = (grid.words.shape[1] - self.rows + 1, grid.words.shape[2] - self.columns + 1)
        self._cells, self._bounds = _cut(self.rows, self.columns, kernel.levels)

    def places(self) -> NDArray[np.int64]:
        """Return the windows (left, top, right, bottom) in places of the grid, row by row."""
        top, left = np.indices(self.shape).reshape(2, -1)
        return np.stack([left, top, left + self.columns - 1, top + self.rows - 1], axis=1)

    def boxes(self) -> NDArray[np.int64]:
        """Return the windows as boxes in pixels, row by row."""
        return self.grid.boxes_of(self.places())

    def histogram(self, top: int, left: int) -> Vector:
        """Return the normalised histogram of the window that begins at a place."""
        counts = np.zeros((self.kernel.n_cells, self.kernel.n_words))
        words = self.grid.words[:, top : top + self.rows, left : left + self.columns]
        points = kernels.count(words, self._cells, counts)
        return counts.ravel() / self._divisors(points, np.sum(counts**2))

    @cached_property
    def divisors(self) -> Vector:
        """What the histogram of each window is divided by."""
        points, squares = np.empty(self.shape, dtype=np.int64), np.empty(self.shape, dtype=np.int64)
        kernels.window_sizes(self.grid.words, self._cells, self._bounds, self._no_counts(), points, squares)
        return self._divisors(points, squares)

    def linear_scores(self, w: Vector) -> Vector:
        """Return ``<w, histogram>`` of each window; ``w`` is (words, cells)."""
        out = np.empty(self.shape)
        kernels.linear_scores(self.grid.words, w, self._bounds, out)
        return out / self.divisors

    def chi2_scores(self, expansion: "Chi2Expansion") -> Vector:
        """Return ``sum_m weights[m] k(references[m], histogram)`` of each window."""
        out, counts = np.empty(self.shape), self._no_counts()
        rest = np.ones(self.shape, dtype=np.bool_)
        for divisor, n in zip(*np.unique(self.divisors, return_counts=True), strict=True):
            table = expansion.table(float(divisor), int(n))
            if table is not None:
                wanted = self.divisors == divisor
                rest &= ~wanted
                kernels.table_scores(
                    self.grid.words, self._cells, self._bounds, table, expansion.begins, counts, wanted, out
                )
        with one_blas_thread():
            out[rest] = (
                self._similarities(expansion.references, rest, expansion.weights.size) @ expansion.weights
            )
        return out

    def chi2_similarities(self, references: csr_array) -> Vector:
        """Return the kernel of each window, row by row, with each of some normalised histograms."""
        everything = np.ones(self.shape, dtype=np.bool_)
        return self._similarities(_by_bin(references), everything, references.shape[0])

    def _similarities(self, references: "ByBin", wanted: NDArray[np.bool_], n_references: int) -> Vector:
        K = np.zeros((int(wanted.sum()), n_references))
        kernels.chi2_similarities(
            self.grid.words, self._cells, references, self.divisors, self._no_counts(), wanted, K
        )
        return K

    def _divisors(self, points: ArrayLike, squares: ArrayLike) -> Vector:
        n_levels = len(self.kernel.levels)
        if self.kernel.normalisation == "counts":
            return np.ones(np.shape(points))
        if self.kernel.normalisation == "area":
            full = self.grid.words.shape[0] * self.rows * self.columns * n_levels
            return np.full(np.shape(points), float(full))
        sizes = np.sqrt(squares) if self.kernel.name == "linear" else np.asarray(points) * n_levels
        # A window without words has nothing to divide.
        return np.maximum(sizes, 1.0)

    def _no_counts(self) -> NDArray[np.int32]:
        return np.zeros((self.kernel.n_words, self.kernel.n_cells), dtype=np.int32)


class Chi2Expansion:
    """The function ``sum_m weights[m] k(references[m], h)`` of a histogram h, with the chi2 kernel.

    It is a sum over bins. For a divisor that many windows have in common, what each bin adds at each count is
    tabulated, and a window takes a look-up a word; the others are added up from the references.

    Parameters
    ----------
    kernel
        Gives the bins.
    references, weights
        Normalised histograms, sparse rows, and the weight of each; those of weight 0 are left out.
    most
        The largest count of each word that a window may have.
    """

    def __init__(self, kernel: PairKernel, references: csr_array, weights: ArrayLike, most: ArrayLike):
        weights = np.asarray(weights, dtype=np.float64)
        self.weights = weights[weights != 0]
        self.references = _by_bin(references[np.flatnonzero(weights)])
        self._limits = np.repeat(np.asarray(most, dtype=np.int64)[:, None], kernel.n_cells, axis=1)
        ends = np.cumsum(self._limits.ravel() + 1)
        #: Where the table of each bin (word, cell) begins.
        self.begins = (ends - self._limits.ravel() - 1).reshape(self._limits.shape)
        self._length = int(ends[-1])
        self._tables: dict[float, Vector] = {}

    def table(self, divisor: float, n_windows: int) -> Vector | None:
        """Return the table of a divisor, None if there is none and ``n_windows`` are too few to make one."""
        if divisor not in self._tables and n_windows >= _WORTH_A_TABLE:
            if len(self._tables) == _MOST_TABLES:
                del self._tables[next(iter(self._tables))]  # the oldest
            table = np.zeros(self._length)
            kernels.fill_chi2_table(self.references, self.weights, divisor, self.begins, self._limits, table)
            self._tables[divisor] = table
        return self._tables.get(divisor)


def _by_bin(references: csr_array) -> ByBin:
    columns = csc_array(references)
    return columns.indptr, columns.indices, columns.data


def most_of_each_word(grids: Sequence[WordGrid], n_words: int) -> NDArray[np.int64]:
    """Return the largest number of times that each word occurs in a grid."""
    counts = [np.bincount(grid.words[grid.words >= 0], minlength=n_words) for grid in grids]
    return np.max(counts, axis=0)


def _cut(rows: int, columns: int, levels: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the cell of each place for each level, and the (top, left, bottom, right) ends of each cell."""
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
    return np.stack(cells, axis=-1), np.array(bounds)
