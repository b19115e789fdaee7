"""Measure exactness and cost of the ranking oracle, and train with it (rule evaluate_ranking_oracle)."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ermlab.ranking import RankingSVM, most_violated
from reproduction.claims.results import write_results
from reproduction.experiments.ranking_oracle.algorithms import (
    bipartite_constraint,
    complete_constraint,
    sort_problem,
)
from reproduction.experiments.ranking_oracle.cost import (
    LOSS_VALUES,
    Constraint,
    compile_kernels,
    cost_of_levels,
    time_loss_values,
    time_sizes,
    timed_sizes,
)
from reproduction.pipeline.job import Paths, run_stage

#: The size for which the thesis states a time.
NAMED_SIZE = 100_000
N_FEATURES = 7
CHUNK = 1_000_000


def main(
    inputs: Paths, outputs: Paths, *, seed: int, largest: int, levels: int, training: int, problems: int
) -> None:
    """Time the oracles up to ``largest`` samples and the recursion on ``levels``; train on ``training``."""
    compile_kernels()
    sizes = timed_sizes(largest)
    timings, compared = time_sizes(sizes, seed)
    if NAMED_SIZE in sizes:
        timings["at_100000"] = timings["algorithm_seconds"][sizes.index(NAMED_SIZE)]
    timings["speedup_two_threads"] = compared.seconds[0] / compared.seconds[1]
    thread_difference = relative_difference(*compared.constraints)
    del compared  # 800 MB for 5e7 samples
    costs = cost_of_levels(levels, seed)
    timings["level_seconds"] = [level.seconds for level in costs]
    value_levels, timings["loss_value_seconds"] = time_loss_values(levels, seed)
    timings["per_n_log_r"] = [
        seconds / (levels * np.log2(R))
        for R, seconds in zip(LOSS_VALUES, timings["loss_value_seconds"], strict=True)
    ]
    model, timings["training_seconds"] = _train(training, seed)
    write_results(
        Path(outputs["values"]).parent,
        {
            "brute_force_problems": problems,
            "brute_force_difference_max": brute_force_differences(seed, problems),
            "sizes": sizes,
            "thread_difference_max": thread_difference,
            "level_samples": [level.samples for level in costs],
            "level_nodes": [level.nodes for level in costs],
            "loss_values": LOSS_VALUES,
            "loss_value_levels": value_levels,
            "training": {
                "samples": training,
                "features": N_FEATURES,
                "pairs": model.n_pairs_,
                "calls": model.n_iter_,
                "gap": model.gap_,
            },
        },
        timings=timings,
    )


# ------------------------------------------------------------------------------------------------ exactness


def brute_force_constraint(
    losses: NDArray, scores: NDArray, rescaling: str, threshold: float | None = None
) -> Constraint:
    """Return the most violated constraint by enumerating all pairs (thesis, eqs. 3.11 and 3.12).

    Without ``threshold`` the graph is complete, else bipartite.
    """
    difference = losses - losses[:, None]
    violated = difference > 0
    if threshold is not None:
        violated &= (losses <= threshold)[:, None] & (losses > threshold)
    if rescaling == "slack":
        violated &= scores[:, None] < scores + 1
        weight = violated * difference
    else:
        violated &= scores[:, None] - scores < difference
        weight = violated.astype(float)
    return weight.sum(axis=1) - weight.sum(axis=0), float((violated * difference).sum())


def relative_difference(constraint: Constraint, other: Constraint) -> float:
    """Return the largest difference of any number, relative to the largest number of ``constraint``."""
    (alpha, delta), (other_alpha, other_delta) = constraint, other
    largest = max(1.0, float(np.abs(alpha).max()), abs(delta))
    return max(float(np.abs(alpha - other_alpha).max()), abs(delta - other_delta)) / largest


def brute_force_differences(seed: int, problems: int) -> dict[str, float]:
    """Return the largest relative differences from brute force on small random problems.

    Those of Algorithms 1 and 2 as printed with their errors corrected, which are for slack rescaling, and of
    the library's oracle for both rescalings and all graphs.
    """
    rng = np.random.default_rng(seed)
    largest = {"algorithm_1": 0.0, "algorithm_2": 0.0, "library": 0.0}
    for _ in range(problems):
        n = int(rng.integers(2, 200))
        # Sixteenths make ties in losses and scores, and are exact.
        losses, scores = rng.integers(0, 16, n) / 16, rng.integers(-48, 48, n) / 16
        threshold = float(rng.choice(losses))
        for name, difference in _differences(losses, scores, threshold):
            largest[name] = max(largest[name], difference)
    return largest


def _differences(losses: NDArray, scores: NDArray, threshold: float) -> Iterator[tuple[str, float]]:
    """Yield the name of an oracle and its difference from brute force, for each rescaling and graph."""
    problem = sort_problem(losses, scores)
    t = int(np.count_nonzero(losses <= threshold))
    found = bipartite_constraint(problem.losses, problem.scores, problem.order, t)
    expected = brute_force_constraint(problem.losses, problem.scores, "slack", threshold)
    yield "algorithm_1", relative_difference(expected, found)
    alpha, delta, _ = complete_constraint(losses, scores)
    yield "algorithm_2", relative_difference(brute_force_constraint(losses, scores, "slack"), (alpha, delta))
    for rescaling in ("slack", "margin"):
        for limit in (None, 0.0, threshold):
            graph = "complete" if limit is None else "bipartite"
            found = most_violated(losses, scores, rescaling=rescaling, graph=graph, threshold=limit)
            expected = brute_force_constraint(losses, scores, rescaling, limit)
            yield "library", relative_difference(expected, found)


# ------------------------------------------------------------------------------------------------- training


def fill_planted_problem(X: NDArray, losses: NDArray[np.float64], seed: int) -> None:
    """Fill in Gaussian features, and losses in (0, 1) that decrease with a linear score plus noise.

    The problem is generated in chunks, so that memory-mapped files can be filled.
    """
    n, d = X.shape
    w = np.random.default_rng(seed).normal(size=d)
    w /= np.linalg.norm(w)
    for number, start in enumerate(range(0, n, CHUNK)):
        rng = np.random.default_rng([seed, number])
        rows = slice(start, min(start + CHUNK, n))
        chunk = rng.normal(size=(rows.stop - start, d))
        X[rows] = chunk
        losses[rows] = 1 / (1 + np.exp(chunk @ w + rng.normal(size=len(chunk))))


def _train(n: int, seed: int) -> tuple[RankingSVM, float]:
    """Train on all pairs of ``n`` samples; return the model and the seconds."""
    X, losses = np.empty((n, N_FEATURES), dtype=np.float32), np.empty(n)
    fill_planted_problem(X, losses, seed)
    began = time.perf_counter()
    model = RankingSVM(C=1000.0, tol=1e-3).fit(X, losses)
    return model, time.perf_counter() - began


if "snakemake" in globals():
    run_stage(main, snakemake)
