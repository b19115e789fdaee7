"""Kernels of `ermlab.structured.jkse`: dual ascent for a linear SVM with positive samples only."""

import numpy as np
from numba import njit


@njit(cache=True)
def ascend(starts, columns, values, squares, order, C, alpha, v):
    """Move each sample of ``order`` to its optimum in ``[0, C]``, keeping ``v = sum_i alpha_i phi_i``."""
    for i in order:
        slack = 1.0
        for k in range(starts[i], starts[i + 1]):
            slack -= values[k] * v[columns[k]]
        optimum = alpha[i] + slack / squares[i] if squares[i] > 0 else np.inf
        change = min(max(optimum, 0.0), C) - alpha[i]
        if change != 0:
            alpha[i] += change
            for k in range(starts[i], starts[i + 1]):
                v[columns[k]] += change * values[k]


@njit(cache=True)
def primal_and_dual(starts, columns, values, C, alpha, v):
    """Return ``1/2 |v|^2 + C sum_i max(0, 1 - <v, phi_i>)`` and ``sum_i alpha_i - 1/2 |v|^2``."""
    regularizer = 0.0
    for value in v:
        regularizer += 0.5 * value * value
    slacks, total = 0.0, 0.0
    for i in range(alpha.size):
        slack = 1.0
        for k in range(starts[i], starts[i + 1]):
            slack -= values[k] * v[columns[k]]
        slacks += max(slack, 0.0)
        total += alpha[i]
    return regularizer + C * slacks, total - regularizer
