"""Cutting planes with one slack for the taxonomic SVM, in the dual (thesis, section 5.2.4).

Each iteration needs two products with the kernel, for the new constraint and for the new ``w``; entries of
the Gram matrix of the constraints are sums over the samples. A constraint is stored as two classes per
sample. Iterates are drawn towards the best point so far by an exact line search to the minimizer of the model
(Franc and Sonnenburg, 2008), which needs no product, as scores are linear in ``w``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from ermlab._utils.progress import report
from ermlab.optimize.qp import solve_simplex_qp
from ermlab.taxonomy import _planes_numba as kernels
from ermlab.taxonomy.problem import Bounds, Limits, Pairs, Point, Problem, Solution

#: The next constraint is computed at this share of the way from the best point to the minimizer of the model.
TOWARDS_MODEL = 0.1
#: The QP is solved to this share of the requested gap.
QP_PRECISION = 1e-2
#: A constraint without weight in this many solutions is dropped.
MAX_IDLE = 50
#: Maximum number of evaluations of the line search, and its relative precision.
LINE_EVALUATIONS = 20
LINE_PRECISION = 1e-3


class Constraints:
    """Constraints ``xi >= offset_j - <alpha_j, w>``; the first is ``xi >= 0``.

    Row j of ``true`` and ``other`` has the two classes of each sample in constraint j, -1 for none.
    """

    def __init__(self, problem: Problem):
        self.problem = problem
        n = problem.kernel.shape[0]
        self.true = np.zeros((1, n), dtype=np.int16)
        self.other = np.full((1, n), -1, dtype=np.int16)
        self._idle = np.zeros(1, dtype=np.int64)
        self.offsets, self.gram = np.zeros(1), np.zeros((1, 1))
        self._lengths = np.zeros((1, problem.kernel.shape[1]))
        self.mu = np.ones(1)

    def add(self, pairs: Pairs) -> None:
        """Add the constraint of the pairs, with one product with the kernel (thesis, eq. 5.29)."""
        problem, m = self.problem, len(self.offsets)
        self.true, self.other = np.vstack([self.true, pairs.true]), np.vstack([self.other, pairs.other])
        new, offset = self.combination([m], [1.0])
        row = np.empty(m + 1)
        kernels.constraint_products(new.scores, self.true, self.other, problem.loss, problem.slack, row)
        gram = np.empty((m + 1, m + 1))
        gram[:m, :m], gram[m], gram[:, m] = self.gram, row, row
        self.gram, self.offsets = gram, np.append(self.offsets, offset)
        self._lengths = np.vstack([self._lengths, problem.lengths(new.alpha)])
        self.mu, self._idle = np.append(self.mu, 0.0), np.append(self._idle, 0)

    def combination(self, numbers: Sequence[int], weights: Sequence[float]) -> tuple[Point, float]:
        """Return the weighted sum of constraints, and that of their offsets."""
        problem = self.problem
        alpha, offset = np.zeros(problem.kernel.shape), 0.0
        for j, weight in zip(numbers, weights, strict=True):
            offset += weight * kernels.add_constraint(
                weight, self.true[j], self.other[j], problem.loss, problem.slack, alpha
            )
        return problem.point(alpha), offset

    def solve(self, precision: float) -> float:
        """Compute the weights ``mu`` of the constraints; return a lower bound of the objective."""
        lam = self.problem.lam
        self.mu = solve_simplex_qp(self.gram, lam * self.offsets, self.mu, precision * lam).alpha
        self._idle = np.where(self.mu > 0, 0, self._idle + 1)
        return float(self.offsets @ self.mu - self.mu @ self.gram @ self.mu / (2 * lam))

    def bound_error(self) -> float:
        """Return a bound of the rounding error of the last lower bound."""
        return self.problem.norm2_error(self.mu @ self._lengths) / (2 * self.problem.lam)

    def minimizer(self) -> Point:
        """Return the ``w`` of the weights, with one product with the kernel."""
        numbers = np.flatnonzero(self.mu)
        return self.combination(numbers, self.mu[numbers] / self.problem.lam)[0]

    def drop_idle(self) -> None:
        """Drop constraints without weight for `MAX_IDLE` solutions, never the first."""
        chosen = self._idle <= MAX_IDLE
        chosen[0] = True
        if not chosen.all():
            self.gram, self.offsets = self.gram[np.ix_(chosen, chosen)], self.offsets[chosen]
            self.true, self.other = self.true[chosen], self.other[chosen]
            self._lengths = self._lengths[chosen]
            self.mu, self._idle = self.mu[chosen], self._idle[chosen]


def minimize_with_planes(
    problem: Problem,
    tol: float,
    max_iter: int,
    max_time: float | None = None,
    constraints: Constraints | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Solution:
    """Minimize to a relative gap of ``tol`` or up to a limit; ``clock`` measures each iteration."""
    limits = Limits(max_iter, max_time)
    constraints = Constraints(problem) if constraints is None else constraints
    best = problem.zero()
    pairs = problem.most_violated(best.scores)
    value = at_zero = pairs.risk
    bounds, seconds = Bounds(problem), []
    while bounds.relative_gap(best, value, at_zero) > tol and limits.allow(seconds):
        began = clock()
        constraints.add(pairs)
        scale = max(min(value, at_zero - value), 1e-6 * value)
        bounds.add(constraints.solve(QP_PRECISION * tol * scale), constraints.bound_error())
        constraints.drop_idle()
        target = constraints.minimizer()
        best, value = search_line(problem, best, target, value)
        between = (1 - TOWARDS_MODEL) * best.scores + TOWARDS_MODEL * target.scores
        pairs = problem.most_violated(between)
        seconds.append(clock() - began)
        report("iteration", len(seconds), objective=value / problem.lam)
    return Solution(best, value, bounds.certified(best), bounds.computed, at_zero, seconds)


def search_line(problem: Problem, start: Point, target: Point, value: float) -> tuple[Point, float]:
    """Minimize the objective on the ray from ``start`` through ``target``; return the point and its value.

    The derivative grows along the ray; its zero is first bracketed, then found by bisection.
    """
    step_alpha, step_scores = target.alpha - start.alpha, target.scores - start.scores
    cross, square = float(np.sum(start.alpha * step_scores)), float(np.sum(step_alpha * step_scores))

    def norm2(t: float) -> float:
        return max(start.norm2 + 2 * t * cross + t * t * square, 0.0)

    def evaluate(t: float) -> tuple[float, float]:
        pairs = problem.most_violated(start.scores + t * step_scores)
        slope = kernels.slope_along(step_scores, pairs.true, pairs.other, problem.loss, problem.slack)
        return pairs.risk + 0.5 * problem.lam * norm2(t), slope + problem.lam * (cross + t * square)

    best_t, best_value = 0.0, value
    low, high, enclosed = 0.0, 1.0, False
    for _ in range(LINE_EVALUATIONS):
        t = 0.5 * (low + high) if enclosed else high
        here, slope = evaluate(t)
        if here < best_value:
            best_t, best_value = t, here
        if slope >= 0:
            high, enclosed = t, True
        elif enclosed:
            low = t
        else:
            low, high = t, 2 * t
        if enclosed and high - low <= LINE_PRECISION * high:
            break
    alpha, scores = start.alpha + best_t * step_alpha, start.scores + best_t * step_scores
    return Point(alpha, scores, norm2(best_t)), best_value
