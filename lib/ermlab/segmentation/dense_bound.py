"""Upper bound on the scores of a fully connected Potts model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from ermlab._utils.validation import whole_number
from ermlab.segmentation.gaussian_filter import PairwiseFilter
from ermlab.segmentation.mean_field import DenseField

Vector = NDArray[np.float64]
#: Temperature of the first step, in units of the largest sum of weights of a node.
_FIRST_TEMPERATURE = 0.2


def dense_bound(
    unary: ArrayLike,
    kernels: Sequence[PairwiseFilter],
    weights: ArrayLike | None = None,
    *,
    max_iter: int = 10,
) -> float:
    """Return an upper bound on the score of every labeling of a Potts model; parameters as in `mean_field`.

    For all ``s`` with entries in [0, 1/2], moving ``K_ij (s_i(a) - s_j(a))`` between the pairwise and the
    unary scores leaves all scores unchanged and no pairwise score positive. The sum over nodes of
    ``max_a (unary[i, a] - sum_j K_ij (s_i(a) - s_j(a)))`` is hence a bound. It is convex in ``s``, and is
    decreased by accelerated projected gradient steps on a smooth approximation. The bound is close to the
    highest score, not equal to it in general.

    Parameters
    ----------
    unary, kernels, weights
        See `mean_field`; weights must be at least 0.
    max_iter : int, default=10
        Number of steps. Without any, the bound is the sum of the highest unary scores.
    """
    field = DenseField(unary, kernels, weights, None)
    if any(weight < 0 for _, weight in field.kernels):
        raise ValueError("weights of kernels are negative: expected at least 0")
    max_iter = whole_number("max_iter", max_iter, 0)
    simple = float(np.sum(field.unary.max(axis=1)))
    mass = field.mass()
    largest = float(mass.max())
    if max_iter == 0 or not largest > 0:
        return simple

    def differences(values: Vector) -> Vector:
        """Return ``sum_j K_ij (v_i(a) - v_j(a))``."""
        if values.shape[1] == 2:  # the sum over both labels is constant in all steps
            first = mass[:, np.newaxis] * values[:, :1] - field.message(np.ascontiguousarray(values[:, :1]))
            return np.hstack([first, -first])
        return mass[:, np.newaxis] * values - field.message(np.ascontiguousarray(values))

    moved = extrapolated = np.full(field.unary.shape, 0.25)
    momentum = 1.0
    for i in range(max_iter):
        temperature = _FIRST_TEMPERATURE * largest / (i + 1)
        likely = softmax((field.unary - differences(extrapolated)) / temperature, axis=1)
        # The gradient has the Lipschitz constant largest^2 / (2 temperature), as K is semidefinite.
        step = 2.0 * temperature / largest * (differences(likely) / largest)
        before, moved = moved, np.clip(extrapolated + step, 0.0, 0.5)
        momentum, last = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0, momentum
        extrapolated = moved + (last - 1.0) / momentum * (moved - before)
    return min(simple, float(np.sum((field.unary - differences(moved)).max(axis=1))))
