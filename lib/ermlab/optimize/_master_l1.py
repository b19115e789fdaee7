"""Master problem with L1 regularization: a linear program, solved by HiGHS from its last basis."""

import math

import highspy
import numpy as np
from numpy.typing import NDArray

from ermlab.optimize.planes import Planes
from ermlab.optimize.regularizers import L1

Vector = NDArray[np.float64]
# HiGHS rejects larger entries of a row.
LARGEST_SLOPE = 1e15
# Range of offsets that suits the absolute tolerances of HiGHS.
USUAL_OFFSETS = 1e-3, 1e6


class UnsolvableError(ValueError):
    """Raised if a linear program is beyond the precision of HiGHS."""


class L1Master:
    """Minimize ``sum_j lam_j |w_j| + <v, w> + max_i (<a_i, w> + b_i)``.

    The columns of the program are the positive and the negative part of ``u_j = lam_j w_j`` and the height
    ``xi``; each plane is a row, ``xi - <a / lam, u> >= b``. In terms of ``u`` the problem does not depend on
    the units of the features. Both are measured in a unit in which the offsets ``b`` are of the order of 1,
    so that it does not depend on the units of the risk either.
    """

    default_level = 0.7

    def __init__(self, regularizer: L1, linear: Vector, planes: Planes):
        if planes.n_parts > 1:
            raise ValueError(f"a risk of {planes.n_parts} parts with L1: expected L2, or their sum")
        self._regularizer, self._v, self._planes = regularizer, linear, planes
        self._lam = regularizer.strengths(linear.size)
        self._highs = highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("threads", 1)
        highs.setOptionValue("solver", "simplex")
        d = linear.size
        with np.errstate(over="ignore"):  # checked next
            relative = linear / self._lam
        if np.max(np.abs(relative)) > LARGEST_SLOPE:
            j = int(np.argmax(np.abs(relative)))
            raise ValueError(
                f"the linear term has a slope of {linear[j]:.3g} in coordinate {j}, too steep for the "
                f"strength {self._lam[j]:.3g} of its regularization: regularize more strongly"
            )
        costs = np.concatenate([1.0 + relative, 1.0 - relative, [1.0]])
        lower = np.append(np.zeros(2 * d), -highspy.kHighsInf)
        upper = np.full(2 * d + 1, highspy.kHighsInf)
        nothing = np.empty(0, dtype=np.int32)
        highs.addCols(2 * d + 1, costs, lower, upper, 0, nothing, nothing, np.empty(0))
        self._dual, self._slopes = np.zeros(0), np.zeros(0)
        self._w = np.zeros(d)
        self._unit = 1.0
        for row in range(len(planes)):
            self._add_row(row)

    def plane_added(self) -> None:
        """Add a row for the newest plane."""
        self._add_row(len(self._planes) - 1)

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Delete the rows of all planes except the ``chosen`` ones."""
        idle = np.flatnonzero(~chosen).astype(np.int32)
        self._highs.deleteRows(idle.size, idle)
        self._dual, self._slopes = self._dual[chosen], self._slopes[chosen]

    @property
    def support(self) -> NDArray[np.bool_]:
        """The planes that support the last solution, and the flattest, which the certified bound needs."""
        return (self._dual > 0) | (self._slopes == self._slopes.min())

    def solve(self, tol: float, scale: float = 0.0) -> tuple[float, Vector]:
        """Return a lower bound of the minimum of the model, and the minimizer; ``tol`` is not used."""
        self._highs.run()
        if self._highs.getModelStatus() == highspy.HighsModelStatus.kSolveError:
            self._highs.clearSolver()  # the last basis may be the reason
            self._highs.run()
        status = self._highs.getModelStatus()
        if status in (highspy.HighsModelStatus.kUnbounded, highspy.HighsModelStatus.kUnboundedOrInfeasible):
            raise ValueError(
                "the L1 master problem is unbounded: give a lower bound of the risk (risk_lower_bound) or, "
                "with a linear term steeper than the regularizer, planes that outweigh it"
            )
        if status != highspy.HighsModelStatus.kOptimal:
            raise UnsolvableError(
                f"HiGHS could not solve the L1 master problem ({status.name}): scale the features, for "
                "example with sklearn.preprocessing.StandardScaler, or regularize more strongly"
            )
        solution = self._highs.getSolution()
        columns = np.asarray(solution.col_value)
        d = self._v.size
        self._w = (columns[:d] - columns[d : 2 * d]) / self._lam * self._unit
        self._dual = np.maximum(np.asarray(solution.row_dual), 0.0)
        return self._certified_bound(), self._w

    def level_point(self, center: Vector, target: float, gap: float, tol: float) -> Vector:
        """Return the first point from ``center`` towards the minimizer where the model is ``target``."""
        at_center, at_minimum = self._planes.products(center), self._planes.products(self._w)
        outside, inside = 0.0, 1.0
        while inside - outside > 1e-3:
            share = 0.5 * (outside + inside)
            w = center + share * (self._w - center)
            height = np.max(at_center + share * (at_minimum - at_center) + self._planes.b)
            value = self._regularizer(w) + np.sum(self._v * w) + height
            outside, inside = (share, inside) if value > target else (outside, share)
        return center + inside * (self._w - center)

    def _add_row(self, row: int) -> None:
        d = self._v.size
        with np.errstate(over="ignore"):  # checked next
            a, b = self._planes.A[row] / self._lam, self._planes.b[row]
        support = np.flatnonzero(a).astype(np.int32)
        if np.max(np.abs(a), initial=0.0) > LARGEST_SLOPE:
            j = int(np.argmax(np.abs(a)))
            raise UnsolvableError(
                f"the slope {self._planes.A[row, j]:.3g} of coordinate {j} is too large for the strength "
                f"{self._lam[j]:.3g} of its regularization: scale the features, for example with "
                "sklearn.preprocessing.StandardScaler"
            )
        self._choose_unit(b)
        indices = np.concatenate([support, support + d, [2 * d]]).astype(np.int32)
        values = np.concatenate([-a[support], a[support], [1.0]])
        self._highs.addRow(b / self._unit, highspy.kHighsInf, indices.size, indices, values)
        self._dual = np.append(self._dual, 0.0)
        self._slopes = np.append(self._slopes, self._steepness(self._planes.A[row]))

    def _choose_unit(self, newest: float) -> None:
        """Change the unit if the offsets are too large or too small for the current one."""
        offsets = self._planes.b[: self._dual.size]
        largest = max(float(np.max(np.abs(offsets), initial=0.0)), abs(newest))
        if largest == 0.0 or USUAL_OFFSETS[0] <= largest / self._unit <= USUAL_OFFSETS[1]:
            return
        self._unit = 2.0 ** min(max(math.frexp(largest)[1], -1000), 1000)
        for row, offset in enumerate(offsets):
            self._highs.changeRowBounds(row, offset / self._unit, highspy.kHighsInf)

    def _steepness(self, slope: Vector) -> float:
        """Return the largest slope of a plane plus the linear term, relative to the regularizer."""
        with np.errstate(over="ignore"):  # infinity is steep enough
            return float((np.abs(slope + self._v) / self._lam).max())

    def _certified_bound(self) -> float:
        """Return ``b' alpha`` for a feasible ``alpha`` of the dual: valid whatever the tolerance of HiGHS.

        The dual requires ``|A' alpha + v| <= lam`` in each coordinate, on the simplex. The solution of HiGHS
        satisfies this up to its tolerance; it is mixed with the flattest plane until it is feasible.
        """
        planes, total = self._planes, self._dual.sum()
        if not total > 0:
            return -np.inf
        alpha = self._dual / total
        steepness = self._steepness(planes.combine(alpha))
        value = float(np.sum(planes.b * alpha))
        if steepness <= 1.0:
            return value
        flattest = np.argmin(self._slopes)
        if self._slopes[flattest] >= 1.0:
            return -np.inf
        share = (1.0 - self._slopes[flattest]) / (steepness - self._slopes[flattest])
        return float(share * value + (1.0 - share) * planes.b[flattest])
