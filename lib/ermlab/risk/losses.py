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
    return np.maximum(delta - difference, 0.0)


def slack_rescaled_hinge(difference: ArrayLike, delta: ArrayLike) -> NDArray[np.float64]:
    """Return ``delta * max(0, 1 - difference)``: the margin is 1, the price ``delta`` (thesis, eq. 2.16)."""
    difference, delta = _checked(difference, delta)
    return delta * np.maximum(1.0 - difference, 0.0)


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
    return float(max(0.0, -np.diff(values, 2).min()))


def _checked(difference: ArrayLike, delta: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    difference, delta = np.asarray(difference, dtype=float), np.asarray(delta, dtype=float)
    if delta.size and not delta.min() >= 0:
        raise ValueError(f"delta is {delta.min()}: expected a loss of at least 0")
    return difference, delta
