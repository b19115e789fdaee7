"""The k-support norm: its value, its dual and the proximal operator of its square (thesis, section 4.2).

The unit ball of the norm is the convex hull of the vectors with at most ``k`` non-zero entries and Euclidean
length at most 1. With ``k = 1`` it is the l1 norm, with ``k = d`` the Euclidean one.

All three are exact and take O(d) time: they depend on a threshold ``t`` with
``sum_i clip(|w_i| / t - alpha, 0, 1) = k``, which is found without sorting.
"""

from __future__ import annotations

import math
import numbers

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import LARGEST, SMALLEST, real_array, safe_unit
from ermlab.sparse._ksupport_numba import shrink, squared_norm, threshold


def norm(w: ArrayLike, k: int) -> float:
    """Compute the k-support norm of ``w`` (thesis, eq. 4.13).

    Parameters
    ----------
    w : array-like of shape (n_features,)
        Weights.
    k : int
        Order of the norm, from 1 (l1 norm) to ``n_features`` (Euclidean norm).
    """
    (w, unit), k = _in_safe_units(w), checked_k(k, np.size(w))
    return unit * math.sqrt(squared_norm(w, k, threshold(w, k, 0.0)))


def dual_norm(w: ArrayLike, k: int) -> float:
    """Compute the dual of the k-support norm: the Euclidean length of the ``k`` largest entries."""
    (w, unit), k = _in_safe_units(w), checked_k(k, np.size(w))
    squares = np.square(w)
    return unit * math.sqrt(np.partition(squares, w.size - k)[w.size - k :].sum())


def prox(w: ArrayLike, k: int, alpha: float) -> NDArray[np.float64]:
    """Compute the proximal operator ``argmin_u 1/2 |u - w|^2 + alpha/2 norm(u, k)^2``.

    The largest entries of ``w`` are divided by ``1 + alpha``, the next ones shrink by a common amount, the
    others become 0.

    Parameters
    ----------
    w : array-like of shape (n_features,)
        Weights.
    k : int
        Order of the norm.
    alpha : float
        Regularization strength, at least 0.

    Returns
    -------
    ndarray of shape (n_features,)
    """
    (w, _), k = _vector(w), checked_k(k, np.size(w))
    if not (isinstance(alpha, numbers.Real) and 0 <= alpha < math.inf):
        raise ValueError(f"alpha is {alpha!r}: expected a finite number of at least 0")
    alpha = float(alpha)
    return shrink(w, threshold(w, k, alpha), alpha) if alpha > 0 else w.copy()


def checked_k(k: int, d: int) -> int:
    """Return ``k`` if it is an integer from 1 to ``d``, or raise a ValueError."""
    if isinstance(k, bool) or not isinstance(k, numbers.Integral) or not 1 <= k <= d:
        raise ValueError(f"k is {k!r}: expected an integer from 1 to {d}, the number of weights")
    return int(k)


def _in_safe_units(w: ArrayLike) -> tuple[NDArray[np.float64], float]:
    """Return the weights divided by a unit in which squares neither overflow nor vanish, and the unit."""
    w, total = _vector(w)
    if SMALLEST <= total <= LARGEST:
        return w, 1.0
    unit = safe_unit(w)
    return w / unit, unit


def _vector(w: ArrayLike) -> tuple[NDArray[np.float64], float]:
    """Return the weights and the sum of their absolute values."""
    w = np.ascontiguousarray(real_array(w, "w"))
    if w.ndim != 1 or w.size == 0:
        raise ValueError(f"w has shape {w.shape}: expected a vector of at least one entry")
    with np.errstate(over="ignore"):
        total = np.abs(w).sum()
    if not math.isfinite(total):
        wrong = np.flatnonzero(~np.isfinite(w))
        if wrong.size:
            raise ValueError(f"w[{wrong[0]}] is {w[wrong[0]]}: expected finite numbers")
        raise ValueError(f"w has entries up to {np.abs(w).max():.3g}: their sum is infinite, scale them down")
    return w, total
