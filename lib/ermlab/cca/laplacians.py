"""Graph Laplacians of samples from their distances (thesis, section 4.1)."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import real_array

#: Squared distances below this share of the largest are rounding errors.
COINCIDENT = 1e-12


def median_distance(squared_distances: NDArray[np.float64]) -> float:
    """Return the median distance over all pairs of samples.

    If most pairs coincide, as for labels with few values, it is the median over those that do not.
    """
    squared_distances = _checked_squares(squared_distances)
    squares = squared_distances[np.triu_indices(len(squared_distances), k=1)]
    if not squares.size or not squares.max() > 0:
        raise ValueError("all samples coincide: expected different samples")
    apart = squares > COINCIDENT * squares.max()
    if 2 * np.count_nonzero(apart) <= squares.size:
        squares = squares[apart]
    return float(np.median(np.sqrt(squares)))


def normalized_laplacian(
    squared_distances: NDArray[np.float64], bandwidth: float | None = None
) -> NDArray[np.float64]:
    """Compute ``D^(-1/2) (D - W) D^(-1/2)``, the symmetric normalized Laplacian of Gaussian similarities.

    ``W_ij = exp(-|x_i - x_j|^2 / (2 bandwidth^2))``, and ``D`` has the row sums of ``W``. The thesis prints
    the second exponent as 1/2, with which the matrix is neither symmetric nor normalized.

    Parameters
    ----------
    squared_distances : ndarray of shape (n_samples, n_samples)
        Squared distances between samples.
    bandwidth : float, default=None
        Bandwidth of the similarities, by default the median distance.
    """
    squared_distances = _checked_squares(squared_distances)
    bandwidth = median_distance(squared_distances) if bandwidth is None else bandwidth
    if not (isinstance(bandwidth, Real) and 1e-150 <= bandwidth <= 1e150):
        raise ValueError(f"bandwidth is {bandwidth!r}: expected a positive number, 1e-150 to 1e150")
    with np.errstate(over="ignore"):  # the exponential of minus infinity is 0
        W = np.exp(squared_distances / (-2 * bandwidth**2))
    sums = W.sum(axis=1)
    if not sums.all():
        row = int(np.argmin(sums))
        raise ValueError(
            f"the smallest entry of row {row} of the squared distances is "
            f"{squared_distances[row].min():.3g}: expected 0 from each sample to itself"
        )
    scale = 1 / np.sqrt(sums)
    L = -W * np.outer(scale, scale)
    L[np.diag_indices_from(L)] += 1
    return L


def centering_laplacian(squared_distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``I - 1/m``, the Laplacian of a graph with equal similarities, as a control.

    An improvement of a Laplacian of similarities over this one is due to the geometry of the samples.
    """
    m = len(squared_distances)
    return np.eye(m) - 1 / m


def _checked_squares(squared_distances: ArrayLike) -> NDArray[np.float64]:
    squares = real_array(squared_distances, "squared_distances")
    if squares.ndim != 2 or squares.shape[0] != squares.shape[1] or not len(squares):
        raise ValueError(f"squared distances of shape {squares.shape}: expected (m, m)")
    if not (squares.min() >= 0 and squares.max() < np.inf):
        raise ValueError(f"squared distances from {squares.min()} to {squares.max()}: expected finite, >= 0")
    return squares
