"""Dual coordinate ascent for a few weighted hinges (kernel of `stability`)."""

import numpy as np
from numba import njit


@njit(cache=True)
def minimize_hinges(directions, margin, weights, regularization, tol, sweeps=1_000_000):
    """Minimize ``sum_p weights_p max(0, margin_p - directions_p w) + regularization ||w||^2``.

    Each dual variable in turn is set to its optimum between 0 and ``weights_p``. Returns ``w`` and the
    duality gap at ``w``.
    """
    count, dimension = directions.shape
    alpha = np.zeros(count)
    w = np.zeros(dimension)
    gap = np.inf
    for sweep in range(sweeps):
        for p in range(count):
            curvature = 0.0
            slope = margin[p]
            for k in range(dimension):
                curvature += directions[p, k] ** 2
                slope -= directions[p, k] * w[k]
            curvature /= 2 * regularization
            optimum = alpha[p] + slope / curvature if curvature > 0 else np.inf
            moved = min(max(optimum, 0.0), weights[p])
            for k in range(dimension):
                w[k] += (moved - alpha[p]) * directions[p, k] / (2 * regularization)
            alpha[p] = moved
        if sweep % 10 == 0:
            gap = 0.0
            for p in range(count):
                slack = margin[p]
                for k in range(dimension):
                    slack -= directions[p, k] * w[k]
                gap += weights[p] * max(slack, 0.0) - alpha[p] * slack
            if gap <= tol:
                break
    return w, gap
