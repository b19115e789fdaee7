"""Sparse neighborhood graphs of many samples, and their Laplacians (thesis, section 2.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import laplacian as csgraph_laplacian
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from ermlab._utils.sparse_matrices import sound_csr
from ermlab._utils.validation import (
    check_choice,
    finite_matrix,
    positive_number,
    real_array,
    safe_unit,
    whole_number,
)

WEIGHTS = ("heat", "binary")
METRICS = ("euclidean", "precomputed")
LAPLACIANS = ("normalized", "unnormalized")
#: Differences of mirrored entries up to this share of the largest entry are rounding errors.
ASYMMETRY = 1e-8


def neighbor_graph(
    X: ArrayLike,
    n_neighbors: int = 10,
    *,
    weights: str = "heat",
    bandwidth: float | None = None,
    metric: str = "euclidean",
) -> csr_array:
    """Return the similarities of a graph that joins each sample to its nearest neighbors.

    Two samples are joined if one is among the nearest neighbors of the other: the graph is undirected.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
        Samples, or with ``metric="precomputed"`` their distances.
    n_neighbors : int, default=10
        Number of neighbors of each sample; with fewer other samples than that, all of them.
    weights : {"heat", "binary"}, default="heat"
        ``exp(-distance^2 / (2 bandwidth^2))``, or 1 for all that are joined.
    bandwidth : float, optional
        Bandwidth of the heat weights, by default the median length of the edges that are not 0.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        Whether to compute the distances.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        Symmetric, with an empty diagonal.
    """
    n_neighbors = whole_number("n_neighbors", n_neighbors, 1)
    check_choice("weights", weights, WEIGHTS)
    check_choice("metric", metric, METRICS)
    if bandwidth is not None:
        bandwidth = positive_number("bandwidth", bandwidth)
    X = finite_matrix(X, "X")
    m = len(X)
    if m == 0 or X.shape[1] == 0:
        raise ValueError(f"X has shape {X.shape}: expected at least one sample and one feature")
    if metric == "precomputed" and (X.shape != (m, m) or X.min() < 0):
        raise ValueError(f"distances of shape {X.shape} from {X.min()}: expected (m, m), at least 0")
    if m == 1:
        return csr_array((1, 1), dtype=np.float64)
    unit = safe_unit(X)
    first, second, lengths = _edges(X / unit, min(n_neighbors, m - 1), metric)
    similarities = np.ones_like(lengths)
    if weights == "heat":
        similarities = _heat(lengths, None if bandwidth is None else bandwidth / unit)
    rows, columns = np.concatenate([first, second]), np.concatenate([second, first])
    return csr_array((np.concatenate([similarities, similarities]), (rows, columns)), shape=(m, m))


def graph_laplacian(W: Any, *, normalized: bool = True) -> csr_array:
    """Return the Laplacian of a graph: ``D - W``, or ``D^(-1/2) (D - W) D^(-1/2)`` if ``normalized``.

    ``D`` has the row sums of ``W`` on its diagonal. Rows and columns of isolated samples are 0.

    Parameters
    ----------
    W : sparse matrix or array-like of shape (n_samples, n_samples)
        Similarities: symmetric, finite and at least 0.
    normalized : bool, default=True
        Whether to normalize.
    """
    W = checked_symmetric(W, "W")
    if W.nnz and W.data.min() < 0:
        raise ValueError(f"W has the entry {W.data.min()}: expected similarities of at least 0")
    return csr_array(csgraph_laplacian(W, normed=normalized))


def checked_symmetric(matrix: Any, name: str, size: int | None = None) -> csr_array:
    """Return a sparse or dense matrix as sparse, or raise a ValueError unless it is symmetric and finite."""
    matrix = (
        sound_csr(matrix, name) if issparse(matrix) else csr_array(np.atleast_2d(real_array(matrix, name)))
    )
    matrix = csr_array(matrix, dtype=np.float64)
    expected = "(m, m)" if size is None else f"{(size, size)}"
    if matrix.shape[0] != matrix.shape[1] or (size is not None and matrix.shape[0] != size):
        raise ValueError(f"{name} has shape {matrix.shape}: expected {expected}")
    if not np.isfinite(matrix.data).all():
        raise ValueError(f"{name} has entries that are not finite: expected finite numbers")
    largest = np.abs(matrix.data).max(initial=0.0)
    if np.abs((matrix - matrix.T).data).max(initial=0.0) > ASYMMETRY * largest:
        raise ValueError(f"{name} is not symmetric: expected the graph to be undirected")
    return matrix


def _edges(
    X: NDArray, k: int, metric: str
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return both ends and the length of each edge, in the order of their indices."""
    if metric == "euclidean":
        X = X - X.mean(axis=0)  # distances are computed from inner products, which would lose digits
    # The order of neighbors at equal distances, and so the graph, may depend on the number of threads.
    with threadpool_limits(limits=1):
        distances, neighbors = NearestNeighbors(n_neighbors=k, metric=metric).fit(X).kneighbors()
    m = len(X)
    start, end = np.repeat(np.arange(m), k), neighbors.ravel().astype(np.int64)
    first, second = np.minimum(start, end), np.maximum(start, end)
    _, kept = np.unique(first * m + second, return_index=True)
    return first[kept], second[kept], distances.ravel()[kept]


def _heat(lengths: NDArray[np.float64], bandwidth: float | None) -> NDArray[np.float64]:
    if bandwidth is None:
        apart = lengths[lengths > 0]
        if not apart.size:
            return np.ones_like(lengths)
        bandwidth = np.median(apart)
    with np.errstate(over="ignore", under="ignore"):  # the exponential of minus infinity is 0
        return np.exp(-0.5 * (lengths / bandwidth) ** 2)
