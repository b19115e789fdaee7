"""Values and subgradients of a risk at a point, checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
#: A function that returns the value of a risk at ``w`` and a subgradient there.
#: A risk with an attribute ``n_parts`` returns one value and one row of subgradients per part.
Risk = Callable[[Vector], tuple[float, Vector]]

# Error of a risk and of its products with weights, relative to the sum of the absolute values of the terms.
ROUNDING = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Evaluation:
    """The risk at a point and a subgradient; ``parts`` holds both for each part of a risk that has parts."""

    w: Vector
    risk: float
    subgradient: Vector
    parts: tuple[tuple[float, Vector], ...] = ()
    rounding: float = 0.0  #: error of the value beyond what its slopes imply, if the risk reports it

    @property
    def magnitude(self) -> float:
        """The size of the terms of the risk, to which rounding errors are relative."""
        return abs(self.risk) + float(np.sum(np.abs(self.subgradient * self.w)))

    @cached_property
    def planes(self) -> tuple[tuple[Vector, float], ...]:
        """Slope and offset of the tangent plane of each part.

        The offset is lowered by its possible rounding error, which is large if ``w`` is far from 0: a plane
        above the risk would make the lower bound of the optimum wrong.
        """
        planes = []
        with np.errstate(over="ignore", invalid="ignore"):  # `Planes.add` rejects NaN and infinity
            for value, slope in self.parts or ((self.risk, self.subgradient),):
                products = slope * self.w
                rounding = ROUNDING * (abs(value) + float(np.sum(np.abs(products))))
                planes.append((slope, value - float(np.sum(products)) - rounding - self.rounding))
        return tuple(planes)


#: A function of the best evaluation so far and the gap: the next point, or None without a proposal.
Proposer = Callable[[Evaluation, float], Vector | None]


def part_count(risk: Risk) -> int:
    """Return the number of parts of a risk: its attribute ``n_parts``, else 1."""
    return getattr(risk, "n_parts", 1)


def evaluate_again(risk: Risk, w: Vector) -> Evaluation:
    """Evaluate a risk that grows at an earlier point, by its method ``known`` if it has one."""
    return _checked(risk, w, getattr(risk, "known", risk)(w), None, "the risk")


def evaluate(risk: Risk, w: Vector, lower_bound: float | None, name: str = "the risk") -> Evaluation:
    """Call the risk and check what it returns; no part may be less than ``lower_bound``."""
    return _checked(risk, w, risk(w), lower_bound, name)


def _checked(
    risk: Risk, w: Vector, found: tuple[float, Vector], lower_bound: float | None, name: str
) -> Evaluation:
    value, subgradient = found
    has_parts = hasattr(risk, "n_parts")
    values = np.asarray(value if has_parts else float(value), dtype=np.float64)
    slopes = np.asarray(subgradient, dtype=np.float64)
    expected = (risk.n_parts,) if has_parts else ()
    for what, array, shape in (("value", values, expected), ("subgradient", slopes, (*expected, *w.shape))):
        if array.shape != shape:
            raise ValueError(f"{name} returned a {what} of shape {array.shape}: expected {shape}")
    if not (np.isfinite(values).all() and np.isfinite(slopes).all()):
        raise ValueError(f"{name} returned {value} and a subgradient at w: found NaN or infinity in them")
    if lower_bound is not None and values.min() < lower_bound:
        raise ValueError(
            f"{name} returned {values.min()}, less than risk_lower_bound = {lower_bound}: "
            "give a true lower bound, or None"
        )
    if not has_parts:
        rounding = float(risk.rounding(w)) if hasattr(risk, "rounding") else 0.0
        return Evaluation(w, float(values), slopes, rounding=rounding)
    parts = tuple((float(part), slope) for part, slope in zip(values, slopes, strict=True))
    return Evaluation(w, float(values.sum()), slopes.sum(axis=0), parts)
