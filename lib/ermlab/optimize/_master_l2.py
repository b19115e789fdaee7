"""Master problem with L2 regularization: dual QPs on the simplex, or on one simplex per part of the risk.

With planes ``(A, b)``, linear term ``v`` and ``alpha`` in the simplex, the dual function
``b' alpha - |A' alpha + v|^2 / (2 lam)`` (cheap data, eq. 1.7) is a lower bound of the objective for every
``alpha``, so the QP need not be solved exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ermlab.optimize._level_search import search_level
from ermlab.optimize._steep_planes import EPSILON, solve_steep, steep_level_point
from ermlab.optimize.planes import Planes
from ermlab.optimize.qp import solve_simplex_qp
from ermlab.optimize.regularizers import L2

Vector = NDArray[np.float64]
# Planes count as steep if the error of the master problem exceeds this multiple of the required precision.
IMPRECISE = 10.0
# With steep planes the master problem is not solved more precisely than this fraction of the objective.
STEEP_PRECISION = 1e-8
# Proximal weights beyond this multiple of lam, or below its inverse, make no difference.
PROX_RANGE = 1e8
# Weights up to this size can be squared and summed without overflow.
LARGEST_WEIGHT = 1e145


class L2Master:
    """Minimize ``lam/2 |w|^2 + <v, w> + max_i (<a_i, w> + b_i)``, and project onto its level sets.

    If the risk has parts, the maxima of all parts are summed.
    """

    default_level = 0.4

    def __init__(self, regularizer: L2, linear: Vector, planes: Planes):
        self._lam, self._v, self._planes = regularizer.alpha, linear, planes
        self._Av = planes.products(linear)
        self._alpha = np.zeros(len(planes))
        self._level_alpha = np.zeros(len(planes))
        self._prox = self._lam
        self._steep = False
        self._check_weights(linear, "the linear term")
        self._check_weights(planes.A, "a plane")

    def _check_weights(self, slope: Vector, name: str) -> None:
        """Raise a ValueError if the weights that balance a slope are too large to be squared."""
        steepest = float(np.max(np.abs(slope), initial=0.0))
        if steepest > LARGEST_WEIGHT * self._lam:
            raise ValueError(
                f"{name} has a slope of {steepest:.3g}, too steep for the strength {self._lam:.3g} of the "
                "regularization: scale the features, for example with sklearn.preprocessing.StandardScaler, "
                "or regularize more strongly"
            )

    def plane_added(self) -> None:
        """Make room for the newest plane."""
        newest = self._planes.A[-1]
        self._check_weights(newest, "a plane")
        self._Av = np.append(self._Av, np.sum(newest * self._v))
        self._alpha = np.append(self._alpha, 0.0)
        self._level_alpha = np.append(self._level_alpha, 0.0)

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Drop all planes except the ``chosen`` ones."""
        self._Av, self._alpha = self._Av[chosen], self._alpha[chosen]
        self._level_alpha = self._level_alpha[chosen]

    @property
    def support(self) -> NDArray[np.bool_]:
        """The planes that support the last solutions."""
        return (self._alpha > 0) | (self._level_alpha > 0)

    def solve(self, tol: float, scale: float = 0.0) -> tuple[float, Vector]:
        """Return a lower bound within ``tol`` of the minimum of the model, and the minimizer.

        ``scale`` is the size of the objective, to which rounding errors are relative.
        """
        lam, v, planes = self._lam, self._v, self._planes
        attainable = max(tol, STEEP_PRECISION * scale)
        if self._steep:
            bound, w, self._alpha = solve_steep(lam, v, planes, self._alpha, attainable)
            return bound, w
        # The QP times lam, so that the Gram matrix is used unchanged.
        self._alpha = self._weights(lam * planes.b - self._Av, self._alpha, tol * lam)
        w = -(planes.combine(self._alpha) + v) / lam
        bound = float(np.sum(planes.b * self._alpha)) - 0.5 * lam * float(np.sum(w * w))
        if self._loses_digits(bound, w, attainable):
            self._steep, self._prox = True, 1.0
            return self.solve(tol, scale)
        return bound, w

    def level_point(self, center: Vector, target: float, gap: float, tol: float) -> Vector:
        """Return the point nearest to ``center`` where the model is about ``target``."""
        lam, planes, v = self._lam, self._planes, self._v
        if self._steep:
            w, self._level_alpha, self._prox = steep_level_point(
                lam, v, planes, self._level_alpha, center, target, gap, tol, self._prox
            )
            return w
        Ac = planes.products(center)

        def proximal_point(rho: float, alpha: NDArray) -> tuple[Vector, float]:
            linear = (lam + rho) * planes.b + rho * Ac - self._Av
            alpha = self._weights(linear, alpha, tol * (lam + rho))
            return alpha, self._model_value(alpha, rho, center, Ac)

        self._level_alpha, self._prox = search_level(
            proximal_point, self._level_alpha, self._prox, target, gap, lam / PROX_RANGE, lam * PROX_RANGE
        )
        return (self._prox * center - v - planes.combine(self._level_alpha)) / (lam + self._prox)

    def _loses_digits(self, bound: float, w: NDArray, tol: float) -> bool:
        """Whether rounding in the Gram matrix keeps ``w`` further from the minimum than ``tol`` allows."""
        planes, lam = self._planes, self._lam
        if not EPSILON * planes.gram.diagonal().max() > tol * lam > 0.0:
            return False
        value = planes.value(w) + float(np.sum(self._v * w)) + 0.5 * lam * float(np.sum(w * w))
        return value - bound > IMPRECISE * tol

    def _weights(self, linear: NDArray, start: NDArray, tol: float) -> Vector:
        planes = self._planes
        part = planes.part if planes.n_parts > 1 else None
        return solve_simplex_qp(planes.gram, linear, start, tol, part=part).alpha

    def _model_value(self, alpha: NDArray, rho: float, center: NDArray, Ac: NDArray) -> float:
        """Return the model at the proximal point of ``alpha``, computed from inner products."""
        v, lam, total = self._v, self._lam, self._lam + rho
        G_alpha = self._planes.gram @ alpha
        cc, cv, vv = np.sum(center * center), np.sum(center * v), np.sum(v * v)
        uu, uc, uv = np.sum(alpha * G_alpha), np.sum(alpha * Ac), np.sum(alpha * self._Av)
        near, far = rho / total, 1.0 / total  # the weights of the center and of the slopes in the point
        norm2 = near * near * cc + far * far * (vv + uu + 2 * uv) - 2 * near * far * (cv + uc)
        linear = (rho * cv - vv - uv) / total
        scores = (rho * Ac - self._Av - G_alpha) / total + self._planes.b
        return float(0.5 * lam * norm2 + linear + self._planes.height(scores))
