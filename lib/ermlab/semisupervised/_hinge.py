"""Support vector machines on a kernel matrix with an intercept, and a certificate of their optimality."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from ermlab._utils.progress import report

Vector = NDArray[np.float64]
#: First and smallest violation of the optimality conditions at which libsvm stops.
FIRST_TOL, SMALLEST_TOL = 1e-3, 1e-7
#: Number of free coefficients up to which their conditions are solved in double precision.
LARGEST_SYSTEM = 2000


@dataclass(frozen=True)
class HingeSolution:
    """A solution of ``1/2 c' K c + C sum_i max(0, 1 - y_i (K c + b)_i)`` with bounds of the minimum.

    Attributes
    ----------
    coef : ndarray of shape (n,)
        Coefficients ``c``, 0 to C times the label.
    intercept : float
        The best ``b`` for ``coef``.
    value, lower_bound : float
        The objective, and the value of the dual problem at ``coef``.
    n_iter : int
        Number of steps, at least 1.
    """

    coef: Vector
    intercept: float
    value: float
    lower_bound: float
    n_iter: int = 1

    @property
    def relative_gap(self) -> float:
        """The gap divided by the value; 0 if there is none."""
        gap = self.value - self.lower_bound
        return max(gap, 0.0) / self.value if self.value > 0 else 0.0


def solve_hinge(
    K: Vector, y: Vector, C: float, tol: float, max_iter: int, deadline: float = math.inf
) -> HingeSolution:
    """Minimize the objective of `HingeSolution` until the relative gap is at most ``tol``.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel matrix.
    y : ndarray of shape (n,)
        Labels, -1 and 1, both present.
    C : float
        Inverse regularization strength.
    tol : float
        Relative gap to reach.
    max_iter : int
        Maximum number of steps of libsvm.
    deadline : float, default=inf
        Time of ``time.perf_counter`` after which libsvm is not called again.
    """
    violation, n_iter, best = FIRST_TOL, 0, None
    while violation >= SMALLEST_TOL and n_iter < max_iter:
        if best is not None and time.perf_counter() >= deadline:
            break
        machine = SVC(kernel="precomputed", C=C, tol=violation, max_iter=max_iter - n_iter)
        with warnings.catch_warnings(), config_context(assume_finite=True, skip_parameter_validation=True):
            warnings.simplefilter("ignore", ConvergenceWarning)  # the gap decides
            machine.fit(K, y)
        n_iter += max(int(machine.n_iter_[0]), 1)
        c = np.zeros(len(y))
        c[machine.support_] = machine.dual_coef_[0]
        found = [certified(K, y, C, c)]
        if found[0].relative_gap > tol:
            found.append(certified(K, y, C, _polished(K, y, C, c)))
        best = min(found if best is None else [best, *found], key=lambda solution: solution.relative_gap)
        report("step", n_iter, objective=best.value, relative_gap=best.relative_gap)
        if best.relative_gap <= tol:
            break
        violation /= 10
    return replace(best, n_iter=n_iter)


def certified(K: Vector, y: Vector, C: float, coef: Vector) -> HingeSolution:
    """Return the solution with coefficients near ``coef`` that are feasible for the dual problem."""
    beta = np.clip(y * coef, 0.0, C)
    # The dual variables of both classes have the same sum; rounding may have changed it.
    positive, negative = beta[y > 0].sum(), beta[y < 0].sum()
    less = min(positive, negative)
    for sign, total in ((1, positive), (-1, negative)):
        if total > 0:
            beta[y == sign] *= less / total
    c = y * beta
    scores = K @ c
    b = best_intercept(scores, y)
    half_norm = 0.5 * float(c @ scores)
    value = half_norm + C * float(np.maximum(1.0 - y * (scores + b), 0.0).sum())
    return HingeSolution(c, b, value, float(beta.sum()) - half_norm)


def _polished(K: Vector, y: Vector, C: float, coef: Vector) -> Vector:
    """Solve the optimality conditions in double precision for the coefficients that are at no bound.

    libsvm keeps kernel matrices in single precision.
    """
    beta = y * coef
    free = np.flatnonzero((beta > 0) & (beta < C))
    if not 0 < len(free) <= LARGEST_SYSTEM:
        return coef
    unit = max(float(np.abs(K[np.ix_(free, free)]).max()), np.finfo(np.float64).tiny)
    system = np.ones((len(free) + 1, len(free) + 1))
    system[:-1, :-1] = K[np.ix_(free, free)] / unit
    system[-1, -1] = 0.0
    right = np.append((y - K @ coef)[free] / unit, -coef.sum())
    polished = coef.copy()
    polished[free] += np.linalg.lstsq(system, right, rcond=None)[0][:-1]
    return polished


def best_intercept(scores: Vector, y: Vector) -> float:
    """Return the middle of all intercepts with the least sum of hinge losses."""
    # The slope of the sum rises from minus the number of positives by 1 at each of these points.
    points = np.sort(y - scores)
    n_positive = int(np.count_nonzero(y > 0))
    return float(0.5 * points[n_positive - 1] + 0.5 * points[n_positive])
