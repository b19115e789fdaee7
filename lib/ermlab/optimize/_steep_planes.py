"""L2 master problems whose planes are so steep that their Gram matrix loses the significant digits.

If features are not scaled, ``|a|^2 / lam`` can exceed the risk by more than the sixteen digits of a number:
the solution is then determined by rounding. So the model is minimized with a stronger regularization of each
steep coordinate, just strong enough for rounding not to matter. This changes the minimum by less than the
required precision, as long as the weights of a coordinate are of the order of the inverse of its slopes. The
combination of planes found in this way is then improved for the true regularizer, among the few planes that
have weight. The lower bound is that of the true regularizer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ermlab._utils.blas import one_blas_thread
from ermlab.optimize._level_search import search_level
from ermlab.optimize.evaluation import ROUNDING
from ermlab.optimize.planes import Planes
from ermlab.optimize.qp import solve_simplex_qp

Vector = NDArray[np.float64]
# If the proximal weight is the gap, weights that are the inverse of the slopes cost the gap. Proximal weights
# beyond this multiple of it, or below its inverse, are not useful.
PROX_RANGE = 1e9
# Rounding in a Gram matrix does not matter below the required precision divided by this number.
STABLE = 10.0
EPSILON = float(np.finfo(np.float64).eps)


def dual_bound(lam: float, v: Vector, planes: Planes, alpha: Vector) -> float:
    """Return ``b' alpha - |A' alpha + v|^2 / (2 lam)``, a lower bound of the model with its regularizer.

    The slopes cancel, and the squared rounding error divided by ``lam`` may exceed their sum. The error is
    bounded by the sum of the absolute values and added to the slopes.
    """
    chosen = alpha > 0
    terms = alpha[chosen, None] * planes.A[chosen]
    rounding = ROUNDING * (np.sum(np.abs(terms), axis=0) + np.abs(v))
    steepest = (np.abs(np.sum(terms, axis=0) + v) + rounding) / np.sqrt(lam)
    offsets = planes.b * alpha
    return (
        float(np.sum(offsets))
        - ROUNDING * float(np.sum(np.abs(offsets)))
        - 0.5 * float(np.sum(steepest * steepest))
    )


def solve_steep(
    lam: float, v: Vector, planes: Planes, start: Vector, tol: float
) -> tuple[float, Vector, Vector]:
    """Minimize ``lam/2 |w|^2 + <v, w> + model(w)`` if rounding exceeds ``tol``.

    Return a lower bound of the minimum, an approximate minimizer, and the combination of planes.
    """
    strength = np.maximum(squared_slopes(planes) * (STABLE * EPSILON / tol), lam)
    alpha = _combination(planes, strength, v, planes.b, start, tol)
    w = -(planes.combine(alpha) + v) / strength
    bounds = [(dual_bound(lam, v, planes, each), each) for each in (alpha, improve(lam, v, planes, alpha))]
    bound, alpha = max(bounds, key=lambda entry: entry[0])  # the first of equals
    return bound, w, alpha


def steep_level_point(
    lam: float,
    v: Vector,
    planes: Planes,
    start: Vector,
    center: Vector,
    target: float,
    gap: float,
    tol: float,
    rho: float,
) -> tuple[Vector, Vector, float]:
    """Return a point near ``center`` where the model is about ``target``, its planes and proximal weight.

    The distance is measured in units of the slopes of each coordinate.
    """
    metric = squared_slopes(planes)
    tangent = v + lam * center
    heights = planes.products(center) + planes.b

    def point(rho: float, alpha: Vector) -> Vector:
        return center - (planes.combine(alpha) + tangent) / (lam + rho * metric)

    def proximal_point(rho: float, alpha: Vector) -> tuple[Vector, float]:
        alpha = _combination(planes, lam + rho * metric, tangent, heights, alpha, tol)
        w = point(rho, alpha)
        return alpha, planes.value(w) + float(np.sum(v * w)) + 0.5 * lam * float(np.sum(w * w))

    least, most = gap / PROX_RANGE, gap * PROX_RANGE
    rho = min(max(rho, least), most)
    alpha, rho = search_level(proximal_point, start, rho, target, gap, least, most)
    return point(rho, alpha), alpha, rho


def improve(lam: float, v: Vector, planes: Planes, alpha: Vector) -> Vector:
    """Return the combination of the planes with weight in ``alpha`` that is best for the true regularizer.

    Newton steps in the differences of planes, which keep the sum of the weights of each part. An index leaves
    when its weight reaches 0. An orthogonal factorization of the differences keeps the digits that the Gram
    matrix has lost; with the steepest coordinates first it does so for coordinates of all scales.
    """
    alpha = alpha.copy()
    for _ in range(np.count_nonzero(alpha)):
        support = np.flatnonzero(alpha)
        heaviest = np.array([_heaviest(alpha, planes.part, d) for d in range(planes.n_parts)])
        free = np.setdiff1d(support, heaviest)
        if free.size == 0:
            break
        partner = heaviest[planes.part[free]]
        differences = (planes.A[free] - planes.A[partner]).T
        order = np.argsort(-np.abs(differences).max(axis=1), kind="stable")
        with one_blas_thread():
            Q, R, pivots = linalg.qr(differences[order], mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(R))
        rank = int(np.count_nonzero(diagonal > EPSILON * len(differences) * diagonal[0]))
        free, partner, R, Q = free[pivots][:rank], partner[pivots][:rank], R[:rank, :rank], Q[:, :rank]
        if rank == 0:
            break
        slope = (planes.combine(alpha) + v)[order]
        gain = linalg.solve_triangular(R, planes.b[free] - planes.b[partner], trans="T")
        step = linalg.solve_triangular(R, lam * gain - slope @ Q)
        move = np.zeros_like(alpha)
        np.add.at(move, free, step)
        np.add.at(move, partner, -step)
        shrinking = move < 0
        room = np.full_like(alpha, np.inf)
        room[shrinking] = alpha[shrinking] / -move[shrinking]
        blocking = int(np.argmin(room))
        if room[blocking] >= 1.0:
            return np.maximum(alpha + move, 0.0)
        alpha = np.maximum(alpha + room[blocking] * move, 0.0)
        alpha[blocking] = 0.0
    return alpha


def _heaviest(alpha: Vector, part: NDArray[np.int64], d: int) -> int:
    """Return the plane of part ``d`` with the largest weight."""
    members = np.flatnonzero(part == d)
    return int(members[np.argmax(alpha[members])])


def squared_slopes(planes: Planes) -> Vector:
    """Return the largest squared slope of each coordinate; 1 where all planes are flat."""
    slopes = np.max(np.abs(planes.A), axis=0)
    return np.where(slopes > 0, slopes, 1.0) ** 2


def _combination(
    planes: Planes, strength: Vector, v: Vector, heights: Vector, start: Vector, tol: float
) -> Vector:
    """Return the ``alpha`` that maximizes ``heights' alpha - 1/2 |(A' alpha + v) / sqrt(strength)|^2``."""
    root = np.sqrt(strength)
    A = planes.A / root
    with one_blas_thread():
        gram, linear = A @ A.T, heights - A @ (v / root)
    part = planes.part if planes.n_parts > 1 else None
    return solve_simplex_qp(gram, linear, start, tol, part=part).alpha
