"""Regularizers of many weight vectors at once: values and proximal operators, one vector per row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float64]

#: Order of the k-support norm.
K = 2
#: Share of the L1 norm in the elastic net.
L1_RATIO = 0.5


@dataclass(frozen=True)
class Regularizer:
    """A convex regularizer, the sum of a norm and a squared norm, either of which may be 0.

    ``prox(v, s)`` is the minimizer of ``1/2 |u - v|^2 + s Omega(u)``.
    """

    norm: Callable[[Vectors], Vectors]
    squared: Callable[[Vectors], Vectors]
    prox: Callable[[Vectors, Vectors], Vectors]

    def value(self, w: Vectors) -> Vectors:
        """Return ``Omega`` of each row."""
        return self.norm(w) + self.squared(w)

    def to_level(self, directions: Vectors, level: float) -> Vectors:
        """Return the multiples of directions, none of them 0, at which the value is ``level``."""
        a, b = self.norm(directions), self.squared(directions)
        return directions * (2 * level / (a + np.sqrt(a**2 + 4 * b * level)))[:, None]


def support_shares(w: Vectors, k: int, alpha: Vectors | float) -> Vectors:
    """Return ``clip(s |w_i| - alpha, 0, 1)`` with the smallest ``s`` such that each row sums to ``k``.

    The k-support norm and its proximal operator are functions of these shares (`ermlab.sparse`). The sum is
    piecewise linear in ``s``, so that its values at the ends of all pieces determine the solution. All shares
    of fewer than ``k`` non-zeros are 1.
    """
    w = np.abs(w)
    alpha = np.broadcast_to(alpha, len(w))[:, None]
    inverse = np.divide(1.0, w, out=np.zeros_like(w), where=w > 0)
    ends = np.sort(np.concatenate([alpha * inverse, (1 + alpha) * inverse], axis=1), axis=1)
    sums = np.clip(ends[:, :, None] * w[:, None] - alpha[:, :, None], 0, 1).sum(axis=2)
    right = np.argmax(sums >= k - 1e-12, axis=1)
    right[sums[:, -1] < k - 1e-12] = ends.shape[1] - 1
    left = np.maximum(right - 1, 0)
    rows = np.arange(len(w))
    rise, run = sums[rows, right] - sums[rows, left], ends[rows, right] - ends[rows, left]
    part = np.divide(k - sums[rows, left], rise, out=np.ones_like(rise), where=rise > 0)
    s = ends[rows, left] + np.clip(part, 0, 1) * run
    return np.clip(s[:, None] * w - alpha, 0, 1)


def count_nonzero(w: Vectors) -> Vectors:
    """Return the L0 pseudo-norm of each row (thesis, eq. 2.10)."""
    return np.count_nonzero(w, axis=1).astype(np.float64)


def largest_on_supports(u: Vectors, k: int) -> Vectors:
    """Return the largest product of each row with a vector of ``k`` non-zeros and length 1."""
    lengths = [np.sqrt(np.sum(u[:, list(s)] ** 2, axis=1)) for s in supports(u.shape[1], k)]
    return np.max(lengths, axis=0)


def supports(d: int, k: int) -> Sequence[tuple[int, ...]]:
    """Return all sets of ``k`` of ``d`` coordinates."""
    return list(combinations(range(d), k))


def _l1(w: Vectors) -> Vectors:
    return np.abs(w).sum(axis=1)


def _half_square(w: Vectors) -> Vectors:
    return 0.5 * np.sum(w**2, axis=1)


def _none(w: Vectors) -> Vectors:
    return np.zeros(len(w))


def _soft(v: Vectors, threshold: Vectors) -> Vectors:
    return np.sign(v) * np.maximum(np.abs(v) - threshold[:, None], 0.0)


def _half_square_of_k_support(w: Vectors) -> Vectors:
    shares = support_shares(w, K, 0.0)
    return 0.5 * np.sum(np.divide(w**2, shares, out=np.zeros_like(w), where=shares > 0), axis=1)


def _prox_of_k_support(v: Vectors, s: Vectors) -> Vectors:
    shares = support_shares(v, K, s)
    return v * shares / (shares + s[:, None])


CONVEX = {
    "l1": Regularizer(_l1, _none, _soft),
    "l2": Regularizer(_none, _half_square, lambda v, s: v / (1 + s[:, None])),
    "elastic_net": Regularizer(
        lambda w: L1_RATIO * _l1(w),
        lambda w: (1 - L1_RATIO) * _half_square(w),
        lambda v, s: _soft(v, L1_RATIO * s) / (1 + (1 - L1_RATIO) * s[:, None]),
    ),
    "k_support": Regularizer(_none, _half_square_of_k_support, _prox_of_k_support),
}
