"""Losses of one score difference: the scaled step and its two convex upper bounds.

The *score difference* is the score of the true output minus that of a wrong one,
``<w, phi(x, y)> - <w, phi(x, y')>``; ``delta`` is the loss of predicting the wrong one.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import check_choice, require_finite

Vector = NDArray[np.float64]
Rescaling = Literal["slack", "margin"]
RESCALINGS = ("slack", "margin")


def step_loss(difference: ArrayLike, delta: ArrayLike) -> Vector:
    """Return ``delta`` where the wrong output scores higher, else 0 (thesis, section 2.3.1)."""
    difference, delta = _checked(difference, delta)
    return np.where(difference < 0, delta, 0.0)


def margin_rescaled_hinge(difference: ArrayLike, delta: ArrayLike) -> Vector:
    """Return ``max(0, delta - difference)``: the required margin is ``delta`` (thesis, eq. 2.14)."""
    difference, delta = _checked(difference, delta)
    with np.errstate(over="ignore"):  # checked next
        return _finite(np.maximum(delta - difference, 0.0))


def slack_rescaled_hinge(difference: ArrayLike, delta: ArrayLike) -> Vector:
    """Return ``delta * max(0, 1 - difference)``: the margin is 1, scaled by ``delta`` (thesis, eq. 2.16)."""
    difference, delta = _checked(difference, delta)
    with np.errstate(over="ignore"):  # checked next
        return _finite(delta * np.maximum(1.0 - difference, 0.0))


def rescaled_hinge(difference: ArrayLike, delta: ArrayLike, rescaling: Rescaling) -> Vector:
    """Return the hinge loss of the named rescaling."""
    check_choice("rescaling", rescaling, RESCALINGS)
    return (slack_rescaled_hinge if rescaling == "slack" else margin_rescaled_hinge)(difference, delta)


def convexity_violation(values: ArrayLike) -> float:
    """Return the largest concave second difference of equally spaced ``values``; 0 if they are convex."""
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or len(values) < 3:
        raise ValueError(f"values has shape {values.shape}: expected one row of at least 3 numbers")
    with np.errstate(over="ignore", invalid="ignore"):  # checked next
        bends = np.diff(values, 2)
    require_finite(bends, "values or their differences are NaN or infinite: expected finite numbers")
    return float(max(0.0, -bends.min()))


def _checked(difference: ArrayLike, delta: ArrayLike) -> tuple[Vector, Vector]:
    difference, delta = np.asarray(difference, dtype=float), np.asarray(delta, dtype=float)
    if delta.size and not 0 <= delta.min() <= delta.max() < np.inf:
        wrong = delta.min() if not delta.min() >= 0 else delta.max()
        raise ValueError(f"delta is {wrong}: expected a finite loss of at least 0")
    message = "the difference of scores holds NaN or infinity: expected finite numbers"
    return require_finite(difference, message), delta


def _finite(losses: Vector) -> Vector:
    return require_finite(losses, "a loss overflows: expected smaller score differences or a smaller delta")
