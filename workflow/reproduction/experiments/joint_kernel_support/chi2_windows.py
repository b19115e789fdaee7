"""Functions ``sum_m weights[m] k(references[m], h)`` with the chi-squared kernel, for windows of many images.

Such a function is a sum over bins of functions of their counts, which depend on the references and on the
divisor of the histogram. The term of a bin at a count is computed once for all windows with the same divisor
in all images; a window then takes one table look-up per word and level, and fewer if it is next to another.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array

from reproduction.experiments.joint_kernel_support import _chi2_windows_numba as kernels
from reproduction.experiments.joint_kernel_support.windows import LARGEST_WEIGHT, PairKernel, Windows

Vector = NDArray[np.float64]
Integers = NDArray[np.int64]
#: Values of references with finite and positive squares; smaller ones count as 0.
_LEAST_VALUE, _LARGEST_VALUE = 1e-150, 1e150


class Chi2Expansion:
    """Functions ``sum_m weights[f, m] k(references[m], h)`` of a histogram h.

    Parameters
    ----------
    kernel : PairKernel
        Determines the bins.
    references : csr_array of shape (n_references, n_bins)
        Normalized histograms.
    weights : array-like of shape (n_functions, n_references)
        Weights of the references in each function.
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
        """Return the values of all functions for each set of windows, (n_functions, n_windows)."""
        if len(windows) == 0:
            return []
        expected = (self._kernel.n_words, tuple(self._kernel.levels))
        for kernel in (part.kernel for part in windows):
            if (kernel.n_words, tuple(kernel.levels)) != expected:
                raise ValueError(f"windows of {kernel}: expected the words and levels of {self._kernel}")
        begins = _list_of_counts(windows, self._kernel.n_words)
        words = np.concatenate([part.grid.words.ravel() for part in windows])
        grids = np.array([(*part.grid.words.shape, part.shape[1]) for part in windows])
        bounds = np.stack([part.cell_bounds for part in windows])
        ends = np.cumsum([part.divisors.size for part in windows])
        out = np.zeros((ends[-1], self._weights.shape[1]))
        for divisor, runs in _runs_of_each_divisor(windows):
            kernels.add_expansion(
                words, grids, bounds, runs, self._references, self._weights, divisor, begins, out
            )
        return np.split(out.T, ends[:-1], axis=1)


def _checked(references: csr_array, dimension: int) -> csr_array:
    """Return the references without negligible entries, or raise a ValueError."""
    if references.ndim != 2 or references.shape[1] != dimension:
        raise ValueError(f"references of shape {references.shape}: expected (n, {dimension})")
    references = csr_array(references, dtype=np.float64, copy=True)
    references.check_format(full_check=True)  # the compiled loop does not check indices
    if not ((references.data >= 0) & (references.data <= _LARGEST_VALUE)).all():
        raise ValueError(f"references: expected histograms of finite numbers from 0 to {_LARGEST_VALUE:.3g}")
    # The kernel divides squares by sums: a bin of 0 adds nothing, but 0 / 0 is NaN.
    references.data[references.data < _LEAST_VALUE] = 0.0
    references.eliminate_zeros()
    return references


def _list_of_counts(windows: Sequence[Windows], n_words: int) -> Integers:
    """Return the start of each word in a list of all counts that it may have in a cell, and its length."""
    grids = {id(part.grid): part.grid.words for part in windows}.values()
    most = np.max([np.bincount(words[words >= 0], minlength=n_words) for words in grids], axis=0)
    top, left, bottom, right = np.concatenate([part.cell_bounds for part in windows]).T
    places = np.max((bottom - top) * (right - left)) * max(len(words) for words in grids)
    return np.append(0, np.cumsum(np.minimum(most, places)))


class _Runs(NamedTuple):
    """Runs of adjacent windows with equal divisors: first windows, lengths and divisors."""

    y: Integers
    x: Integers
    lengths: Integers
    divisors: Vector


def _runs_of_each_divisor(windows: Sequence[Windows]) -> list[tuple[float, Integers]]:
    """Return each divisor with the runs of its windows, in the format of the compiled loop."""
    divisors, rows, word, window = [], [], 0, 0
    for i, part in enumerate(windows):
        for down, runs in enumerate(_fewest_runs(part.divisors)):
            columns = part.grid.words.shape[2]
            corners, firsts = word + runs.y * columns + runs.x, window + runs.y * part.shape[1] + runs.x
            same = np.ones_like(runs.y)
            rows.append(np.stack([i * same, corners, firsts, down * same, runs.lengths], axis=1))
            divisors.append(runs.divisors)
        word, window = word + part.grid.words.size, window + part.divisors.size
    order = np.argsort(np.concatenate(divisors), kind="stable")
    values, begins = np.unique(np.concatenate(divisors)[order], return_index=True)
    return list(zip(values.tolist(), np.split(np.concatenate(rows)[order], begins[1:]), strict=True))


def _fewest_runs(divisors: Vector) -> tuple[_Runs, _Runs]:
    """Return runs to the right and runs downwards; each divisor has the kind with fewer runs."""
    across, turned = _runs(divisors), _runs(divisors.T)
    down = _Runs(turned.x, turned.y, turned.lengths, turned.divisors)
    values = np.unique(divisors)
    kinds = [np.searchsorted(values, runs.divisors) for runs in (across, down)]
    n_across, n_down = (np.bincount(kind, minlength=values.size) for kind in kinds)
    kept = (n_across <= n_down)[kinds[0]], (n_across > n_down)[kinds[1]]
    return tuple(
        _Runs(*(part[chosen] for part in runs)) for runs, chosen in zip((across, down), kept, strict=True)
    )


def _runs(divisors: Vector) -> _Runs:
    """Return the longest runs of equal divisors, row by row."""
    begins = np.ones(divisors.shape, dtype=np.bool_)
    begins[:, 1:] = divisors[:, 1:] != divisors[:, :-1]
    y, x = np.nonzero(begins)
    return _Runs(y, x, np.diff(np.flatnonzero(begins), append=divisors.size), divisors[y, x])
