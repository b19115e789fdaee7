"""Check of user-defined risks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ermlab.optimize._consistency import LIKELY_CAUSES, check_tangents, name_of
from ermlab.optimize.evaluation import Evaluation, Risk, evaluate

# Distances of the points that are compared with ``w``, relative to its norm, or to 1 if that is larger.
DISTANCES = (1e-4, 1e-2, 1.0)
# Relative difference up to which differences and slopes agree.
AGREEMENT = 0.1


def check_risk(risk: Risk, w: ArrayLike, *, n_directions: int = 10, random_state: int | None = 0) -> None:
    """Raise a ValueError if the values of a risk do not agree with its subgradients.

    A convex risk lies above each of its tangent planes. This is tested at ``w`` and at points around it, in
    random directions and along the subgradient, for each part of a risk that has parts.

    Parameters
    ----------
    risk : callable
        A risk for `ermlab.optimize.minimize`: ``risk(w) -> (value, subgradient)``.
    w : array-like
        Where to test it. Small random entries are better than 0, where many risks have a kink.
    n_directions : int, default=10
        Number of random directions.
    random_state : int or None, default=0
        Seed of the directions.

    Examples
    --------
    >>> import numpy as np
    >>> from ermlab.optimize import check_risk
    >>> check_risk(lambda w: (float(w @ w), 2 * w), np.ones(3))
    >>> check_risk(lambda w: (float(w @ w), -2 * w), np.ones(3))
    Traceback (most recent call last):
    ...
    ValueError: the risk `<lambda>` rises where its subgradient falls: ...
    """
    w = np.array(w, dtype=np.float64)
    if w.ndim != 1 or w.size == 0 or not np.isfinite(w).all():
        raise ValueError(f"w has shape {w.shape}: expected a vector of finite numbers")
    if n_directions < 1:
        raise ValueError(f"n_directions is {n_directions}: expected at least 1")
    before = w.copy()
    here = evaluate(risk, w, None, name_of(risk))
    if not np.array_equal(w, before):
        raise ValueError(f"{name_of(risk)} modifies w: expected it to work on a copy")
    again = evaluate(risk, w, None, name_of(risk))
    if again.risk != here.risk or not np.array_equal(again.subgradient, here.subgradient):
        raise ValueError(f"{name_of(risk)} returns different values for the same w: expected a function of w")
    directions = np.random.default_rng(random_state).standard_normal((n_directions, w.size))
    if here.subgradient.any():
        directions = np.vstack([here.subgradient, -here.subgradient, directions])
    directions /= np.sqrt(np.sum(directions * directions, axis=1, keepdims=True))
    size = max(float(np.sqrt(np.sum(w * w))), 1.0)
    _check_factor(risk, here, DISTANCES[0] * size * directions)
    for distance in DISTANCES:
        for direction in directions:
            there = evaluate(risk, w + distance * size * direction, None, name_of(risk))
            check_tangents(risk, here, there)


def _check_factor(risk: Risk, here: Evaluation, steps: np.ndarray) -> None:
    """Raise a ValueError if all differences are the same multiple, other than 1, of the slopes."""
    slopes = steps @ here.subgradient
    differences = np.array(
        [
            evaluate(risk, here.w + step, None).risk - evaluate(risk, here.w - step, None).risk
            for step in steps
        ]
    )
    norm = float(np.sum(slopes * slopes))
    if norm == 0.0:
        return
    factor = float(np.sum(0.5 * differences * slopes)) / norm
    misfit = np.abs(0.5 * differences - factor * slopes)
    proportional = float(misfit.max()) <= AGREEMENT * float(np.abs(factor * slopes).max())
    if not proportional or abs(factor - 1.0) <= AGREEMENT:
        return
    if factor < 0:
        raise ValueError(f"{name_of(risk)} rises where its subgradient falls: wrong sign. {LIKELY_CAUSES}")
    raise ValueError(
        f"the subgradient of {name_of(risk)} is {1.0 / factor:.4g} times as long as expected from the "
        f"differences of its values. {LIKELY_CAUSES}"
    )
