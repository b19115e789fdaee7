"""Duals of L2 master problems with bounds on the weights: simplex QPs with piecewise quadratic terms.

For ``alpha`` in the simplex the best weights ``z`` of the box are those without bounds, clipped. As a
function of ``alpha`` the dual is concave, differentiable and piecewise quadratic: where no weight reaches or
leaves a bound, it is a simplex QP with the Gram matrix of the weights that are not at a bound. Newton's
method solves the QP of the current piece and searches the line to its solution, which makes each step an
ascent.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab.optimize.qp import feasible_start, solve_simplex_qp

Vector = NDArray[np.float64]
MAX_STEPS = 100
# The QP of a piece is solved to this fraction of the required gap.
PIECE_PRECISION = 0.5


class BoxQP:
    """Maximize ``h' alpha - 1/2 alpha' G alpha + min_z (1/2 sum_j s_j z_j^2 + <A' alpha + v, z>)``.

    Parameters
    ----------
    G, h : ndarray of shape (m, m) and (m,)
        Quadratic and linear term of the weights without bounds.
    A : ndarray of shape (m, d)
        Slopes of the planes in the weights ``z`` with bounds.
    v, strength, lower, upper : ndarray of shape (d,)
        Linear term, regularization and bounds of ``z``.
    part : ndarray of shape (m,) or None
        Part of each plane, as in `solve_simplex_qp`.
    gram_of : callable or None
        Maps a mask of the weights ``z`` that are not at a bound to ``G`` plus their Gram matrix.
    """

    def __init__(
        self,
        G: Vector,
        h: Vector,
        A: Vector,
        v: Vector,
        strength: Vector,
        lower: Vector,
        upper: Vector,
        part: NDArray[np.int64] | None = None,
        gram_of: Callable[[NDArray[np.bool_]], Vector] | None = None,
    ):
        self._G, self._h, self._A, self._v = G, h, A, v
        self._part = np.zeros(h.size, dtype=np.int64) if part is None else part
        self._n_parts = int(self._part.max()) + 1
        self._strength, self._lower, self._upper = strength, lower, upper
        self._gram_of = self._computed_gram if gram_of is None else gram_of

    def solve(self, start: Vector, tol: float) -> Vector:
        """Return ``alpha`` with a duality gap of at most ``tol``, unless rounding prevents it."""
        alpha = feasible_start(self._G, self._h, start, self._part, self._n_parts)
        last = None
        with one_blas_thread():
            for _ in range(MAX_STEPS):
                slope = alpha @ self._A + self._v
                z = self._weights(slope)
                flat = self._h - self._G @ alpha
                gradient = flat + self._A @ z
                if self._gap(alpha, gradient) <= tol:
                    break
                above, below = z > self._lower, z < self._upper
                piece = np.concatenate([above, below])
                if last is not None and np.array_equal(piece, last):  # rounding: this piece is solved
                    break
                new = self._solve_piece(above & below, z, alpha, PIECE_PRECISION * tol)
                length = self._search_line(alpha, new - alpha, flat, slope)
                before, last = alpha, piece if length == 1.0 else None
                alpha = new if length == 1.0 else alpha + length * (new - alpha)
                if np.array_equal(alpha, before):  # rounding: no ascent
                    break
        return alpha

    def _weights(self, slope: Vector) -> Vector:
        return np.minimum(np.maximum(-slope / self._strength, self._lower), self._upper)

    def _gap(self, alpha: Vector, gradient: Vector) -> float:
        """Return the largest gradient of each part, summed, minus the mean gradient."""
        tops = np.full(self._n_parts, -np.inf)
        np.maximum.at(tops, self._part, gradient)
        return float(tops.sum() - np.sum(alpha * gradient))

    def _solve_piece(self, free: NDArray[np.bool_], z: Vector, start: Vector, tol: float) -> Vector:
        """Maximize the quadratic function in which exactly the weights ``free`` are not at a bound."""
        linear = self._h + self._A @ np.where(free, -self._v / self._strength, z)
        return solve_simplex_qp(self._gram_of(free), linear, start, tol, part=self._part).alpha

    def _computed_gram(self, free: NDArray[np.bool_]) -> Vector:
        A = self._A[:, free] / np.sqrt(self._strength[free])
        return self._G + A @ A.T

    def _search_line(self, alpha: Vector, move: Vector, flat: Vector, slope: Vector) -> float:
        """Return the length, at most 1, of the best step along ``move``.

        The derivative along the line is continuous, decreasing, and linear between the points where a weight
        reaches or leaves a bound.
        """
        rise, curvature = float(np.sum(move * flat)), float(np.sum(move * (self._G @ move)))
        change = move @ self._A

        def derivative(length: float) -> float:
            return rise - length * curvature + float(np.sum(change * self._weights(slope + length * change)))

        if derivative(1.0) >= 0.0:
            return 1.0
        if derivative(0.0) <= 0.0:
            return 0.0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            bends = [-(self._strength * bound + slope) / change for bound in (self._lower, self._upper)]
        bends = np.concatenate(bends)
        bends = np.concatenate([[0.0], np.sort(bends[(bends > 0.0) & (bends < 1.0)]), [1.0]])
        low, high = 0, bends.size - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if derivative(bends[middle]) > 0.0 else (low, middle)
        before, after = derivative(bends[low]), derivative(bends[high])
        return float(bends[low] + (bends[high] - bends[low]) * before / (before - after))
