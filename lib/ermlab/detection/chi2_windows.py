"""Functions ``sum_m weights[m] k(references[m], h)`` with the chi2 kernel, for all windows of many images.

Such a function is a sum over the bins of functions of their counts, which depend on the references and on
what the histogram is divided by. What a bin adds at a count is found once for all windows of one divisor, in
whatever image: a window takes a look-up a word and level, and less if it lies beside another one.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array

from ermlab.detection import _chi2_windows_numba as kernels
from ermlab.detection.windows import LARGEST_WEIGHT, PairKernel, Windows

Vector = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Values of references whose squares are finite and positive in floating point; smaller ones count as 0.
_LEAST_VALUE, _LARGEST_VALUE = 1e-150, 1e150


class Chi2Expansion:
    """Functions ``sum_m weights[f, m] k(references[m], h)`` of a histogram h.

    Parameters
    ----------
    kernel
        Gives the bins.
    references
        Normalised histograms, sparse rows.
    weights
        (functions, references).
    """

    def __init__(self, kernel: PairKernel, references: csr_array, weights: ArrayLike):
        weights, references = np.asarray(weights, dtype=np.float64), _checked(references, kernel.dimension)
        if weights.ndim != 2 or weights.shape[1] != references.shape[0]:
            raise ValueError(f"weights of shape {weights.shape}: expected (n, {references.shape[0]})")
        if weights.size and not np.abs(weights).max() <= LARGEST_WEIGHT:
            raise ValueError(f"weights: expected finite numbers, at most {LARGEST_WEIGHT:.3g} in size")
        used = np.flatnonzero(weights.any(axis=0))
        by_bin = csc_array(references[used])
        self._kernel = kernel
        self._references = by_bin.indptr, by_bin.indices, by_bin.data
        self._weights = np.ascontiguousarray(weights[:, used].T)

    def scores(self, windows: Sequence[Windows]) -> list[Vector]:
        """Return the values (functions, windows) of all functions for each of some sets of windows."""
        if len(windows) == 0:
            return []
        expected = (self._kernel.n_words, tuple(self._kernel.levels))
        for kernel in (each.kernel for each in windows):
            if (kernel.n_words, tuple(kernel.levels)) != expected:
                raise ValueError(f"windows of {kernel}: expected the words and levels of {self._kernel}")
        begins = _list_of_counts(windows, self._kernel.n_words)
        words = np.concatenate([some.grid.words.ravel() for some in windows])
        grids = np.array([(*some.grid.words.shape, some.shape[1]) for some in windows])
        bounds = np.stack([some.cell_bounds for some in windows])
        ends = np.cumsum([some.divisors.size for some in windows])
        out = np.zeros((ends[-1], self._weights.shape[1]))
        for divisor, runs in _runs_of_each_divisor(windows):
            kernels.add_expansion(
                words, grids, bounds, runs, self._references, self._weights, divisor, begins, out
            )
        return np.split(out.T, ends[:-1], axis=1)


def _checked(references: csr_array, dimension: int) -> csr_array:
    """Return references without bins whose squares are 0 in floating point, or raise a ValueError."""
    if references.ndim != 2 or references.shape[1] != dimension:
        raise ValueError(f"references of shape {references.shape}: expected (n, {dimension})")
    references = csr_array(references, dtype=np.float64, copy=True)
    references.check_format(full_check=True)  # a bin that there is not would be read all the same
    if not ((references.data >= 0) & (references.data <= _LARGEST_VALUE)).all():
        raise ValueError(f"references: expected histograms of finite numbers from 0 to {_LARGEST_VALUE:.3g}")
    # The chi2 kernel divides squares by sums: a bin of 0 adds nothing, but 0 / 0 has no value.
    references.data[references.data < _LEAST_VALUE] = 0.0
    references.eliminate_zeros()
    return references


def _list_of_counts(windows: Sequence[Windows], n_words: int) -> Integers:
    """Return where each word begins in a list of all counts that it may have in a cell, and its length."""
    grids = {id(some.grid): some.grid.words for some in windows}.values()
    most = np.max([np.bincount(words[words >= 0], minlength=n_words) for words in grids], axis=0)
    top, left, bottom, right = np.concatenate([some.cell_bounds for some in windows]).T
    places = np.max((bottom - top) * (right - left)) * max(len(words) for words in grids)
    return np.append(0, np.cumsum(np.minimum(most, places)))


class _Runs(NamedTuple):
    """Windows of one divisor that lie next to each other: where they begin, and how many there are."""

    y: Integers
    x: Integers
    lengths: Integers
    divisors: Vector


def _runs_of_each_divisor(windows: Sequence[Windows]) -> list[tuple[float, Integers]]:
    """Return each divisor with the runs of its windows, as the kernel takes them."""
    divisors, rows, word, window = [], [], 0, 0
    for i, some in enumerate(windows):
        for down, runs in enumerate(_fewest_runs(some.divisors)):
            columns = some.grid.words.shape[2]
            corners, firsts = word + runs.y * columns + runs.x, window + runs.y * some.shape[1] + runs.x
            same = np.ones_like(runs.y)
            rows.append(np.stack([i * same, corners, firsts, down * same, runs.lengths], axis=1))
            divisors.append(runs.divisors)
        word, window = word + some.grid.words.size, window + some.divisors.size
    order = np.argsort(np.concatenate(divisors), kind="stable")
    values, begins = np.unique(np.concatenate(divisors)[order], return_index=True)
    return list(zip(values.tolist(), np.split(np.concatenate(rows)[order], begins[1:]), strict=True))


def _fewest_runs(divisors: Vector) -> tuple[_Runs, _Runs]:
    """Return runs to the right and runs downwards; each divisor has the kind of which it has less."""
    across, turned = _runs(divisors), _runs(divisors.T)
    down = _Runs(turned.x, turned.y, turned.lengths, turned.divisors)
    values = np.unique(divisors)
    kinds = [np.searchsorted(values, runs.divisors) for runs in (across, down)]
    n_across, n_down = (np.bincount(kind, minlength=values.size) for kind in kinds)
    kept = (n_across <= n_down)[kinds[0]], (n_across > n_down)[kinds[1]]
    return tuple(
        _Runs(*(part[some] for part in runs)) for runs, some in zip((across, down), kept, strict=True)
    )


def _runs(divisors: Vector) -> _Runs:
    """Return the longest runs of equal divisors, row by row."""
    begins = np.ones(divisors.shape, dtype=np.bool_)
    begins[:, 1:] = divisors[:, 1:] != divisors[:, :-1]
    y, x = np.nonzero(begins)
    return _Runs(y, x, np.diff(np.flatnonzero(begins), append=divisors.size), divisors[y, x])
