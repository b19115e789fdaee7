"""Measure exactness and cost of the ranking oracle, and train with it (rule evaluate_ranking_oracle)."""

import time
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np
from numpy.typing import NDArray

from ermlab.ranking import RankingSVM, most_violated
from reproduction.claims.results import write_results
from reproduction.experiments.ranking_oracle.algorithms import (
    Level,
    bipartite_constraint,
    complete_constraint,
)
from reproduction.pipeline.job import Paths, run_stage

#: The size for which the thesis states a time.
NAMED_SIZE = 100_000
THREADS_SIZE = 1_000_000
N_FEATURES = 7
CHUNK = 1_000_000

#: ``alpha`` and ``delta`` of a constraint.
Constraint = tuple[NDArray[np.float64], float]


def main(
    inputs: Paths, outputs: Paths, *, seed: int, largest: int, levels: int, training: int, problems: int
) -> None:
    """Measure the oracle up to ``largest`` samples and the recursion on ``levels``; train on ``training``."""
    _compile()
    sizes = timed_sizes(largest)
    timings = _time_sizes(sizes, seed)
    if NAMED_SIZE in sizes:
        timings["at_100000"] = timings["oracle_seconds"][sizes.index(NAMED_SIZE)]
    thread_difference, timings["speedup_two_threads"] = _compare_threads(min(THREADS_SIZE, largest), seed)
    costs = _cost_levels(levels, seed)
    timings["level_seconds"] = [level.seconds for level in costs]
    model, timings["training_seconds"] = _train(training, seed)
    write_results(
        Path(outputs["values"]).parent,
        {
            "brute_force_problems": problems,
            "brute_force_difference_max": _brute_force_difference(seed, problems),
            "sizes": sizes,
            "thread_difference_max": thread_difference,
            "level_samples": [level.samples for level in costs],
            "level_nodes": [level.nodes for level in costs],
            "trained_samples_max": training,
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


def timed_sizes(largest: int) -> list[int]:
    """Return 1e4, 2e4, 5e4, 1e5, ... below the largest size, and the largest."""
    candidates = [m * 10**k for k in range(4, 9) for m in (1, 2, 5)]
    return [n for n in candidates if n < largest] + [largest]


def _compile() -> None:
    """Compile all kernels, so that the first measurement does not."""
    losses, scores = random_losses_and_scores(300_000, 0)
    most_violated(losses, scores)
    complete_constraint(losses[:100], scores[:100])


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


def _brute_force_difference(seed: int, problems: int) -> float:
    """Return the largest relative difference of oracle and brute force on small random problems."""
    rng = np.random.default_rng(seed)
    differences = []
    for _ in range(problems):
        n = int(rng.integers(2, 200))
        # Sixteenths make ties in losses and scores, and are exact.
        losses, scores = rng.integers(0, 16, n) / 16, rng.integers(-48, 48, n) / 16
        for rescaling in ("slack", "margin"):
            for threshold in (None, 0.0, float(rng.choice(losses))):
                graph = "complete" if threshold is None else "bipartite"
                found = most_violated(losses, scores, rescaling=rescaling, graph=graph, threshold=threshold)
                expected = brute_force_constraint(losses, scores, rescaling, threshold)
                differences.append(relative_difference(found, expected))
    return max(differences)


# ----------------------------------------------------------------------------------------------------- cost


def random_losses_and_scores(n: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return distinct losses in [0, 1), and noisy scores that decrease with the loss."""
    rng = np.random.default_rng(seed)
    losses = rng.random(n)
    return losses, rng.normal(size=n) - 2 * losses


def best_seconds(repeats: int, *actions: Callable[[], object]) -> list[float]:
    """Return the shortest time of each action; they alternate, so that a busy machine affects all alike."""
    best = [np.inf] * len(actions)
    for _ in range(repeats):
        for k, action in enumerate(actions):
            began = time.perf_counter()
            action()
            best[k] = min(best[k], time.perf_counter() - began)
    return best


def _time_sizes(sizes: list[int], seed: int) -> dict[str, list[float]]:
    """Return the seconds of the oracle, of NumPy's sort alone, and of Algorithm 1 on sorted samples."""
    rows = []
    for n in sizes:
        losses, scores = random_losses_and_scores(n, seed)
        by_loss = np.argsort(losses)
        sorted_problem = losses[by_loss], scores[by_loss], np.argsort(scores[by_loss])
        rows.append(
            best_seconds(
                int(np.clip(2_000_000 // n, 1, 20)),  # small problems often, the largest once
                lambda problem=(losses, scores): most_violated(*problem),
                lambda scores=scores: np.argsort(scores, kind="stable"),
                lambda problem=sorted_problem, n=n: bipartite_constraint(*problem, n // 2),
            )
        )
    oracle, argsort, bipartite = (list(column) for column in zip(*rows, strict=True))
    return {
        "oracle_seconds": oracle,
        "argsort_seconds": argsort,
        "bipartite_seconds": bipartite,
        "per_n_log_n": [seconds / (n * np.log2(n)) for n, seconds in zip(sizes, oracle, strict=True)],
    }


def _compare_threads(n: int, seed: int) -> tuple[float, float]:
    """Return the largest difference between one thread and two, and the speedup of two."""
    losses, scores = random_losses_and_scores(n, seed)
    threads = numba.get_num_threads()
    results, seconds = [], []
    for count in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
        numba.set_num_threads(count)
        results.append(most_violated(losses, scores))
        seconds += best_seconds(5, lambda: most_violated(losses, scores))
    numba.set_num_threads(threads)
    return relative_difference(*results), seconds[0] / seconds[1]


def _cost_levels(n: int, seed: int) -> list[Level]:
    """Return the cost of each level of the recursion, the best of three runs."""
    losses, scores = random_losses_and_scores(n, seed)
    runs = [complete_constraint(losses, scores)[2] for _ in range(3)]
    return [min(levels, key=lambda level: level.seconds) for levels in zip(*runs, strict=True)]


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
