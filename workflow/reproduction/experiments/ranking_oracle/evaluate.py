"""Exactness, cost and scaling of the ranking oracle, and training with it (rule evaluate_ranking_oracle)."""

import time
from pathlib import Path

import numba
import numpy as np

from ermlab.ranking import RankingSVM, most_violated
from reproduction.claims.results import write_results
from reproduction.experiments.ranking_oracle.algorithms import bipartite_constraint, complete_constraint
from reproduction.experiments.ranking_oracle.cases import (
    best_seconds,
    brute_force_sums,
    fill_planted_problem,
    oracle_sums,
    random_losses_and_scores,
)
from reproduction.pipeline.job import job

#: Where the thesis says what the oracle takes.
NAMED_SIZE = 100_000
THREADS_SIZE = 1_000_000
FEATURES = 7


def main(folder: str | Path, seed: int, largest: int, levels: int, training: int, problems: int) -> None:
    """Measure the oracle up to ``largest`` samples and the recursion on ``levels``; train on ``training``."""
    _compile()
    sizes = _sizes(largest)
    timings = _time_sizes(sizes, seed)
    if NAMED_SIZE in sizes:
        timings["at_100000"] = timings["oracle_seconds"][sizes.index(NAMED_SIZE)]
    thread_difference, timings["speedup_two_threads"] = _compare_threads(min(THREADS_SIZE, largest), seed)
    costs = _cost_levels(levels, seed)
    timings["level_seconds"] = [level.seconds for level in costs]
    model, timings["training_seconds"] = _train(training, seed)
    write_results(
        folder,
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
                "features": FEATURES,
                "pairs": model.n_pairs_,
                "calls": model.n_iter_,
                "gap": model.gap_,
            },
        },
        timings=timings,
    )


def _sizes(largest: int) -> list[int]:
    """Return 1e4, 2e4, 5e4, 1e5 ... up to the largest."""
    candidates = [m * 10**k for k in range(4, 9) for m in (1, 2, 5)]
    return [n for n in candidates if n < largest] + [largest]


def _compile() -> None:
    """Compile all kernels, so that the first measurement does not."""
    losses, scores = random_losses_and_scores(300_000, 0)
    most_violated(losses, scores)
    complete_constraint(losses[:100], scores[:100])


def _brute_force_difference(seed: int, problems: int) -> float:
    """Return the largest difference from the sum over all pairs, as a share of its largest number."""
    rng = np.random.default_rng(seed)
    differences = []
    for _ in range(problems):
        n = int(rng.integers(2, 200))
        # Sixteenths make ties in losses and scores, and are exact.
        losses, scores = rng.integers(0, 16, n) / 16, rng.integers(-48, 48, n) / 16
        for rescaling in ("slack", "margin"):
            for threshold in (None, 0.0, float(rng.choice(losses))):
                case = losses, scores, rescaling, threshold
                differences.append(oracle_sums(*case).difference(brute_force_sums(*case)))
    return max(differences)


def _time_sizes(sizes: list[int], seed: int) -> dict[str, list[float]]:
    """Return the seconds of the oracle, of numpy's sort alone, and of Algorithm 1 on sorted samples."""
    rows = []
    for n in sizes:
        losses, scores = random_losses_and_scores(n, seed)
        by_loss = np.argsort(losses)
        sorted_problem = losses[by_loss], scores[by_loss], np.argsort(scores[by_loss])
        rows.append(
            best_seconds(
                _repeats(n),
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


def _repeats(n: int) -> int:
    """Return how often to measure: small problems often, the largest once."""
    return int(np.clip(2_000_000 // n, 1, 20))


def _compare_threads(n: int, seed: int) -> tuple[float, float]:
    """Return the largest difference between one thread and two, and how much faster two are."""
    losses, scores = random_losses_and_scores(n, seed)
    threads = numba.get_num_threads()
    results, seconds = [], []
    for count in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
        numba.set_num_threads(count)
        results.append(oracle_sums(losses, scores, "slack", None))
        seconds += best_seconds(5, lambda: most_violated(losses, scores))
    numba.set_num_threads(threads)
    return results[0].difference(results[1]), seconds[0] / seconds[1]


def _cost_levels(n: int, seed: int) -> list:
    """Return the cost of each level of the recursion, the best of three runs."""
    losses, scores = random_losses_and_scores(n, seed)
    runs = [complete_constraint(losses, scores)[2] for _ in range(3)]
    return [min(levels, key=lambda level: level.seconds) for levels in zip(*runs, strict=True)]


def _train(n: int, seed: int) -> tuple[RankingSVM, float]:
    """Train on all pairs of n samples; return the model and the seconds."""
    X, losses = np.empty((n, FEATURES), dtype=np.float32), np.empty(n)
    fill_planted_problem(X, losses, seed)
    began = time.perf_counter()
    model = RankingSVM(C=1000.0, tol=1e-3).fit(X, losses)
    return model, time.perf_counter() - began


if "snakemake" in globals():
    with job(snakemake):
        sizes = ("largest", "levels", "training", "problems")
        main(
            Path(snakemake.output.values).parent,
            snakemake.params.seed,
            **{name: snakemake.params[name] for name in sizes},
        )
