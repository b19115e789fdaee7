"""Functions ``sum_m weights[m] k(references[m], h)`` with the chi-squared kernel, for windows of many images.

Such a function is a sum over bins of functions of their counts, which depend on the references and on the
divisor of the histogram. It is a linear function of the counts, scored as in `windows`, plus a rest of those
words that a cell contains repeatedly. The rest of a bin at a count is computed once for all windows with the
same divisor in all images.
"""

from collections.abc import Sequence

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
        ends = np.cumsum([np.prod(part.shape) for part in windows])
        out = np.zeros((ends[-1], self._weights.shape[1]))
        divisors = np.array([part.divisors.flat[0] for part in windows])
        for divisor in np.unique(divisors):
            self._add(windows, np.flatnonzero(divisors == divisor), float(divisor), ends, out)
        return np.split(out.T, ends[:-1], axis=1)

    def _add(
        self, windows: Sequence[Windows], chosen: Integers, divisor: float, ends: Integers, out: Vector
    ) -> None:
        """Add the values of the chosen sets of windows, all of which have the same divisor, to ``out``."""
        n_words, n_functions = self._kernel.n_words, self._weights.shape[1]
        first_steps = np.empty((n_functions, self._kernel.n_cells, n_words + 1))
        kernels.first_steps(self._references, self._weights, divisor, n_words, first_steps)
        first_steps *= divisor  # `Windows.linear_scores` divides
        layouts, word = [], 0
        for i in chosen:
            part, begin = windows[i], ends[i] - np.prod(windows[i].shape)
            for f in range(n_functions):
                out[begin : ends[i], f] += part.linear_scores(first_steps[f]).ravel()
            layouts.append((*part.grid.words.shape, *part.shape, part.stride, word, begin))
            word += part.grid.words.size
        parts = [windows[i] for i in chosen]
        words = np.concatenate([part.grid.words.ravel() for part in parts])
        bounds, begins = np.stack([part.cell_bounds for part in parts]), _list_of_counts(parts, n_words)
        kernels.add_rest(
            words, np.array(layouts), bounds, self._references, self._weights, divisor, begins, out
        )


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
