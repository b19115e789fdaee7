"""Covariances and metrics of trees, matrices with one row and column per leaf (thesis, section 5.2.3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import real_array

Matrix = NDArray[np.float64]
#: Largest asymmetry of a matrix, relative to its largest entry, that is attributed to rounding.
_ROUNDING = 1e-8
#: Largest entry of a matrix: sums over all classes stay finite.
LARGEST = 1e300


def tree_metric(B: ArrayLike) -> Matrix:
    """Compute the distances ``M(i, j) = B_ii + B_jj - 2 B_ij`` of a covariance (Theorem 5.2.4)."""
    B = checked_symmetric(B, "B")
    variances = np.diag(B)
    return variances[:, None] + variances[None, :] - 2 * B


def tree_covariance(M: ArrayLike, root: int | ArrayLike = 0) -> Matrix:
    """Compute the covariance of a metric: half the excess of the path via the root over the direct path.

    Parameters
    ----------
    M : array-like of shape (n_leaves, n_leaves)
        Distances of the leaves.
    root : int or array-like of shape (n_leaves,), default=0
        Index of a leaf, or the distances of the root to all leaves.
    """
    M = checked_symmetric(M, "M")
    if np.ndim(root) == 0:
        if root not in range(len(M)):
            raise ValueError(f"root is {root}: expected a leaf, 0 to {len(M) - 1}, or all distances")
        distances = M[int(root)]
    else:
        distances = real_array(root, "root")
        if distances.shape != (len(M),) or not (np.abs(distances) <= LARGEST).all():
            raise ValueError(
                f"root of shape {distances.shape}: expected {len(M)} finite distances of at most {LARGEST:g}"
            )
    return (distances[:, None] + distances[None, :] - M) / 2


def four_point_violation(M: ArrayLike) -> float:
    """Return the largest violation of the four-point condition (eq. 5.20), 0 for a tree metric."""
    M = checked_symmetric(M, "M")
    worst = 0.0
    for a in range(len(M)):
        for b in range(a + 1, len(M)):
            crossed = M[a][:, None] + M[b][None, :]
            worst = max(worst, float((M[a, b] + M - np.maximum(crossed, crossed.T)).max()))
    return worst


def centered(B: ArrayLike) -> Matrix:
    """Compute ``H B H`` with ``H = I - 11'/k``, which does not depend on the root (Theorem 5.2.5)."""
    B = checked_symmetric(B, "B")
    rows = B - B.mean(axis=0)
    return rows - rows.mean(axis=1, keepdims=True)


def unit_trace(B: ArrayLike) -> Matrix:
    """Scale B to a mean variance of 1, so that C is comparable between covariances."""
    B = checked_symmetric(B, "B")
    trace = np.trace(B)
    with np.errstate(over="ignore", invalid="ignore"):
        sound = trace > 0 and np.isfinite(len(B) / trace * np.abs(B).max())
    if not sound:
        raise ValueError(f"B has trace {trace}, entries up to {np.abs(B).max()}: expected a positive trace")
    return B * (len(B) / trace)


def checked_symmetric(values: ArrayLike, name: str) -> Matrix:
    """Return a square symmetric matrix of finite numbers, or raise a ValueError."""
    values = real_array(values, name)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or len(values) == 0:
        raise ValueError(f"{name} has shape {values.shape}: expected a square matrix")
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise ValueError(f"{name} is {values[row, column]} at ({row}, {column}): expected finite numbers")
    largest = np.abs(values).max()
    if largest > LARGEST:
        raise ValueError(f"{name} has entries up to {largest:.3g}: expected at most {LARGEST:g}")
    gap = np.abs(values - values.T)
    if gap.max() > _ROUNDING * max(largest, np.finfo(float).tiny):
        row, column = np.unravel_index(gap.argmax(), gap.shape)
        raise ValueError(f"{name} differs from its transpose by {gap.max():.3g} at ({row}, {column})")
    return values
