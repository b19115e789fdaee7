"""The master problem with L2 regularisation: dual QPs on the simplex, or on one for each part of the risk.

With planes ``(A, b)``, linear term ``v`` and ``alpha`` in the simplex, the dual function
``b' alpha - |A' alpha + v|^2 / (2 lam)`` (cheap data, eq. 1.7) is a lower bound of the objective for every
``alpha``, however inexactly the QP is solved.
"""

import numpy as np
from numpy.typing import NDArray

from ermlab.optimize.planes import Planes
from ermlab.optimize.qp import solve_simplex_qp

# The proximal weight is searched until the model value lies this near the level, as a share of the gap.
LEVEL_BAND = 0.1
LEVEL_TRIALS = 12
# Proximal weights beyond this multiple of lam, or below its inverse, make no difference.
PROX_RANGE = 1e8


class L2Master:
    """Minimise ``lam/2 |w|^2 + <v, w> + max_i (<a_i, w> + b_i)``, and project onto its level sets.

    Where the risk has parts the maximum is that of each part, summed.
    """

    default_level = 0.4

    def __init__(self, lam: float, linear: NDArray[np.float64], planes: Planes):
        self._lam, self._v, self._planes = lam, linear, planes
        self._Av = planes.products(linear)
        self._alpha = np.zeros(len(planes))
        self._level_alpha = np.zeros(len(planes))
        self._prox = lam

    def plane_added(self) -> None:
        """Take notice of the newest plane."""
        newest = self._planes.A[-1]
        self._Av = np.append(self._Av, np.sum(newest * self._v))
        self._alpha = np.append(self._alpha, 0.0)
        self._level_alpha = np.append(self._level_alpha, 0.0)

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Forget what belongs to the planes that are not ``chosen``."""
        self._Av, self._alpha = self._Av[chosen], self._alpha[chosen]
        self._level_alpha = self._level_alpha[chosen]

    @property
    def support(self) -> NDArray[np.bool_]:
        """The planes that hold the last solutions."""
        return (self._alpha > 0) | (self._level_alpha > 0)

    def solve(self, tol: float) -> tuple[float, NDArray[np.float64]]:
        """Return a lower bound within ``tol`` of the model's minimum, and the minimiser."""
        lam, b = self._lam, self._planes.b
        # The QP times lam, which leaves the Gram matrix as it is.
        self._alpha = self._weights(lam * b - self._Av, self._alpha, tol * lam)
        w = -(self._planes.combine(self._alpha) + self._v) / lam
        return float(np.sum(b * self._alpha)) - 0.5 * lam * float(np.sum(w * w)), w

    def level_point(
        self, centre: NDArray[np.float64], target: float, gap: float, tol: float
    ) -> NDArray[np.float64]:
        """Return the point next to ``centre`` where the model is about ``target``.

        The projection onto a level set is the proximal point for the right weight ``rho``; the weight changes
        little from one call to the next, so that one or two QPs find it.
        """
        lam, planes, v = self._lam, self._planes, self._v
        Ac = planes.products(centre)
        low, high = 0.0, np.inf
        alpha, rho = self._level_alpha, self._prox
        for _ in range(LEVEL_TRIALS):
            linear = (lam + rho) * planes.b + rho * Ac - self._Av
            alpha = self._weights(linear, alpha, tol * (lam + rho))
            used, value = rho, self._model_value(alpha, rho, centre, Ac)
            if value > target + LEVEL_BAND * gap:
                high, rho = rho, (rho / 4 if low == 0.0 else np.sqrt(low * rho))
            elif value < target - LEVEL_BAND * gap:
                low, rho = rho, (rho * 4 if high == np.inf else np.sqrt(rho * high))
            else:
                break
            rho = min(max(rho, lam / PROX_RANGE), lam * PROX_RANGE)
        self._level_alpha, self._prox = alpha, used
        return (used * centre - v - planes.combine(alpha)) / (lam + used)

    def _weights(self, linear: NDArray, start: NDArray, tol: float) -> NDArray[np.float64]:
        planes = self._planes
        part = planes.part if planes.n_parts > 1 else None
        return solve_simplex_qp(planes.gram, linear, start, tol, part=part).alpha

    def _model_value(self, alpha: NDArray, rho: float, centre: NDArray, Ac: NDArray) -> float:
        """Return the model at the proximal point of ``alpha``, by inner products alone."""
        v, lam, total = self._v, self._lam, self._lam + rho
        G_alpha = self._planes.gram @ alpha
        cc, cv, vv = np.sum(centre * centre), np.sum(centre * v), np.sum(v * v)
        uu, uc, uv = np.sum(alpha * G_alpha), np.sum(alpha * Ac), np.sum(alpha * self._Av)
        norm2 = (rho**2 * cc + vv + uu - 2 * rho * (cv + uc) + 2 * uv) / total**2
        linear = (rho * cv - vv - uv) / total
        scores = (rho * Ac - self._Av - G_alpha) / total + self._planes.b
        return float(0.5 * lam * norm2 + linear + self._planes.height(scores))
