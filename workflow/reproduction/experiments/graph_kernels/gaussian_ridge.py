"""Kernel ridge regression with a Gaussian kernel over a grid of bandwidths and ridges."""

from collections.abc import Sequence
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.validation import LARGEST, largest_magnitude, real_array, safe_unit


def gaussian_ridge_predictions(
    X: ArrayLike,
    y: ArrayLike,
    X_new: ArrayLike,
    bandwidths: Sequence[float],
    ridges: Sequence[float],
) -> NDArray[np.float64]:
    """Return ``k(x, X) (K + n ridge I)^-1 (y - mean y)`` for each bandwidth and ridge.

    The kernel is ``exp(-|x - x'|^2 / (2 s^2))``. One eigendecomposition of K serves all ridges.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    X_new : array-like of shape (n_new_samples, n_features)
    bandwidths : sequence of float
        ``s`` in units of the median distance between training samples.
    ridges : sequence of float
        Regularization strengths.

    Returns
    -------
    predictions : ndarray of shape (n_bandwidths * n_ridges, n_new_samples)
        Ridges vary fastest; the mean of the target is not added.
    """
    X, X_new, y = real_array(X, "X"), real_array(X_new, "X_new"), real_array(y, "y")
    for name, values in (("a sample", X), ("the target", y), ("a new sample", X_new)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} is NaN or infinite: expected finite numbers")
    if X.ndim != 2 or X_new.ndim != 2 or X.shape[1] != X_new.shape[1] or y.shape != (len(X),) or len(X) < 2:
        raise ValueError(
            f"samples {X.shape} with target {y.shape}, new ones {X_new.shape}: "
            "expected (n, d), (n,) and (m, d), n at least 2"
        )
    bandwidths, ridges = list(bandwidths), list(ridges)
    for name, values in (("bandwidths", bandwidths), ("ridges", ridges)):
        if not values or not all(isinstance(value, Real) and 1e-100 <= value <= 1e100 for value in values):
            raise ValueError(f"{name} is {values}: expected numbers above 0, from 1e-100 to 1e100")
    if largest_magnitude(y) > LARGEST:
        raise ValueError(f"y has entries up to {largest_magnitude(y):.3g}: expected at most {LARGEST:g}")
    # Only the ratio of squared distances to squared bandwidths matters.
    unit = safe_unit(X, X_new)
    X, X_new = X / unit, X_new / unit
    squares = cdist(X, X, "sqeuclidean")
    new_squares = cdist(X_new, X, "sqeuclidean")
    median = float(np.median(squares[np.triu_indices(len(X), 1)]))
    if not median > 0:  # also refuses NaN
        raise ValueError(f"the median squared distance between samples is {median}: expected it above 0")
    predictions = []
    with one_blas_thread():
        for bandwidth in bandwidths:
            K, K_new = (_similarities(part, bandwidth, median) for part in (squares, new_squares))
            values, vectors = np.linalg.eigh(K)
            inside = vectors.T @ (y - y.mean())
            outside = K_new @ vectors
            predictions += [
                outside @ (inside / (np.maximum(values, 0.0) + len(y) * ridge)) for ridge in ridges
            ]
    return np.array(predictions)


def _similarities(squares: NDArray[np.float64], bandwidth: float, median: float) -> NDArray[np.float64]:
    """Return ``exp(-squares / (2 bandwidth^2 median))``."""
    width = 2 * bandwidth**2 * median
    with np.errstate(over="ignore"):  # the exponential of minus infinity is 0
        if np.finfo(np.float64).tiny <= width < np.inf:
            return np.exp(-squares / width)
        return np.exp(-(squares / median) / (2 * bandwidth**2))
