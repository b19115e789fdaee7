"""A cheap risk that resembles an expensive one, used to choose where to evaluate the latter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ermlab.optimize._box import Bounds
from ermlab.optimize.bundle import minimize
from ermlab.optimize.evaluation import Evaluation, Risk
from ermlab.optimize.planes import Planes
from ermlab.optimize.regularizers import L2

# The surrogate is minimized to this fraction of the gap of the expensive problem, if that were smooth.
PRECISION = 0.1
FIRST_PRECISION = 1e-3
MAX_ITER = 30
FIRST_MAX_ITER = 300


class Surrogate:
    """Proposals for `minimize` from a cheap risk, such as that of a subsample.

    The cheap risk gets a linear term that makes its slope equal to that of the expensive risk at the best
    point so far, as in distributed approximate Newton methods. If both risks have similar curvature, a
    proposal leaves a small fraction of the previous error. Planes of the cheap risk are kept from one
    proposal to the next.

    Parameters
    ----------
    risk : callable
        The cheap risk, non-negative and convex, with an attribute ``dimension``.
    regularizer : L2
        The regularizer of the expensive problem.
    bounds : pair of array-like, optional
        Lower and upper bounds of the weights, those of the expensive problem.

    Attributes
    ----------
    minimizer : ndarray
        Minimizer of the cheap risk plus the regularizer, a good first point.
    """

    def __init__(self, risk: Risk, regularizer: L2, bounds: Bounds | None = None):
        self._risk, self._regularizer, self._bounds = risk, regularizer, bounds
        origin = np.zeros(risk.dimension)
        height, slope = risk(origin)
        start = Evaluation(origin, float(height), slope)
        first = minimize(
            risk, regularizer, tol=FIRST_PRECISION, max_iter=FIRST_MAX_ITER, start=start, bounds=bounds
        )
        self.minimizer: NDArray[np.float64] = first.w
        self._planes: Planes = first.planes
        # A non-negative risk of curvature L has a squared slope of at most 2 L times its height.
        curvature = float(np.sum(slope * slope)) / (2.0 * height) if height > 0 else 0.0
        # At a point with an error e in the slope the lower bound is too low by e^2 / (2 alpha), the value too
        # high by e^2 / (2 L): the surrogate must be solved that much more precisely.
        alpha = float(np.min(regularizer.alpha))
        self._sharpness = alpha / (alpha + curvature)

    def __call__(self, best: Evaluation, gap: float) -> NDArray[np.float64] | None:
        """Return the minimizer of the surrogate fitted at ``best``; None if that is ``best`` itself."""
        height, slope = self._risk(best.w)
        linear = best.subgradient - slope
        result = minimize(
            self._risk,
            self._regularizer,
            tol=PRECISION * self._sharpness * gap / (best.risk + self._regularizer(best.w)),
            max_iter=MAX_ITER,
            planes=self._planes,
            linear=linear,
            constant=best.risk - height - float(np.sum(linear * best.w)),
            start=Evaluation(best.w, float(height), slope),
            bounds=self._bounds,
        )
        self._planes = result.planes
        return None if np.array_equal(result.w, best.w) else result.w
