"""Block-coordinate ascent in the dual of the taxonomic SVM: a block a sample, ``K (x) B`` never formed.

The problem, its bounds and its memory are those of `ermlab.taxonomy.cutting_planes`. One constraint for all
samples is coarse where a kernel tells nearly all samples apart, and hundreds of them are needed; here each
sample has weights of its own (as in `ermlab.optimize.minimize_blocks`), and a few rounds do.
"""

import time

import numpy as np

from ermlab.taxonomy._blocks_numba import ascend
from ermlab.taxonomy.cutting_planes import search_line
from ermlab.taxonomy.problem import Bounds, Limits, Point, Problem, Solution

#: Passes over the samples between two exact evaluations at most.
PASSES = 10
#: They end when the samples' own gaps are below this share of the whole gap.
MODEL_PRECISION = 0.3
#: A sample is left alone while its gap is below this share of the gap asked for.
SAMPLE_PRECISION = 0.1


def minimize_with_blocks(
    problem: Problem, tol: float, max_iter: int, max_time: float | None = None
) -> Solution:
    """Minimise to a relative gap of ``tol``, or until a limit is met; for one true class a sample."""
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
        # The dual is long exact when small slacks still spoil the value: a slightly longer w has none.
        scaled, scaled_value = search_line(problem, zero, point, at_zero)
        if scaled_value < value:
            best, value = scaled, scaled_value
        seconds.append(time.perf_counter() - began)
    return Solution(best, value, bounds.certified(best), bounds.computed, at_zero, seconds)


def _ascend(
    problem: Problem, mu: np.ndarray, point: Point, rng: np.random.Generator, precision: float, enough: float
) -> Point:
    """Pass over the samples; return the new point with scores free of the rounding errors of the updates."""
    n = len(mu)
    alpha, scores = point.alpha.copy(), point.scores.copy()
    for _ in range(PASSES):
        total = ascend(
            problem.kernel.K,
            problem.kernel.B,
            problem.labels.classes,
            problem.loss,
            problem.slack,
            1.0 / (problem.lam * n),
            mu,
            alpha,
            scores,
            rng.permutation(n),
            precision,
        )
        if total / n <= enough:
            break
    return problem.point(alpha)


def _dual_value(problem: Problem, mu: np.ndarray, point: Point) -> float:
    """Return the lower bound of the objective by the weights of the constraints."""
    offset = float(np.sum(mu * problem.loss[problem.labels.classes])) / len(mu)
    return offset - 0.5 * problem.lam * point.norm2
