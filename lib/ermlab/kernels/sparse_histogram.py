"""The generalised Gaussian kernel ``exp(-D / bandwidth)`` with chi-squared distances of sparse histograms.

Bags of words are mostly empty. Distances are exact and their time goes with the number of words that two
documents share; `ermlab.kernels.histogram` has the same distances for histograms that are mostly full.
"""

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ermlab._utils.parallel import over_ranges
from ermlab._utils.sparse_matrices import sound_csr
from ermlab._utils.validation import real_array, require_sums
from ermlab.kernels._sparse_histogram_numba import add_common

Matrix = NDArray[np.float64]
#: Rows of ``Y`` whose sums are kept at a time: 16 kB of the first-level cache.
BLOCK = 2048


def sparse_chi2_distances(
    X: ArrayLike | sparse.sparray,
    Y: ArrayLike | sparse.sparray | None = None,
    *,
    n_threads: int | None = None,
) -> Matrix:
    """Return ``D(x, y) = sum (x - y)^2 / (x + y)`` of all rows of ``X`` and ``Y`` (by default ``X``).

    Rows are histograms, dense or sparse, not negative. Words that both lack add nothing. The result does not
    depend on ``n_threads``, by default one a core; without ``Y`` it is symmetric with a diagonal of 0.
    """
    symmetric = Y is None
    X = _histograms(X, "X")
    Y = X if symmetric else _histograms(Y, "Y")
    if X.shape[1] != Y.shape[1]:
        raise ValueError(f"X has {X.shape[1]} columns and Y {Y.shape[1]}: expected as many")
    common = np.zeros((X.shape[0], Y.shape[0]))
    rows = X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data
    for first in range(0, Y.shape[0], BLOCK):
        block = Y[first : first + BLOCK]
        _add_block(rows, block, first, symmetric, common, n_threads)
    masses = X.sum(axis=1)
    distances = masses[:, None] + (masses if symmetric else Y.sum(axis=1))[None, :]
    distances -= common
    np.maximum(distances, 0.0, out=distances)  # rounding may leave a pair of equal rows below 0
    if symmetric:
        _mirror_upper(distances)
    return distances


def median_distance(distances: ArrayLike) -> float:
    """Return the median of the distances of different rows: the thesis' bandwidth (section 5.2.6)."""
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
    """Return ``exp(-D / bandwidth)``, positive definite for chi-squared distances D."""
    if not (isinstance(bandwidth, Real) and np.isfinite(bandwidth) and bandwidth > 0):
        raise ValueError(f"bandwidth is {bandwidth!r}: expected a positive number")
    distances = real_array(distances, "distances")
    if distances.size and not distances.min() >= 0:  # NaN fails, too
        raise ValueError(f"the least of the distances is {distances.min()}: expected numbers of at least 0")
    with np.errstate(over="ignore"):  # the exponential of minus infinity is 0
        K = distances / -bandwidth
    return np.exp(K, out=K)


def _add_block(
    rows: tuple[NDArray, NDArray, NDArray],
    block: sparse.csr_array,
    first: int,
    symmetric: bool,
    common: Matrix,
    n_threads: int | None,
) -> None:
    """Add the common words with a block of rows of ``Y``, the rows of ``X`` in threads."""
    columns = block.tocsc()
    postings = columns.indptr.astype(np.int64), columns.indices.astype(np.int64), columns.data

    def work(start: int, stop: int) -> None:
        add_common(rows, postings, first, block.shape[0], symmetric, common, start, stop)

    over_ranges(work, common.shape[0], n_threads)


def _mirror_upper(distances: Matrix) -> None:
    """Copy the upper triangle to the lower one, block by block, and clear the diagonal."""
    n = len(distances)
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        inside = np.triu(distances[first:last, first:last], k=1)
        distances[first:last, first:last] = inside + inside.T
        distances[last:, first:last] = distances[first:last, last:].T


def _histograms(X: ArrayLike | sparse.sparray, name: str) -> sparse.csr_array:
    """Return the histograms as a sparse matrix of sorted rows without stored zeros, or raise a ValueError."""
    if sparse.issparse(X):
        X = sparse.csr_array(sound_csr(X, name), dtype=np.float64, copy=True)
    else:
        X = real_array(X, name)
        if X.ndim != 2:
            raise ValueError(f"{name} has shape {X.shape}: expected (n, words)")
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
