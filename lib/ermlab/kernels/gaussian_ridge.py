"""Kernel ridge regression with a Gaussian kernel, for a whole grid of its two parameters at once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from ermlab.kernels._units import safe_unit
from ermlab.optimize._blas import one_blas_thread


def gaussian_ridge_predictions(
    X: ArrayLike,
    y: ArrayLike,
    X_new: ArrayLike,
    bandwidths: Sequence[float],
    ridges: Sequence[float],
) -> NDArray[np.float64]:
    """Return ``k(x, X) (K + n ridge I)^-1 (y - mean y)`` for each bandwidth and ridge, (models, samples).

    The kernel is ``exp(-|x - x'|^2 / (2 s^2))``. One decomposition of K serves all ridges.

    Parameters
    ----------
    bandwidths
        ``s`` in units of the median distance between training samples.
    ridges
        Penalties of the squared norm.

    Returns
    -------
    predictions
        Bandwidth by bandwidth, and for each in the order of the ridges; the mean of the target is not added.
    """
    X, X_new = np.asarray(X, dtype=np.float64), np.asarray(X_new, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    for name, values in (("a sample", X), ("the target", y), ("a new sample", X_new)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} is NaN or infinite: expected finite numbers")
    if X.ndim != 2 or X_new.ndim != 2 or X.shape[1] != X_new.shape[1] or y.shape != (len(X),) or len(X) < 2:
        raise ValueError(
            f"samples {X.shape} with target {y.shape}, new ones {X_new.shape}: "
            "expected (n, d), (n,) and (m, d), n at least 2"
        )
    for name, values in (("bandwidths", bandwidths), ("ridges", ridges)):
        if not len(values) or not all(1e-100 <= value <= 1e100 for value in values):
            raise ValueError(f"{name} is {list(values)}: expected numbers above 0, from 1e-100 to 1e100")
    # Squares of distances and of widths, which only count in proportion to each other.
    unit = safe_unit(X, X_new)
    X, X_new = X / unit, X_new / unit
    squares = cdist(X, X, "sqeuclidean")
    new_squares = cdist(X_new, X, "sqeuclidean")
    median = float(np.median(squares[np.triu_indices(len(X), 1)]))
    if not median > 0:  # NaN fails, too
        raise ValueError(f"the median squared distance between samples is {median}: expected it above 0")
    found = []
    with one_blas_thread():
        for bandwidth in bandwidths:
            width = 2 * bandwidth**2 * median
            with np.errstate(over="ignore"):  # the exponential of minus infinity is 0
                K, K_new = np.exp(-squares / width), np.exp(-new_squares / width)
            values, vectors = np.linalg.eigh(K)
            inside = vectors.T @ (y - y.mean())
            outside = K_new @ vectors
            found += [outside @ (inside / (np.maximum(values, 0.0) + len(y) * ridge)) for ridge in ridges]
    return np.array(found)
