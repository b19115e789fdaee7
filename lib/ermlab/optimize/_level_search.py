"""Search for the proximal weight whose proximal point lies on a level set of the model."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
# Distance of the model value from the level at which the search ends, as a fraction of the gap.
LEVEL_BAND = 0.1
LEVEL_TRIALS = 12


def search_level(
    proximal_point: Callable[[float, Vector], tuple[Vector, float]],
    alpha: Vector,
    rho: float,
    target: float,
    gap: float,
    least: float = 0.0,
    most: float = math.inf,
) -> tuple[Vector, float]:
    """Return combination of planes and weight of a proximal point where the model is about ``target``.

    The projection onto a level set is the proximal point for the right weight ``rho``, which changes little
    from one call to the next, so that one or two trials find it.

    Parameters
    ----------
    proximal_point : callable
        Maps a weight and a starting combination of planes to the combination of planes that gives the
        proximal point, and the value of the model there.
    alpha, rho : ndarray and float
        Initial combination and weight.
    target, gap : float
        Value to find, up to `LEVEL_BAND` times ``gap``.
    least, most : float
        Range of weights that make a difference.
    """
    low, high = 0.0, math.inf
    for _ in range(LEVEL_TRIALS):
        alpha, value = proximal_point(rho, alpha)
        used = rho
        if value > target + LEVEL_BAND * gap:
            high, rho = rho, (rho / 4 if low == 0.0 else math.sqrt(low * rho))
        elif value < target - LEVEL_BAND * gap:
            low, rho = rho, (rho * 4 if high == math.inf else math.sqrt(rho * high))
        else:
            break
        rho = min(max(rho, least), most)
    return alpha, used
