"""Change of variables for problems with one L2 strength per coordinate, to make all strengths 1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ermlab.optimize.evaluation import Evaluation, Proposer, Risk
from ermlab.optimize.planes import Planes

Vector = NDArray[np.float64]


class Units:
    """The change of variables ``u = unit * w``; ``unit = sqrt(lam)`` makes all strengths 1.

    Values, bounds and the offsets of planes are the same for ``u`` and ``w``; slopes are divided by ``unit``.
    """

    def __init__(self, unit: Vector):
        self._unit = unit

    def weights(self, u: Vector) -> Vector:
        """Return ``w``."""
        return u / self._unit

    def variables(self, w: Vector) -> Vector:
        """Return ``u``."""
        return w * self._unit

    def slopes(self, slopes_of_w: Vector) -> Vector:
        """Return slopes with respect to ``u``, one vector or one per row."""
        return slopes_of_w / self._unit

    def risk(self, risk: Risk) -> Risk:
        """Return the risk as a function of ``u``."""
        return _RiskInUnits(risk, self)

    def planes(self, planes: Planes) -> Planes:
        """Return planes below the risk of ``u``."""
        return Planes.of(self.slopes(planes.A), planes.b, planes.part, planes.n_parts)

    def evaluation(self, evaluation: Evaluation) -> Evaluation:
        """Return an evaluation of the risk of ``w`` as one of the risk of ``u``."""
        return replace(
            evaluation,
            w=self.variables(evaluation.w),
            subgradient=self.slopes(evaluation.subgradient),
            parts=tuple((value, self.slopes(slope)) for value, slope in evaluation.parts),
        )

    def proposer(self, propose: Proposer | None) -> Proposer | None:
        """Return a proposer of points ``u``."""
        if propose is None:
            return None

        def propose_variables(best: Evaluation, gap: float) -> Vector | None:
            w = propose(self.inverse().evaluation(best), gap)
            return None if w is None else self.variables(w)

        return propose_variables

    def inverse(self) -> Units:
        """Return the change of variables from ``u`` to ``w``."""
        return Units(1.0 / self._unit)


class _RiskInUnits:
    """A risk, or mean over samples, as a function of ``u``."""

    def __init__(self, risk: Risk, units: Units):
        self._risk, self._units = risk, units
        self.__name__ = getattr(risk, "__name__", None) or type(risk).__name__
        for attribute in ("dimension", "n_parts", "grows"):
            if hasattr(risk, attribute):
                setattr(self, attribute, getattr(risk, attribute))
        if hasattr(risk, "rounding"):
            self.rounding = lambda u: risk.rounding(units.weights(u))
        if hasattr(risk, "known"):
            self.known = lambda u: self._in_units(risk.known(units.weights(u)))

    def __len__(self) -> int:
        return len(self._risk)

    def __call__(self, u: Vector) -> tuple[float, Vector]:
        return self._in_units(self._risk(self._units.weights(u)))

    def plane(self, i: int, u: Vector) -> tuple[Vector, float]:
        a, b = self._risk.plane(i, self._units.weights(u))
        return self._units.slopes(a), b

    def _in_units(self, found: tuple[float, Vector]) -> tuple[float, Vector]:
        value, slope = found
        return value, self._units.slopes(np.asarray(slope, dtype=np.float64))
