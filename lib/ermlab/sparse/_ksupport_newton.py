"""Newton step of a linear model with the squared k-support norm, on a quadratic piece of the norm.

Near ``w`` the squared norm is the sum of squares of the largest weights plus, for the other non-zero ones,
the square of their absolute sum divided by a number (thesis, eq. 4.13). As long as signs and sets do not
change, the objective is smooth, and the step to its minimum costs one Gram matrix of the samples for any
number of weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from ermlab.sparse._ksupport_losses import Loss
from ermlab.sparse._ksupport_numba import threshold

Vector = NDArray[np.float64]


def newton_direction(
    X: NDArray[np.float64], loss: Loss, k: int, lam: float, w: Vector, z: Vector, damping: float
) -> Vector | None:
    """Return the step to the minimum of the quadratic model at ``w`` with predictions ``z``, or None.

    It is None if the model is not positive definite due to rounding. ``damping`` adds curvature in all
    directions, relative to the mean curvature of the risk, as the absolute sum has none in most of them.
    Weights of 0 are not changed.
    """
    used = np.flatnonzero(w)
    X, v = X[:, used], w[used]
    alpha, curvatures = loss.best(z)[1], loss.curvatures(z)
    largest = np.abs(v) >= threshold(w, k, 0.0)
    shared = np.where(largest, 0.0, np.sign(v)) / np.sqrt(max(k - np.count_nonzero(largest), 1))
    gradient = alpha @ X + lam * (np.where(largest, v, 0.0) + shared * (shared @ v))

    # The Hessian is diag(q) + Y'Y: by Woodbury's identity the system has as many dimensions as Y has rows.
    Y = np.sqrt(curvatures)[:, None] * X
    total = curvatures.sum()
    if loss.fit_intercept and total > 0:
        u = np.sqrt(curvatures / total)
        Y -= np.outer(u, u @ Y)
    q = np.where(largest, lam, 0.0) + damping * max(np.einsum("ij,ij->", Y, Y) / max(v.size, 1), lam)
    Y = np.vstack([Y, np.sqrt(lam) * shared])
    with np.errstate(over="ignore", invalid="ignore"):
        inner = (Y / q) @ Y.T
        inner[np.diag_indices_from(inner)] += 1.0
        step = gradient / q
        try:
            step -= (cho_solve(cho_factor(inner, lower=True), Y @ step) @ Y) / q
        except ValueError:  # not positive definite, or not finite
            return None

    direction = np.zeros_like(w)
    direction[used] = -step
    return direction
