"""Master problem with L1 regularization: a linear program, solved by HiGHS from its last basis."""

from __future__ import annotations

import math

import highspy
import numpy as np
from numpy.typing import NDArray

from ermlab.optimize._box import Box
from ermlab.optimize.evaluation import ROUNDING
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
    so that it does not depend on the units of the risk either. A box for ``w`` bounds the columns.
    """

    default_level = 0.7

    def __init__(self, regularizer: L1, linear: Vector, planes: Planes, box: Box | None = None):
        if planes.n_parts > 1:
            raise ValueError(f"a risk of {planes.n_parts} parts with L1: expected L2, or their sum")
        self._regularizer, self._v, self._planes, self._box = regularizer, linear, planes, box
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
        # Size of the weights in the box without any plane, which the offsets do not tell.
        self._size = 0.0 if box is None else float(np.max(self._lam * np.abs(self._best_in_box(linear))))
        self._bound_columns()
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
        self._w = self._feasible((columns[:d] - columns[d : 2 * d]) / self._lam * self._unit)
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
        return self._feasible(center + inside * (self._w - center))

    def _feasible(self, w: Vector) -> Vector:
        """Return the nearest point of the box, which differs from ``w`` by rounding errors."""
        return w if self._box is None else self._box.project(w)

    def _bound_columns(self) -> None:
        """Set the bounds of the positive and the negative parts of the weights with bounds."""
        if self._box is None:
            return
        bounded, d = self._box.bounded, self._v.size
        lower, upper = self._box.lower[bounded], self._box.upper[bounded]
        scale = self._lam[bounded] / self._unit
        ranges = (lower, upper, bounded), (-upper, -lower, bounded + d)
        for least, most, columns in ranges:
            with np.errstate(over="ignore"):  # no bound for HiGHS
                least, most = np.maximum(least, 0.0) * scale, np.maximum(most, 0.0) * scale
            self._highs.changeColsBounds(columns.size, columns.astype(np.int32), least, most)

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
        largest = max(float(np.max(np.abs(offsets), initial=self._size)), abs(newest))
        if largest == 0.0 or USUAL_OFFSETS[0] <= largest / self._unit <= USUAL_OFFSETS[1]:
            return
        self._unit = 2.0 ** min(max(math.frexp(largest)[1], -1000), 1000)
        for row, offset in enumerate(offsets):
            self._highs.changeRowBounds(row, offset / self._unit, highspy.kHighsInf)
        self._bound_columns()

    def _steepness(self, slope: Vector) -> float:
        """Return the largest slope of a plane plus the linear term, relative to the regularizer.

        Slopes towards a finite bound do not count, as the objective cannot fall forever along them.
        """
        with np.errstate(over="ignore"):  # infinity is steep enough
            relative = (slope + self._v) / self._lam
        if self._box is None:
            return float(np.abs(relative).max())
        falls = np.where(self._box.lower == -np.inf, relative, 0.0)
        return float(np.maximum(falls, np.where(self._box.upper == np.inf, -relative, 0.0)).max())

    def _certified_bound(self) -> float:
        """Return the dual at a feasible ``alpha``: valid whatever the tolerance of HiGHS.

        The dual requires ``|A' alpha + v| <= lam`` in each coordinate, on the simplex; its value is
        ``b' alpha``. The solution of HiGHS satisfies this up to its tolerance; it is mixed with the flattest
        plane until it is feasible.
        """
        planes, total = self._planes, self._dual.sum()
        if not total > 0:
            return -np.inf
        alpha = self._dual / total
        slope = planes.combine(alpha)
        steepness = self._steepness(slope)
        value = float(np.sum(planes.b * alpha))
        if steepness > 1.0:
            flattest = np.argmin(self._slopes)
            if self._slopes[flattest] >= 1.0:
                return -np.inf
            share = (1.0 - self._slopes[flattest]) / (steepness - self._slopes[flattest])
            value = float(share * value + (1.0 - share) * planes.b[flattest])
            slope = share * slope + (1.0 - share) * planes.A[flattest]
        return value if self._box is None else value + self._least_in_box(slope + self._v)

    def _least_in_box(self, slope: Vector) -> float:
        """Return the minimum of ``sum_j lam_j |w_j| + <slope, w>`` in the box: a term of the dual."""
        w = self._best_in_box(slope)
        rises, falls = self._lam * np.abs(w), slope * w
        rounding = ROUNDING * float(np.sum(rises + np.abs(falls)))
        return float(np.sum(rises + falls)) - rounding

    def _best_in_box(self, slope: Vector) -> Vector:
        """Return the minimizer of ``sum_j lam_j |w_j| + <slope, w>`` in the box.

        It is the point nearest to 0, except that a weight whose slope exceeds ``lam`` is at a bound. If that
        is infinite, which it is not for feasible points of the dual, the weight nearest to 0 is returned.
        """
        lam, box = self._lam, self._box
        w = np.where((slope > lam) & np.isfinite(box.lower), box.lower, box.nearest)
        return np.where((slope < -lam) & np.isfinite(box.upper), box.upper, w)
