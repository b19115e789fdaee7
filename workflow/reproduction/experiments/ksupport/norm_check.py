"""The values of the three regularisers beside their dual definitions (thesis, table 4.4)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ermlab.sparse import norm
from reproduction.experiments.ksupport.dual_definitions import (
    elastic_net_by_dual,
    ksupport_by_dual,
    lasso_by_dual,
)

#: Prices of the elastic net in the comparison.
LAM1, LAM2 = 0.3, 0.7
LARGEST = 100
#: A vector and a k for which the largest entry stands alone and the others share the rest.
EXAMPLE, EXAMPLE_K = (4.0, -2.0, 1.0, 0.5), 2

Regulariser = Callable[[NDArray[np.float64], int], float]
#: Each regulariser by its formula and by its dual definition.
PAIRS: dict[str, tuple[Regulariser, Regulariser]] = {
    "lasso": (lambda w, k: float(np.abs(w).sum()), lambda w, k: lasso_by_dual(w)),
    "elastic_net": (
        lambda w, k: float(LAM1 * np.abs(w).sum() + LAM2 * w @ w),
        lambda w, k: elastic_net_by_dual(w, LAM1, LAM2),
    ),
    "ksupport": (norm, ksupport_by_dual),
}


def compare_norms(vectors: int, seed: int) -> dict[str, float]:
    """Return the largest relative difference between formula and dual definition over random vectors.

    A vector in four is normal, heavy-tailed, mostly 0, or rounded so that entries are equal.
    """
    if vectors < 1:
        raise ValueError(f"vectors is {vectors}: expected at least 1")
    rng = np.random.default_rng(seed)
    largest = dict.fromkeys(PAIRS, 0.0)
    for number in range(vectors):
        d = int(rng.integers(1, LARGEST + 1))
        k = int(rng.integers(1, d + 1))
        w = _draw(rng, d, number % 4)
        for name, (formula, dual) in PAIRS.items():
            value = formula(w, k)
            largest[name] = max(largest[name], abs(value - dual(w, k)) / max(value, np.finfo(float).tiny))
    return largest


def example_values() -> dict[str, dict[str, float]]:
    """Return both values of each regulariser for `EXAMPLE`."""
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
