"""Kernels for histograms: matrices of non-negative numbers, a row a histogram.

Each function compares all rows of ``X`` with all rows of ``Y``, by default with those of ``X`` itself; the
matrix is then exactly symmetric. The time goes with the number of filled bins. The result does not depend on
``n_threads``, by default one a core.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array

from ermlab._utils.parallel import over_ranges
from ermlab._utils.sparse_matrices import sound_csr
from ermlab._utils.validation import LARGEST_SUM, real_array, require_sums
from ermlab.kernels._histogram_numba import (
    add_chi2_by_bin,
    fill_chi2,
    fill_chi2_distances,
    fill_intersection,
)

Matrix = NDArray[np.float64]


def chi2_kernel(X: ArrayLike, Y: ArrayLike | None = None, *, n_threads: int | None = None) -> Matrix:
    """Return ``k(x, y) = sum 2 x y / (x + y)``, positive semidefinite; bins empty in both add nothing.

    It is ``(sum x + sum y - D) / 2`` with D of `chi2_distances`: at most 1 if histograms sum to 1.
    """
    return _compare(fill_chi2, X, Y, n_threads)


def sparse_chi2_kernel(X: csr_array, Y: csr_array) -> Matrix:
    """Return `chi2_kernel` of sparse rows: the time goes with the bins that two of them have in common."""
    X, Y = _sparse_rows(X, "X"), _sparse_rows(Y, "Y")
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"X has {X.shape[1]} bins and Y {Y.shape[1]}: expected as many")
    columns, out = csc_array(Y), np.zeros((X.shape[0], Y.shape[0]))
    add_chi2_by_bin((X.indptr, X.indices, X.data), (columns.indptr, columns.indices, columns.data), out)
    return out


def intersection_kernel(X: ArrayLike, Y: ArrayLike | None = None, *, n_threads: int | None = None) -> Matrix:
    """Return ``k(x, y) = sum min(x, y)``, positive semidefinite."""
    return _compare(fill_intersection, X, Y, n_threads)


def chi2_distances(X: ArrayLike, Y: ArrayLike | None = None, *, n_threads: int | None = None) -> Matrix:
    """Return ``D(x, y) = sum (x - y)^2 / (x + y)``, over bins that are not empty in both."""
    return _compare(fill_chi2_distances, X, Y, n_threads)


def exponential_chi2_kernel(
    X: ArrayLike, Y: ArrayLike | None = None, *, gamma: float = 1.0, n_threads: int | None = None
) -> Matrix:
    """Return ``k(x, y) = exp(-gamma D(x, y))`` with D of `chi2_distances`, positive definite.

    `median_gamma` of the training set is the choice of the thesis (section 5.2).
    """
    if not (np.isfinite(gamma) and gamma > 0):
        raise ValueError(f"gamma is {gamma}: expected a positive number")
    distances = chi2_distances(X, Y, n_threads=n_threads)
    with np.errstate(over="ignore"):  # the exponential of minus infinity is 0
        return np.exp(-gamma * distances)


def median_gamma(X: ArrayLike, *, n_threads: int | None = None) -> float:
    """Return 1 / the median of the distances of different rows, a scale for `exponential_chi2_kernel`."""
    distances = chi2_distances(X, n_threads=n_threads)
    if len(distances) < 2:
        raise ValueError(f"{len(distances)} histograms: expected at least 2 to have a distance")
    median = float(np.median(distances[np.triu_indices(len(distances), k=1)]))
    if median == 0:
        raise ValueError("the median distance is 0: more than half of the pairs of histograms are equal")
    if not np.isfinite(1.0 / median):
        raise ValueError(
            f"the median distance is {median}, whose inverse is infinite: scale the histograms up"
        )
    return 1.0 / median


def _compare(fill: Callable, X: ArrayLike, Y: ArrayLike | None, n_threads: int | None) -> Matrix:
    """Let ``fill`` write the matrix, rows in threads; if ``Y`` is None only half of it, and mirror that."""
    symmetric = Y is None
    X = _histograms(X, "X")
    Y = X if symmetric else _histograms(Y, "Y")
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"X has {X.shape[1]} bins and Y {Y.shape[1]}: expected as many")
    out = np.zeros((len(X), len(Y)))
    X_filled = _filled_bins(X)
    Y_filled = X_filled if symmetric else _filled_bins(Y)
    n_bins = X.shape[1]

    def work(start: int, stop: int) -> None:
        fill(X_filled, Y_filled, n_bins, symmetric, out, start, stop)

    over_ranges(work, len(X), n_threads)
    return out + np.triu(out, k=1).T if symmetric else out


def _filled_bins(X: Matrix) -> tuple[NDArray[np.intp], NDArray[np.intp], Matrix]:
    """Return where each row starts in the list of filled bins, the list, row by row, and what is in them."""
    rows, bins = np.nonzero(X)
    return np.searchsorted(rows, np.arange(len(X) + 1)), bins, X[rows, bins]


def _histograms(X: ArrayLike, name: str) -> Matrix:
    X = np.ascontiguousarray(real_array(X, name))
    if X.ndim != 2:
        raise ValueError(f"{name} has shape {X.shape}: expected (n, bins)")
    with np.errstate(over="ignore"):
        if X.size == 0 or (X.min() >= 0 and X.sum() <= LARGEST_SUM):
            return X
    bad = ~(np.isfinite(X) & (X >= 0))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise ValueError(
            f"{name} is {X[row, column]} in row {row}, bin {column}: expected finite numbers of at least 0"
        )
    with np.errstate(over="ignore"):
        require_sums(X.sum(axis=1), name)
    return X


def _sparse_rows(X: csr_array, name: str) -> csr_array:
    """Return sparse histograms with entries above 0, each bin of a row once, or raise a ValueError."""
    X = sound_csr(X, name)
    if X.dtype != np.float64:
        X = X.astype(np.float64)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    with np.errstate(over="ignore"):
        if X.nnz == 0 or (X.data.min() > 0 and X.data.sum() <= LARGEST_SUM):
            return X
    bad = X.data[~(np.isfinite(X.data) & (X.data > 0))]
    if bad.size > 0:
        raise ValueError(f"{name} has an entry {bad[0]}: expected finite numbers above 0")
    with np.errstate(over="ignore"):
        require_sums(X.sum(axis=1), name)
    return X
