"""Algorithm 1.1 of the cheap-data chapter, transcribed line by line to compare the library with it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ermlab.optimize import Risk, solve_simplex_qp

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Schedule:
    """Precisions of Algorithm 1.1: the first, the last and the factor between two, and ``eta`` of line 15."""

    eps: float = 0.5
    eps_min: float = 1e-3
    rho: float = 0.5
    eta: float = 1e-3


DEFAULT = Schedule()


def learn_from_partial_annotations(
    convex: Risk, concave: Risk, alpha: float, w0: Vector, schedule: Schedule = DEFAULT
) -> tuple[Vector, int]:
    """Minimize ``alpha/2 |w|^2 + P(w) - R(w)``; return the weights and the number of bounds.

    The gap and ``eta`` are relative, and the test of line 15 waits for the last precision: both as in
    `ermlab.optimize.cccp`, since as printed the algorithm may stop at its first, imprecise step.
    """
    eps, w, value = schedule.eps, w0, _objective(convex, concave, alpha, w0)
    a, b = _bound(convex, w0)
    A, offsets = [a], [b]
    while True:
        v = -concave(w)[1]  # line 4
        constant = -concave(w)[0] - v @ w
        eps = max(eps * schedule.rho, schedule.eps_min)  # line 5
        best, best_value = w, _linearized(convex, alpha, v, w) + constant
        while True:
            w, lower = _minimize_bounds(np.array(A), np.array(offsets), v, alpha)  # line 9
            if best_value - (lower + constant) <= eps * abs(best_value):  # lines 10 and 12
                break
            upper = _linearized(convex, alpha, v, w) + constant
            if upper < best_value:
                best, best_value = w, upper
            a, b = _bound(convex, w)  # lines 7 and 8
            A.append(a)
            offsets.append(b)
        w, last = best, value  # line 13
        value = _objective(convex, concave, alpha, w)
        if eps == schedule.eps_min and last - value <= schedule.eta * abs(last):  # line 15
            return w, len(A)


def _bound(convex: Risk, w: Vector) -> tuple[Vector, float]:
    """Return gradient and offset of a linear lower bound of ``P`` (line 7)."""
    value, a = convex(w)
    return a, value - float(a @ w)


def _minimize_bounds(A: Vector, b: Vector, v: Vector, alpha: float) -> tuple[Vector, float]:
    """Return the minimizer of eq. 1.6 by its dual, eq. 1.7, and the value of the dual."""
    weights = solve_simplex_qp(A @ A.T / alpha, b - A @ v / alpha, tol=1e-12).alpha
    slope = v + A.T @ weights
    return -slope / alpha, float(b @ weights - slope @ slope / (2 * alpha))


def _linearized(convex: Risk, alpha: float, v: Vector, w: Vector) -> float:
    return alpha / 2 * float(w @ w) + convex(w)[0] + float(v @ w)


def _objective(convex: Risk, concave: Risk, alpha: float, w: Vector) -> float:
    return alpha / 2 * float(w @ w) + convex(w)[0] - concave(w)[0]
