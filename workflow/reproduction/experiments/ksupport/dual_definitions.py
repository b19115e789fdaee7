"""The regularizers of table 4.4 by their dual definitions, compared with their formulas.

The dual definitions are maxima over linear functions, found by numerical search. They share no formula with
the closed forms, and are slow.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar

from ermlab._utils.validation import LARGEST, SMALLEST, real_array
from ermlab.sparse import norm

#: Strengths of the l1 norm and of the squared l2 norm of the elastic net in the comparison.
ALPHA1, ALPHA2 = 0.3, 0.7
MAX_LENGTH = 100
#: A vector and a k for which the norm is Euclidean in the largest entry and l1 in the others.
EXAMPLE, EXAMPLE_K = (4.0, -2.0, 1.0, 0.5), 2
_EXACT = {"xatol": 1e-12, "maxiter": 500}


def lasso_by_dual(w: ArrayLike) -> float:
    """Return ``max <w, u>`` over ``|u_i| <= 1``, coordinate by coordinate: the l1 norm."""
    w = _vector(w)
    return float(sum(max(value * u for u in (-1.0, 1.0)) for value in w))


def elastic_net_by_dual(w: ArrayLike, alpha1: float, alpha2: float) -> float:
    """Return ``max_u <w, u> - conjugate(u)``, which is ``alpha1 |w|_1 + alpha2 |w|_2^2``.

    The conjugate of the penalty of one coordinate is ``max(|u| - alpha1, 0)^2 / (4 alpha2)``.
    """
    if not (0 <= alpha1 <= LARGEST and SMALLEST <= alpha2 <= LARGEST):
        raise ValueError(
            f"alpha1 is {alpha1} and alpha2 {alpha2}: expected at least 0 and above 0, at most {LARGEST:g}"
        )
    total = 0.0
    for value in np.abs(_vector(w)):
        # Beyond this bound the conjugate outgrows the linear function.
        bound = alpha1 + 4.0 * alpha2 * value + 1.0
        result = minimize_scalar(
            lambda u, value=value: max(u - alpha1, 0.0) ** 2 / (4.0 * alpha2) - value * u,
            bounds=(0.0, bound),
            method="bounded",
            options=_EXACT,
        )
        total -= result.fun
    return total


def ksupport_by_dual(w: ArrayLike, k: int) -> float:
    """Return ``max <w, u>`` over the u whose k largest entries have a Euclidean norm of at most 1.

    A best u is sorted like ``|w|``. Let s be its k-th entry: the following entries equal s, and those before
    are the best vector of norm 1 with entries of at least s. What remains is a search for s.
    """
    w = np.sort(np.abs(_vector(w)))[::-1]
    if not 1 <= k <= w.size:
        raise ValueError(f"k is {k}: expected an integer from 1 to {w.size}, the number of weights")
    length = float(np.linalg.norm(w))
    if length == 0:
        return 0.0
    # The search needs entries of ordinary size.
    head, tail = w[:k] / length, float(w[k:].sum()) / length
    result = minimize_scalar(
        lambda s: -(s * tail + head @ _best_above(head, s)),
        bounds=(0.0, 1.0 / math.sqrt(k)),
        method="bounded",
        options=_EXACT,
    )
    ends = [s * tail + head @ _best_above(head, s) for s in (0.0, 1.0 / math.sqrt(k))]
    return length * max(-result.fun, *ends)


def _best_above(head: NDArray[np.float64], s: float) -> NDArray[np.float64]:
    """Return the vector of norm 1 with entries of at least ``s`` and the largest product with ``head``."""

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


Regularizer = Callable[[NDArray[np.float64], int], float]
#: Each regularizer by its formula and by its dual definition.
PAIRS: dict[str, tuple[Regularizer, Regularizer]] = {
    "lasso": (lambda w, k: float(np.abs(w).sum()), lambda w, k: lasso_by_dual(w)),
    "elastic_net": (
        lambda w, k: float(ALPHA1 * np.abs(w).sum() + ALPHA2 * w @ w),
        lambda w, k: elastic_net_by_dual(w, ALPHA1, ALPHA2),
    ),
    "ksupport": (norm, ksupport_by_dual),
}


def compare_norms(vectors: int, seed: int) -> dict[str, float]:
    """Return the largest relative difference between formula and dual definition over random vectors.

    Vectors are in turn normal, heavy-tailed, mostly 0, and rounded so that entries are equal.
    """
    if vectors < 1:
        raise ValueError(f"vectors is {vectors}: expected at least 1")
    rng = np.random.default_rng(seed)
    largest = dict.fromkeys(PAIRS, 0.0)
    for number in range(vectors):
        d = int(rng.integers(1, MAX_LENGTH + 1))
        k = int(rng.integers(1, d + 1))
        w = _draw(rng, d, number % 4)
        for name, (formula, dual) in PAIRS.items():
            value = formula(w, k)
            largest[name] = max(largest[name], abs(value - dual(w, k)) / max(value, np.finfo(float).tiny))
    return largest


def elastic_net_ratios(vectors: int, seed: int) -> dict[str, float]:
    """Return the least and the largest k-support norm in units of the elastic net's norm.

    The ball of the latter is the intersection of the Euclidean ball and the l1 ball of radius ``sqrt(k)``,
    ``max(|w|_2, |w|_1 / sqrt(k))``; the k-support norm lies between 1 and ``sqrt(2)`` times this norm
    (reference 5 of the thesis). Next to random vectors there are those with one entry of ``k^1.5`` and k^2
    entries of 1, whose ratio tends to the bound for large k.
    """
    rng = np.random.default_rng(seed)
    ratios = []
    for number in range(vectors):
        d = int(rng.integers(1, MAX_LENGTH + 1))
        k = int(rng.integers(1, d + 1))
        w = np.append(k**1.5, np.ones(k**2)) if number % 5 == 4 else _draw(rng, d, number % 5)
        if w.any():
            net = max(float(np.linalg.norm(w)), float(np.abs(w).sum()) / math.sqrt(k))
            ratios.append(norm(w, k) / net)
    return {"min": float(np.min(ratios)), "max": float(np.max(ratios))}


def example_values() -> dict[str, dict[str, float]]:
    """Return both values of each regularizer for `EXAMPLE`."""
    w = np.array(EXAMPLE)
    return {
        name: {"formula": formula(w, EXAMPLE_K), "dual": dual(w, EXAMPLE_K)}
        for name, (formula, dual) in PAIRS.items()
    }


def _draw(rng: np.random.Generator, d: int, kind: int) -> NDArray[np.float64]:
    w = rng.standard_t(1.5, d) if kind == 1 else rng.normal(size=d)
    if kind == 2:
        w *= rng.random(d) < 0.2
    return np.round(2 * w) if kind == 3 else w
