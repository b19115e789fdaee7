"""Kernels of sparse histograms, such as bags of words: the chi-squared and the generalized Gaussian kernel.

Results are exact, and the time grows with the number of bins that two histograms share.
`ermlab.kernels.histogram` has the same functions for histograms that are mostly full.
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ermlab._utils.parallel import over_ranges
from ermlab._utils.sparse_matrices import sound_csr
from ermlab._utils.validation import LARGEST_SUM, real_array, require_sums
from ermlab.kernels._sparse_histogram_numba import add_chi2, add_common

Matrix = NDArray[np.float64]
#: Rows of ``Y`` whose sums are kept at a time: 16 kB of the first-level cache.
BLOCK = 2048


def sparse_chi2_kernel(X: sparse.csr_array, Y: sparse.csr_array) -> Matrix:
    """Compute ``k(x, y) = sum 2 x y / (x + y)`` for all rows of two sparse matrices.

    Parameters
    ----------
    X : csr_array of shape (n_samples_X, n_bins)
        Histograms; stored entries are positive.
    Y : csr_array of shape (n_samples_Y, n_bins)

    Returns
    -------
    ndarray of shape (n_samples_X, n_samples_Y)
    """
    X, Y = _positive_rows(X, "X"), _positive_rows(Y, "Y")
    _require_same_bins(X, Y)
    columns, out = sparse.csc_array(Y), np.zeros((X.shape[0], Y.shape[0]))
    add_chi2((X.indptr, X.indices, X.data), (columns.indptr, columns.indices, columns.data), out)
    return out


def sparse_chi2_distances(
    X: ArrayLike | sparse.sparray,
    Y: ArrayLike | sparse.sparray | None = None,
    *,
    n_jobs: int | None = None,
) -> Matrix:
    """Compute ``D(x, y) = sum (x - y)^2 / (x + y)`` for all rows of ``X`` and ``Y``.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples_X, n_bins)
        Non-negative histograms.
    Y : array-like or sparse matrix of shape (n_samples_Y, n_bins), default=None
        None compares the rows of ``X``; the result is then symmetric with a diagonal of 0.
    n_jobs : int, default=None
        Number of threads, one per core by default. The result does not depend on it.

    Returns
    -------
    ndarray of shape (n_samples_X, n_samples_Y)
    """
    symmetric = Y is None
    X = _histograms(X, "X")
    Y = X if symmetric else _histograms(Y, "Y")
    _require_same_bins(X, Y)
    common = np.zeros((X.shape[0], Y.shape[0]))
    rows = X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data
    for first in range(0, Y.shape[0], BLOCK):
        _add_block(rows, Y[first : first + BLOCK], first, symmetric, common, n_jobs)
    # sum (x - y)^2 / (x + y) = sum x + sum y - 4 sum x y / (x + y), and the last sum is over common bins.
    masses = X.sum(axis=1)
    distances = masses[:, None] + (masses if symmetric else Y.sum(axis=1))[None, :]
    distances -= common
    np.maximum(distances, 0.0, out=distances)  # rounding may leave a pair of equal rows below 0
    if symmetric:
        _mirror_upper(distances)
    return distances


def median_distance(distances: ArrayLike) -> float:
    """Return the median distance of different rows, the bandwidth of the thesis (section 5.2.6)."""
    distances = real_array(distances, "distances")
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1] or len(distances) < 2:
        raise ValueError(f"distances of shape {distances.shape}: expected (n, n) with n of at least 2")
    median = float(np.median(distances[np.triu_indices(len(distances), k=1)], overwrite_input=True))
    if not 0 < median < np.inf:
        raise ValueError(
            f"the median distance is {median}: expected finite distances, and more than half of the pairs to "
            "differ"
        )
    return median


def generalized_gaussian(distances: ArrayLike, bandwidth: float) -> Matrix:
    """Compute ``exp(-D / bandwidth)``, which is positive definite for chi-squared distances D."""
    if not (isinstance(bandwidth, Real) and np.isfinite(bandwidth) and bandwidth > 0):
        raise ValueError(f"bandwidth is {bandwidth!r}: expected a positive number")
    distances = real_array(distances, "distances")
    if distances.size and not distances.min() >= 0:  # NaN fails, too
        raise ValueError(f"the smallest distance is {distances.min()}: expected numbers of at least 0")
    with np.errstate(over="ignore"):  # the exponential of minus infinity is 0
        K = distances / -bandwidth
    return np.exp(K, out=K)


def _add_block(
    rows: tuple[NDArray, NDArray, NDArray],
    block: sparse.csr_array,
    first: int,
    symmetric: bool,
    common: Matrix,
    n_jobs: int | None,
) -> None:
    """Add the common bins with a block of rows of ``Y``; threads share the rows of ``X``."""
    columns = block.tocsc()
    by_bin = columns.indptr.astype(np.int64), columns.indices.astype(np.int64), columns.data

    def work(start: int, stop: int) -> None:
        add_common(rows, by_bin, first, block.shape[0], symmetric, common, start, stop)

    over_ranges(work, common.shape[0], n_jobs)


def _mirror_upper(distances: Matrix) -> None:
    """Copy the upper triangle to the lower one, block by block, and clear the diagonal."""
    n = len(distances)
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        inside = np.triu(distances[first:last, first:last], k=1)
        distances[first:last, first:last] = inside + inside.T
        distances[last:, first:last] = distances[first:last, last:].T


def _require_same_bins(X: sparse.csr_array, Y: sparse.csr_array) -> None:
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"X has {X.shape[1]} bins and Y {Y.shape[1]}: expected the same number")


def _histograms(X: ArrayLike | sparse.sparray, name: str) -> sparse.csr_array:
    """Return the histograms as a sparse matrix of sorted rows without stored zeros, or raise a ValueError."""
    if sparse.issparse(X):
        X = sparse.csr_array(sound_csr(X, name), dtype=np.float64, copy=True)
    else:
        X = real_array(X, name)
        if X.ndim != 2:
            raise ValueError(f"{name} has shape {X.shape}: expected (n, bins)")
        X = sparse.csr_array(X)
    X.sum_duplicates()
    bad = np.flatnonzero(~(np.isfinite(X.data) & (X.data >= 0)))
    if bad.size:
        row = np.searchsorted(X.indptr, bad[0], side="right") - 1
        raise ValueError(
            f"{name} is {X.data[bad[0]]} in row {row}, column {X.indices[bad[0]]}: "
            "expected finite numbers of at least 0"
        )
    X.eliminate_zeros()
    with np.errstate(over="ignore"):
        require_sums(X.sum(axis=1), name)
    return X


def _positive_rows(X: sparse.csr_array, name: str) -> sparse.csr_array:
    """Return sparse histograms with positive entries, each bin of a row once; copied only if necessary."""
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
