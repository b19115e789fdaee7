"""Checks that values and subgradients of a risk do not contradict convexity."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ermlab.optimize.evaluation import Evaluation

# Relative to the terms of a sum. More than rounding, also for a risk in single precision or with a most
# violated output that is searched numerically.
SLACK = 1e-4
LIKELY_CAUSES = (
    "Likely causes: a wrong sign, a missing factor such as 1/n, or an output that is not the most violated. "
    "ermlab.optimize.check_risk(risk, w) compares subgradients with differences."
)


def check_tangents(risk: Callable, first: Evaluation, second: Evaluation) -> None:
    """Raise a ValueError if the tangent plane at one point lies above the risk at the other."""
    for here, there in ((first, second), (second, first)):
        there_values = [value for value, _ in there.parts] or [there.risk]
        for (a, b), value in zip(here.planes, there_values, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):  # numbers that overflow are no contradiction
                products = a * there.w
                excess = float(np.sum(products)) + b - value
            if not excess > here.rounding + there.rounding:
                continue
            allowed = SLACK * (float(np.sum(np.abs(products))) + abs(b) + abs(value))
            if excess > allowed + here.rounding + there.rounding:
                raise ValueError(
                    f"{name_of(risk)} is not convex, or its subgradient is wrong: the tangent plane at one "
                    f"point lies {excess:.3g} above its value {value:.6g} at another. {LIKELY_CAUSES}"
                )


def check_bound(risk: Callable, lower_bound: float, value: float, scale: float) -> None:
    """Raise a ValueError if a lower bound lies above a value; ``scale`` is the size of the terms of both."""
    if lower_bound - value > SLACK * scale:
        raise ValueError(
            f"the lower bound {lower_bound:.6g} lies above the value {value:.6g} of the objective: "
            f"{name_of(risk)} is not convex, or its subgradient is wrong. {LIKELY_CAUSES}"
        )


def name_of(risk: Callable) -> str:
    """Return the name of a risk for messages: that of its function or class."""
    return f"the risk `{getattr(risk, '__name__', None) or type(risk).__name__}`"
