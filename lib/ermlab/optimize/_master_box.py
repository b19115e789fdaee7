"""Master problem with L2 regularization and bounds on the weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab.optimize import _steep_planes as steep
from ermlab.optimize._box import LARGEST_WEIGHT, Box
from ermlab.optimize._box_qp import BoxQP
from ermlab.optimize._free_gram import FreeGram
from ermlab.optimize._level_search import search_level
from ermlab.optimize._master_l2 import IMPRECISE, PROX_RANGE, STEEP_PRECISION
from ermlab.optimize.evaluation import ROUNDING
from ermlab.optimize.planes import Planes
from ermlab.optimize.regularizers import L2

Vector = NDArray[np.float64]


class BoxMaster:
    """Minimize ``1/2 sum_j lam_j w_j^2 + <v, w> + max_i (<a_i, w> + b_i)`` over a box.

    As `L2Master`, with the dual ``b' alpha + min_w (1/2 sum_j lam_j w_j^2 + <A' alpha + v, w>)``, where ``w``
    lies in the box: a lower bound of the objective for every ``alpha`` in the simplex.
    """

    default_level = 0.4

    def __init__(self, regularizer: L2, linear: Vector, planes: Planes, box: Box):
        self._v, self._planes, self._box = linear, planes, box
        self._lam = regularizer.strengths(linear.size)
        self._unbounded = np.ones(linear.size, dtype=bool)
        self._unbounded[box.bounded] = False
        self._alpha = np.zeros(len(planes))
        self._level_alpha = np.zeros(len(planes))
        self._prox = 1.0
        self._steep = False
        self._check_weights(linear, "the linear term")
        self._check_weights(planes.A, "a plane")
        self._steepness = self._steepness_of(planes.A)
        # Without bounded weights, and with those that were not at a bound in the last problem of each kind.
        self._gram, self._model_gram, self._level_gram = self._grams = [
            FreeGram(planes, self._lam, self._unbounded) for _ in range(3)
        ]

    def plane_added(self) -> None:
        """Make room for the newest plane."""
        newest = self._planes.A[-1]
        self._check_weights(newest, "a plane")
        for gram in self._grams:
            gram.plane_added()
        self._steepness = np.append(self._steepness, self._steepness_of(newest[None]))
        self._alpha, self._level_alpha = np.append(self._alpha, 0.0), np.append(self._level_alpha, 0.0)

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Drop all planes except the ``chosen`` ones."""
        for gram in self._grams:
            gram.keep(chosen)
        self._steepness = self._steepness[chosen]
        self._alpha, self._level_alpha = self._alpha[chosen], self._level_alpha[chosen]

    @property
    def support(self) -> NDArray[np.bool_]:
        """The planes that support the last solutions."""
        return (self._alpha > 0) | (self._level_alpha > 0)

    def solve(self, tol: float, scale: float = 0.0) -> tuple[float, Vector]:
        """Return a lower bound of the minimum of the model, and the minimizer.

        ``scale`` is the size of the objective, to which rounding errors are relative.
        """
        attainable = max(tol, STEEP_PRECISION * scale)
        if not self._steep:
            problem = self._problem(self._v, self._planes.b, self._box, self._model_gram)
            self._alpha = problem.solve(self._alpha, tol)
            slope = self._planes.combine(self._alpha) + self._v
            bound, w = self._dual_bound(self._alpha, slope), self._box.project(-slope / self._lam)
            self._steep = self._loses_digits(bound, w, attainable)
            if not self._steep:
                return bound, w
        return self._solve_steep(attainable)

    def level_point(self, center: Vector, target: float, gap: float, tol: float) -> Vector:
        """Return the point of the box nearest to ``center`` where the model is about ``target``.

        The distance is measured in units of the regularizer or, if that is negligible, of the slopes.
        """
        lam, planes = self._lam, self._planes
        metric = steep.squared_slopes(planes) if self._steep else lam
        least, most = (
            (gap / steep.PROX_RANGE, gap * steep.PROX_RANGE)
            if self._steep
            else (1.0 / PROX_RANGE, PROX_RANGE)
        )
        tangent, heights = self._v + lam * center, planes.products(center) + planes.b
        around = Box(self._box.lower - center, self._box.upper - center)

        def point(rho: float, alpha: Vector) -> Vector:
            move = around.project(-(planes.combine(alpha) + tangent) / (lam + rho * metric))
            return self._box.project(center + move)

        def proximal_point(rho: float, alpha: Vector) -> tuple[Vector, float]:
            if self._steep:
                problem = self._steep_problem(lam + rho * metric, tangent, heights, around)
            else:
                problem = self._problem(tangent, heights, around, self._level_gram, 1.0 + rho)
            alpha = problem.solve(alpha, tol)
            return alpha, self._model_value(point(rho, alpha))

        rho = min(max(self._prox, least), most)
        self._level_alpha, self._prox = search_level(
            proximal_point, self._level_alpha, rho, target, gap, least, most
        )
        return point(self._prox, self._level_alpha)

    def _solve_steep(self, tol: float) -> tuple[float, Vector]:
        """Solve with a stronger regularization of steep coordinates, as `solve_steep` does."""
        planes, box = self._planes, self._box
        strength = np.maximum(steep.squared_slopes(planes) * (steep.STABLE * steep.EPSILON / tol), self._lam)
        alpha = self._steep_problem(strength, self._v, planes.b, box).solve(self._alpha, tol)
        w = box.project(-(planes.combine(alpha) + self._v) / strength)
        candidates = [alpha]
        free = (w > box.lower) & (w < box.upper)
        if free.any():
            root = np.sqrt(self._lam[free])
            heights = planes.b + planes.products(np.where(free, 0.0, w))
            piece = Planes.of(planes.A[:, free] / root, heights, planes.part, planes.n_parts)
            candidates.append(steep.improve(1.0, self._v[free] / root, piece, alpha))
        bounds = [self._safe_bound(each) for each in candidates]
        best = int(np.argmax(bounds))
        self._alpha = candidates[best]
        return bounds[best], w

    def _problem(self, v: Vector, heights: Vector, box: Box, gram: FreeGram, factor: float = 1.0) -> BoxQP:
        """Return the dual with ``factor`` times the strengths and another linear term, heights and box."""

        def gram_of(free: NDArray[np.bool_]) -> Vector:
            chosen = self._unbounded.copy()
            chosen[self._box.bounded] = free
            return gram(chosen) / factor

        return self._dual(self._gram() / factor, factor * self._lam, v, heights, box, gram_of)

    def _steep_problem(self, strength: Vector, v: Vector, heights: Vector, box: Box) -> BoxQP:
        """Return the dual with other strengths, linear term, heights and box."""
        gram = FreeGram(self._planes, strength, self._unbounded)()
        return self._dual(gram, strength, v, heights, box, None)

    def _dual(
        self,
        gram: Vector,
        strength: Vector,
        v: Vector,
        heights: Vector,
        box: Box,
        gram_of: Callable[[NDArray[np.bool_]], Vector] | None,
    ) -> BoxQP:
        planes, bounded = self._planes, self._box.bounded
        h = heights - planes.products(np.where(self._unbounded, v / strength, 0.0))
        limits = strength[bounded], box.lower[bounded], box.upper[bounded]
        part = planes.part if planes.n_parts > 1 else None
        return BoxQP(gram, h, planes.A[:, bounded], v[bounded], *limits, part, gram_of)

    def _steepness_of(self, A: Vector) -> Vector:
        """Return the squared length of each slope, in units of the strengths."""
        return np.sum(A * (A / self._lam), axis=1)

    def _dual_bound(self, alpha: Vector, *slopes: Vector) -> float:
        """Return the dual at ``alpha``, the least for the given slopes ``A' alpha + v``."""
        offsets = self._planes.b * alpha
        least, size = np.inf, 0.0
        for slope in slopes:
            terms = self._box.least_terms(self._lam, slope)
            least, size = np.minimum(least, terms), np.maximum(size, np.abs(terms))
        rounding = ROUNDING * (float(np.sum(np.abs(offsets))) + float(np.sum(size)))
        return float(np.sum(offsets)) + float(np.sum(least)) - rounding

    def _safe_bound(self, alpha: Vector) -> float:
        """Return the dual for the worst rounding errors of slopes.

        They are at the end of a range, since the dual is concave in each slope.
        """
        chosen = alpha > 0
        A, weights = self._planes.A[chosen], alpha[chosen]
        with one_blas_thread():
            slope, size = weights @ A + self._v, weights @ np.abs(A) + np.abs(self._v)
        return self._dual_bound(alpha, slope - ROUNDING * size, slope + ROUNDING * size)

    def _model_value(self, w: Vector) -> float:
        return self._planes.value(w) + float(np.sum(self._v * w)) + 0.5 * float(np.sum(self._lam * w * w))

    def _loses_digits(self, bound: float, w: Vector, tol: float) -> bool:
        """Whether rounding in Gram matrices keeps ``w`` further from the minimum than ``tol`` allows."""
        if not steep.EPSILON * self._steepness.max() > tol > 0.0:
            return False
        return self._model_value(w) - bound > IMPRECISE * tol

    def _check_weights(self, slopes: Vector, name: str) -> None:
        """Raise a ValueError if the weights that balance slopes are too large to be squared."""
        with np.errstate(over="ignore"):
            weights = np.abs(slopes) / self._lam
        if weights.size and weights.max() > LARGEST_WEIGHT:
            j = int(np.argmax(weights.reshape(-1, self._lam.size).max(axis=0)))
            raise ValueError(
                f"{name} is too steep in coordinate {j} for the strength {self._lam[j]:.3g} of its "
                "regularization: scale the features, for example with "
                "sklearn.preprocessing.StandardScaler, or regularize more strongly"
            )
