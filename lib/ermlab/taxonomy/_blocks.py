"""Block-coordinate ascent in the dual of the taxonomic SVM: one block per sample (``K (x) B`` is not formed).

Problem, bounds and memory are those of `ermlab.taxonomy.cutting_planes`. Where the kernel separates nearly
all samples, one constraint for all samples is coarse and hundreds are needed. Here each sample has its own
weights (as in `ermlab.optimize.minimize_blocks`), and a few passes suffice.
"""

from __future__ import annotations

import time

import numpy as np

from ermlab._utils.progress import report
from ermlab.taxonomy._blocks_numba import ascend
from ermlab.taxonomy.cutting_planes import search_line
from ermlab.taxonomy.problem import Bounds, Limits, Point, Problem, Solution

#: Maximum number of passes over the samples between two exact evaluations.
PASSES = 10
#: Passes end when the sum of the gaps of the samples is below this share of the total gap.
MODEL_PRECISION = 0.3
#: A sample is skipped if its gap is below this share of the requested gap.
SAMPLE_PRECISION = 0.1


def minimize_with_blocks(
    problem: Problem, tol: float, max_iter: int, max_time: float | None = None
) -> Solution:
    """Minimize to a relative gap of ``tol`` or up to a limit, for samples with one class each."""
    limits = Limits(max_iter, max_time)
    zero = problem.zero()
    best, value = zero, problem.value(zero)
    at_zero, bounds, seconds = value, Bounds(problem), []
    mu, point = np.zeros_like(zero.alpha), zero
    rng = np.random.default_rng(0)
    while bounds.relative_gap(best, value, at_zero) > tol and limits.allow(seconds):
        began = time.perf_counter()
        gap = max(value - bounds.computed, 0.0)
        asked = tol * (min(value, at_zero - value) if seconds else value)
        point = _ascend(problem, mu, point, rng, SAMPLE_PRECISION * asked, MODEL_PRECISION * gap)
        error = 0.5 * problem.lam * problem.norm2_error(problem.lengths(point.alpha))
        bounds.add(_dual_value(problem, mu, point), error)
        # Small slacks dominate the value when the dual is already exact: a slightly longer w has none.
        scaled, scaled_value = search_line(problem, zero, point, at_zero)
        if scaled_value < value:
            best, value = scaled, scaled_value
        seconds.append(time.perf_counter() - began)
        report("iteration", len(seconds), objective=value / problem.lam)
    return Solution(best, value, bounds.certified(best), bounds.computed, at_zero, seconds)


def _ascend(
    problem: Problem, mu: np.ndarray, point: Point, rng: np.random.Generator, precision: float, enough: float
) -> Point:
    """Pass over the samples; return the new point, with scores recomputed without accumulated rounding."""
    n = len(mu)
    alpha, scores = point.alpha.copy(), point.scores.copy()
    for _ in range(PASSES):
        order, C = rng.permutation(n), 1.0 / (problem.lam * n)
        given = problem.kernel.K, problem.kernel.B, problem.labels.classes, problem.loss, problem.slack
        if ascend(*given, C, mu, alpha, scores, order, precision) / n <= enough:
            break
    return problem.point(alpha)


def _dual_value(problem: Problem, mu: np.ndarray, point: Point) -> float:
    """Return the lower bound of the objective at the weights of the constraints."""
    offset = float(np.sum(mu * problem.loss[problem.labels.classes])) / len(mu)
    return offset - 0.5 * problem.lam * point.norm2
