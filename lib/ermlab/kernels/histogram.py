"""Kernels of histograms: matrices of non-negative numbers, one row per histogram.

Each function takes ``X`` of shape (n_samples_X, n_bins) and ``Y`` of shape (n_samples_Y, n_bins) and returns
a matrix of shape (n_samples_X, n_samples_Y). Without ``Y`` the rows of ``X`` are compared with each other,
and the matrix is exactly symmetric. The time grows with the number of non-empty bins. Results do not depend
on ``n_jobs``, one per core by default. `ermlab.kernels.sparse_histogram` is for sparse matrices.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.parallel import over_ranges
from ermlab._utils.validation import LARGEST_SUM, real_array, require_sums
from ermlab.kernels._histogram_numba import fill_chi2, fill_chi2_distances, fill_intersection

Matrix = NDArray[np.float64]


def chi2_kernel(X: ArrayLike, Y: ArrayLike | None = None, *, n_jobs: int | None = None) -> Matrix:
    """Compute ``k(x, y) = sum 2 x y / (x + y)``, which is positive semidefinite.

    It equals ``(sum x + sum y - D) / 2`` with D of `chi2_distances`: at most 1 if histograms sum to 1.
    """
    return _compare(fill_chi2, X, Y, n_jobs)


def intersection_kernel(X: ArrayLike, Y: ArrayLike | None = None, *, n_jobs: int | None = None) -> Matrix:
    """Compute ``k(x, y) = sum min(x, y)``, which is positive semidefinite."""
    return _compare(fill_intersection, X, Y, n_jobs)


def chi2_distances(X: ArrayLike, Y: ArrayLike | None = None, *, n_jobs: int | None = None) -> Matrix:
    """Compute ``D(x, y) = sum (x - y)^2 / (x + y)`` over bins that are not empty in both histograms."""
    return _compare(fill_chi2_distances, X, Y, n_jobs)


def exponential_chi2_kernel(
    X: ArrayLike, Y: ArrayLike | None = None, *, gamma: float = 1.0, n_jobs: int | None = None
) -> Matrix:
    """Compute ``k(x, y) = exp(-gamma D(x, y))`` with D of `chi2_distances`, which is positive definite.

    The thesis chooses `median_gamma` of the training set (section 5.2).
    """
    if not (np.isfinite(gamma) and gamma > 0):
        raise ValueError(f"gamma is {gamma}: expected a positive number")
    distances = chi2_distances(X, Y, n_jobs=n_jobs)
    with np.errstate(over="ignore"):  # the exponential of minus infinity is 0
        return np.exp(-gamma * distances)


def median_gamma(X: ArrayLike, *, n_jobs: int | None = None) -> float:
    """Return the inverse median distance of different rows, a scale for `exponential_chi2_kernel`."""
    distances = chi2_distances(X, n_jobs=n_jobs)
    if len(distances) < 2:
        raise ValueError(f"{len(distances)} histograms: expected at least 2")
    median = float(np.median(distances[np.triu_indices(len(distances), k=1)]))
    if median == 0:
        raise ValueError("the median distance is 0: more than half of the pairs of histograms are equal")
    if not np.isfinite(1.0 / median):
        raise ValueError(f"the median distance is {median}: expected a finite inverse, scale X up")
    return 1.0 / median


def _compare(fill: Callable, X: ArrayLike, Y: ArrayLike | None, n_jobs: int | None) -> Matrix:
    """Let ``fill`` write the matrix, or half of it, which is mirrored, if ``Y`` is None."""
    symmetric = Y is None
    X = _histograms(X, "X")
    Y = X if symmetric else _histograms(Y, "Y")
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"X has {X.shape[1]} bins and Y {Y.shape[1]}: expected the same number")
    out = np.zeros((len(X), len(Y)))
    X_filled = _filled_bins(X)
    Y_filled = X_filled if symmetric else _filled_bins(Y)
    n_bins = X.shape[1]

    def work(start: int, stop: int) -> None:
        fill(X_filled, Y_filled, n_bins, symmetric, out, start, stop)

    over_ranges(work, len(X), n_jobs)
    return out + np.triu(out, k=1).T if symmetric else out


def _filled_bins(X: Matrix) -> tuple[NDArray[np.intp], NDArray[np.intp], Matrix]:
    """Return the start of each row in the list of non-empty bins, the list, and their values."""
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
            f"{name} is {X[row, column]} in row {row}, bin {column}: expected finite numbers >= 0"
        )
    with np.errstate(over="ignore"):
        require_sums(X.sum(axis=1), name)
    return X
