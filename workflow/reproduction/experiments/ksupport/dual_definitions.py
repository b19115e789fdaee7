"""The regularisers of table 4.4 by their dual definitions: maxima over linear functions, found by search.

They share no formula with the closed forms, and are slow: for checks.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar

from ermlab._utils.validation import LARGEST, SMALLEST, real_array

_EXACT = {"xatol": 1e-12, "maxiter": 500}


def lasso_by_dual(w: ArrayLike) -> float:
    """Return ``max <w, u>`` over ``|u_i| <= 1``, coordinate by coordinate: the l1 norm."""
    w = _vector(w)
    return float(sum(max(value * u for u in (-1.0, 1.0)) for value in w))


def elastic_net_by_dual(w: ArrayLike, lam1: float, lam2: float) -> float:
    """Return ``max_u <w, u> - conjugate(u)``, which is ``lam1 |w|_1 + lam2 |w|_2^2``.

    The conjugate of one coordinate's penalty is ``max(|u| - lam1, 0)^2 / (4 lam2)``.
    """
    if not (0 <= lam1 <= LARGEST and SMALLEST <= lam2 <= LARGEST):
        raise ValueError(
            f"lam1 is {lam1} and lam2 {lam2}: expected at least 0, and more than 0, at most {LARGEST:g}"
        )
    total = 0.0
    for value in np.abs(_vector(w)):
        # Beyond this the conjugate outgrows the linear function.
        end = lam1 + 4.0 * lam2 * value + 1.0
        found = minimize_scalar(
            lambda u, value=value: max(u - lam1, 0.0) ** 2 / (4.0 * lam2) - value * u,
            bounds=(0.0, end),
            method="bounded",
            options=_EXACT,
        )
        total -= found.fun
    return total


def ksupport_by_dual(w: ArrayLike, k: int) -> float:
    """Return ``max <w, u>`` over the u whose k largest entries have a Euclidean length of at most 1.

    A best u is sorted like ``|w|``. Let s be its k-th entry: those that follow equal s, and those before are
    the best of length 1 that are not below s; what is left is a search for s.
    """
    w = np.sort(np.abs(_vector(w)))[::-1]
    if not 1 <= k <= w.size:
        raise ValueError(f"k is {k}: expected an integer from 1 to {w.size}, the number of weights")
    length = float(np.linalg.norm(w))
    if length == 0:
        return 0.0
    # Entries of very different size would leave the search nothing to go by.
    head, tail = w[:k] / length, float(w[k:].sum()) / length
    found = minimize_scalar(
        lambda s: -(s * tail + head @ _longest_above(head, s)),
        bounds=(0.0, 1.0 / math.sqrt(k)),
        method="bounded",
        options=_EXACT,
    )
    ends = [s * tail + head @ _longest_above(head, s) for s in (0.0, 1.0 / math.sqrt(k))]
    return length * max(-found.fun, *ends)


def _longest_above(head: NDArray[np.float64], s: float) -> NDArray[np.float64]:
    """Return the vector of length 1 with entries of at least ``s`` that is best along ``head``."""

    def excess(c: float) -> float:
        return float(np.linalg.norm(np.maximum(s, c * head))) - 1.0

    if excess(0.0) >= 0 or head[0] == 0:
        return np.full(head.size, s)
    c = brentq(excess, 0.0, 2.0 / head[0], xtol=1e-300, rtol=1e-15)
    return np.maximum(s, c * head)


def _vector(w: ArrayLike) -> NDArray[np.float64]:
    w = real_array(w, "w")
    if w.ndim != 1 or w.size == 0 or not (np.abs(w) <= LARGEST).all():
        raise ValueError(
            f"w has shape {w.shape}: expected a vector of finite numbers, at least one, up to {LARGEST:g}"
        )
    return w
