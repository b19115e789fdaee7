"""Losses of one score difference: the scaled step and its two convex upper bounds.

The *score difference* is the score of the right output less that of a wrong one,
``<w, phi(x, y)> - <w, phi(x, y')>``; ``delta`` is what predicting the wrong one costs.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Rescaling = Literal["slack", "margin"]


def step_loss(difference: ArrayLike, delta: ArrayLike) -> NDArray[np.float64]:
    """Return ``delta`` where the wrong output scores higher, else 0 (thesis, section 2.3.1)."""
    difference, delta = _checked(difference, delta)
    return np.where(difference < 0, delta, 0.0)


def margin_rescaled_hinge(difference: ArrayLike, delta: ArrayLike) -> NDArray[np.float64]:
    """Return ``max(0, delta - difference)``: the required margin is ``delta`` (thesis, eq. 2.14)."""
    difference, delta = _checked(difference, delta)
    with np.errstate(over="ignore"):  # checked next
        return _finite(np.maximum(delta - difference, 0.0))


def slack_rescaled_hinge(difference: ArrayLike, delta: ArrayLike) -> NDArray[np.float64]:
    """Return ``delta * max(0, 1 - difference)``: the margin is 1, the price ``delta`` (thesis, eq. 2.16)."""
    difference, delta = _checked(difference, delta)
    with np.errstate(over="ignore"):  # checked next
        return _finite(delta * np.maximum(1.0 - difference, 0.0))


def rescaled_hinge(difference: ArrayLike, delta: ArrayLike, rescaling: Rescaling) -> NDArray[np.float64]:
    """Return the hinge loss of the named rescaling."""
    if rescaling == "slack":
        return slack_rescaled_hinge(difference, delta)
    if rescaling == "margin":
        return margin_rescaled_hinge(difference, delta)
    raise ValueError(f"rescaling is {rescaling!r}: expected 'slack' or 'margin'")


def convexity_violation(values: ArrayLike) -> float:
    """Return how far equally spaced ``values`` are from convex: the largest concave second difference."""
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or len(values) < 3:
        raise ValueError(f"values has shape {values.shape}: expected one row of at least 3 numbers")
    with np.errstate(over="ignore", invalid="ignore"):  # checked next
        bends = np.diff(values, 2)
    if not np.isfinite(bends).all():
        raise ValueError(
            "values hold NaN or infinity, or their differences overflow: expected finite numbers"
        )
    return float(max(0.0, -bends.min()))


def _checked(difference: ArrayLike, delta: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    difference, delta = np.asarray(difference, dtype=float), np.asarray(delta, dtype=float)
    if delta.size and not 0 <= delta.min() <= delta.max() < np.inf:
        wrong = delta.min() if not delta.min() >= 0 else delta.max()
        raise ValueError(f"delta is {wrong}: expected a finite loss of at least 0")
    if not np.isfinite(difference).all():
        raise ValueError("the difference of scores holds NaN or infinity: expected finite numbers")
    return difference, delta


def _finite(losses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the losses, or raise a ValueError if one overflowed."""
    if not np.isfinite(losses).all():
        raise ValueError("a loss overflows: expected smaller differences of scores or a smaller delta")
    return losses
