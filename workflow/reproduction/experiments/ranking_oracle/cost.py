"""Time of Algorithms 1 and 2 and of the library's oracle: over samples, levels, loss values and threads.

Times of one thread are those of the processor, which other programs hardly change. Threads are compared by
the wall clock.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from ermlab.ranking import most_violated
from reproduction.experiments.ranking_oracle.algorithms import (
    Level,
    bipartite_constraint,
    complete_constraint,
    process_levels,
    sort_problem,
)

Vector = NDArray[np.float64]
#: ``alpha`` and ``delta`` of a constraint.
Constraint = tuple[Vector, float]
#: Numbers of distinct loss values for which the recursion is timed.
LOSS_VALUES = (4, 16, 256, 4096, 65536)


def timed_sizes(largest: int) -> list[int]:
    """Return 1e4, 3e4, 1e5, 3e5, ... up to half of the largest size, and the largest."""
    candidates = [m * 10**k for k in range(4, 9) for m in (1, 3)]
    return [n for n in candidates if n <= largest / 2] + [largest]


def compile_kernels() -> None:
    """Compile all kernels, so that the first measurement does not."""
    losses, scores = random_losses_and_scores(300_000, 0)
    most_violated(losses, scores)
    complete_constraint(losses[:100], scores[:100])
    bipartite_constraint(losses[:3], scores[:3], np.argsort(scores[:3]), 1)


def random_losses_and_scores(n: int, seed: int) -> tuple[Vector, Vector]:
    """Return distinct losses in [0, 1), and noisy scores that decrease with the loss."""
    rng = np.random.default_rng(seed)
    losses = rng.random(n)
    return losses, rng.normal(size=n) - 2 * losses


def best_seconds(
    repeats: int, *actions: Callable[[], object], clock: Callable[[], float] | None = None
) -> list[float]:
    """Return the shortest time of each action; they alternate, so that a busy machine affects all alike.

    The default clock is the wall clock.
    """
    clock = clock or time.perf_counter
    best = [np.inf] * len(actions)
    for _ in range(repeats):
        for k, action in enumerate(actions):
            began = clock()
            action()
            best[k] = min(best[k], clock() - began)
    return best


@dataclass(frozen=True)
class ThreadComparison:
    """Constraints found with one thread and with two, the seconds of each, and processor seconds of one."""

    constraints: tuple[Constraint, Constraint]
    seconds: tuple[float, float]
    processor_seconds: float


def time_sizes(sizes: Sequence[int], seed: int) -> tuple[dict[str, list[float]], ThreadComparison]:
    """Return seconds for each size, and the comparison of one thread and two at the last.

    The times are those of Algorithm 1 on sorted samples, of a sort of the scores, and of Algorithm 2 and the
    library's oracle, with one thread, with all sorting.
    """
    rows = []
    for n in sizes:
        losses, scores = random_losses_and_scores(n, seed)
        repeats = int(np.clip(2_000_000 // n, 1, 20))  # small problems often, the largest once
        algorithms = _time_algorithms(losses, scores, repeats)
        compared = _compare_threads(losses, scores, repeats)
        rows.append((*algorithms, compared.processor_seconds))
    bipartite, argsort, algorithm, oracle = (list(column) for column in zip(*rows, strict=True))
    timings = {
        "bipartite_seconds": bipartite,
        "argsort_seconds": argsort,
        "algorithm_seconds": algorithm,
        "oracle_seconds": oracle,
        "per_n_log_n": _per_n_log_n(sizes, algorithm),
        "oracle_per_n_log_n": _per_n_log_n(sizes, oracle),
    }
    return timings, compared


def _time_algorithms(losses: Vector, scores: Vector, repeats: int) -> tuple[float, float, float]:
    """Return the shortest seconds of Algorithm 1, of a sort of the scores, and of Algorithm 2."""
    problems = [sort_problem(losses, scores) for _ in range(repeats)]
    problem = problems[0]
    by_loss, by_score = np.min([found.seconds for found in problems], axis=0).tolist()
    ordered = problem.losses, problem.scores, problem.order
    bipartite, recursion = best_seconds(
        repeats,
        lambda: bipartite_constraint(*ordered, losses.size // 2),
        lambda: process_levels(problem),
        clock=time.thread_time,
    )
    return bipartite, by_score, by_loss + by_score + recursion


def _compare_threads(losses: Vector, scores: Vector, repeats: int) -> ThreadComparison:
    threads = numba.get_num_threads()
    found: dict[int, Constraint] = {}
    processor_seconds = []

    def run(count: int) -> None:
        numba.set_num_threads(count)
        began = time.process_time()
        found[count] = most_violated(losses, scores)
        if count == 1:
            processor_seconds.append(time.process_time() - began)

    two = min(2, numba.config.NUMBA_NUM_THREADS)
    one_seconds, two_seconds = best_seconds(repeats, lambda: run(1), lambda: run(two))
    numba.set_num_threads(threads)
    return ThreadComparison((found[1], found[two]), (one_seconds, two_seconds), min(processor_seconds))


def _per_n_log_n(sizes: Sequence[int], seconds: Sequence[float]) -> list[float]:
    return [each / (n * np.log2(n)) for n, each in zip(sizes, seconds, strict=True)]


def cost_of_levels(n: int, seed: int, repeats: int = 5) -> list[Level]:
    """Return the cost of each level of the recursion, the shortest of several runs."""
    return _cheapest_levels(*random_losses_and_scores(n, seed), repeats)


def _cheapest_levels(losses: Vector, scores: Vector, repeats: int) -> list[Level]:
    problem = sort_problem(losses, scores)
    runs = [process_levels(problem)[2] for _ in range(repeats)]
    return [min(levels, key=lambda level: level.seconds) for levels in zip(*runs, strict=True)]


def time_loss_values(n: int, seed: int) -> tuple[list[int], list[float]]:
    """Return the levels of the recursion and its seconds without sorting, for each of `LOSS_VALUES`.

    Each value is the loss of as many samples.
    """
    costs = [_cheapest_levels(*random_graded_losses(n, R, seed), repeats=3) for R in LOSS_VALUES]
    return [len(levels) for levels in costs], [sum(level.seconds for level in levels) for levels in costs]


def random_graded_losses(n: int, levels: int, seed: int) -> tuple[Vector, Vector]:
    """Return losses of the given number of values, each of as many samples, and noisy scores."""
    losses, scores = random_losses_and_scores(n, seed)
    ranks = np.empty(n, dtype=np.int64)
    ranks[np.argsort(losses)] = np.arange(n)
    return ranks * levels // n / levels, scores
