"""A cheap risk that resembles a dear one, to say where the dear one is worth a call."""

import numpy as np
from numpy.typing import NDArray

from ermlab.optimize.bundle import minimize
from ermlab.optimize.evaluation import Evaluation, Risk
from ermlab.optimize.planes import Planes
from ermlab.optimize.regularizers import L2

# The surrogate is minimized until its error is this share of the gap of the dear problem, were that smooth.
PRECISION = 0.1
FIRST_PRECISION = 1e-3
MAX_CALLS = 30
FIRST_CALLS = 300


class Surrogate:
    """Proposals for `minimize` from a cheap risk, as that of a subsample.

    The cheap risk gets a linear term that makes its slope that of the dear risk at the best point so far, as
    in distributed approximate Newton methods. Where both risks curve alike, a proposal leaves a small share
    of the error of the one before: that by which the curvatures differ. Planes of the cheap risk are kept
    from one proposal to the next.

    Parameters
    ----------
    risk
        The cheap risk, non-negative and convex, with the attribute ``dimension``.
    regularizer
        That of the dear problem.
    """

    def __init__(self, risk: Risk, regularizer: L2):
        self._risk, self._regularizer = risk, regularizer
        origin = np.zeros(risk.dimension)
        height, slope = risk(origin)
        first = minimize(
            risk,
            regularizer,
            tol=FIRST_PRECISION,
            max_iter=FIRST_CALLS,
            start=Evaluation(origin, float(height), slope),
        )
        self.minimizer: NDArray[np.float64] = first.w
        self._planes: Planes = first.planes
        # A non-negative risk of curvature L has a squared slope of at most 2 L times its height.
        curvature = float(np.sum(slope * slope)) / (2.0 * height) if height > 0 else 0.0
        # The lower bound at a point with an error e in the slope is too low by e^2 / (2 lam), the value there
        # too high by e^2 / (2 L): the surrogate must be solved that much better than the dear problem.
        lam = float(np.min(regularizer.alpha))
        self._sharpness = lam / (lam + curvature)

    def __call__(self, best: Evaluation, gap: float) -> NDArray[np.float64] | None:
        """Return the minimizer of the surrogate fitted at ``best``; None if that is ``best`` itself."""
        height, slope = self._risk(best.w)
        linear = best.subgradient - slope
        result = minimize(
            self._risk,
            self._regularizer,
            tol=PRECISION * self._sharpness * gap / (best.risk + self._regularizer(best.w)),
            max_iter=MAX_CALLS,
            planes=self._planes,
            linear=linear,
            constant=best.risk - height - float(np.sum(linear * best.w)),
            start=Evaluation(best.w, float(height), slope),
        )
        self._planes = result.planes
        return None if np.array_equal(result.w, best.w) else result.w
