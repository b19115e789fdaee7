"""Lower and upper bounds of weights."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import real_array

Vector = NDArray[np.float64]
# A lower and an upper bound of the weights; None for no bound.
Bounds = tuple[ArrayLike | None, ArrayLike | None]
# Weights up to this size can be squared and summed without overflow.
LARGEST_WEIGHT = 1e145


class Box:
    """The weights ``w`` with ``lower <= w <= upper``; bounds may be infinite.

    ``bounded`` holds the coordinates with at least one finite bound, ``nearest`` the point nearest to 0.
    """

    def __init__(self, lower: Vector, upper: Vector):
        self.lower, self.upper = lower, upper
        self.bounded = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
        self.nearest = self.project(np.zeros_like(lower))

    @classmethod
    def of(cls, bounds: Bounds | None, dimension: int) -> Self | None:
        """Return a checked box; None if all bounds are infinite."""
        if bounds is None:
            return None
        if not isinstance(bounds, (tuple, list, np.ndarray)) or len(bounds) != 2:
            raise ValueError(f"bounds is {bounds!r}: expected a pair (lower, upper), or None")
        lower = _bound("the lower bound", bounds[0], -np.inf, dimension)
        upper = _bound("the upper bound", bounds[1], np.inf, dimension)
        empty = (lower > upper) | (lower == np.inf) | (upper == -np.inf)
        if empty.any():
            j = int(np.argmax(empty))
            raise ValueError(
                f"weight {j} has the lower bound {lower[j]} and the upper bound {upper[j]}: expected lower "
                "<= upper and a finite number between them"
            )
        box = cls(lower, upper)
        if (size := np.abs(box.nearest).max()) > LARGEST_WEIGHT:
            raise ValueError(
                f"a weight is bounded away from 0 by {size:.3g}, whose square would overflow: expected at "
                f"most {LARGEST_WEIGHT:.0e}"
            )
        return box if box.bounded.size else None

    def project(self, w: Vector) -> Vector:
        """Return the nearest point of the box."""
        return np.minimum(np.maximum(w, self.lower), self.upper)

    def least_terms(self, strength: Vector, slope: Vector) -> Vector:
        """Return ``min_w (strength_j / 2 w_j^2 + slope_j w_j)`` in the box, for each coordinate."""
        w = self.project(-slope / strength)
        return w * (0.5 * strength * w + slope)

    def multiples(self, w: Vector) -> tuple[float, float]:
        """Return the range of factors that keep a point of the box inside."""
        chosen = w != 0.0
        with np.errstate(over="ignore"):
            ends = np.array([self.lower[chosen], self.upper[chosen]]) / w[chosen]
        return float(ends.min(axis=0).max(initial=-np.inf)), float(ends.max(axis=0).min(initial=np.inf))

    def contains(self, w: Vector) -> bool:
        """Whether a point lies in the box."""
        return bool(((w >= self.lower) & (w <= self.upper)).all())


def _bound(name: str, bound: ArrayLike | None, default: float, dimension: int) -> Vector:
    """Return one bound as a vector."""
    array = real_array(default if bound is None else bound, name)
    try:
        array = np.array(np.broadcast_to(array, dimension))
    except ValueError:
        raise ValueError(
            f"{name} has shape {array.shape}: expected a number or one for each of {dimension} weights"
        ) from None
    if np.isnan(array).any():
        raise ValueError(f"{name} of weight {int(np.argmax(np.isnan(array)))} is NaN: expected a number")
    return array
