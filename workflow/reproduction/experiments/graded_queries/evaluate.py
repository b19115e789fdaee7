"""Ranking of web pages by graded relevance, and the oracle's time for few grades.

Rule evaluate_graded_queries. Each of the two parts of the data is tested once, with rankings that were
learned on the other one.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

from ermlab.metrics.ranking import ndcg
from ermlab.ranking import RankingSVM
from reproduction.claims.results import read_json, repeated, write_results
from reproduction.datasets.mslr_5k import HIGHEST_GRADE, JudgedDocuments, read_mslr_5k
from reproduction.experiments.ranking_oracle.algorithms import (
    constraint_by_passes,
    process_levels,
    sort_problem,
)
from reproduction.experiments.ranking_oracle.cost import best_seconds, random_graded_losses
from reproduction.pipeline.job import Paths, run_stage

Vector = NDArray[np.float64]
#: Scores of test documents, after training on documents with losses of queries.
Scorer = Callable[[NDArray, Vector, NDArray, NDArray], Vector]
#: Numbers of grades for which the oracle is timed.
LEVELS = (2, 4, 8, 16, 32, 64, 128, 256)


def _ranking(C: float, rescaling: str) -> Scorer:
    def score(X: NDArray, losses: Vector, query: NDArray, X_test: NDArray) -> Vector:
        return RankingSVM(C=C, rescaling=rescaling).fit(X, losses, query).decision_function(X_test)

    return score


def _regression(alpha: float) -> Scorer:
    def score(X: NDArray, losses: Vector, query: NDArray, X_test: NDArray) -> Vector:
        return -Ridge(alpha=alpha).fit(X, losses).predict(X_test)

    return score


STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0)
#: Candidates of each method: strengths, C or alpha, to functions that train and score.
METHODS: dict[str, dict[float, Scorer]] = {
    "slack": {C: _ranking(C, "slack") for C in STRENGTHS},
    "margin": {C: _ranking(C, "margin") for C in STRENGTHS},
    "ridge": {alpha: _regression(alpha) for alpha in (100 * C for C in STRENGTHS)},
}


def main(inputs: Paths, outputs: Paths, *, seed: int, queries: int, folds: int, samples: int) -> None:
    """Write the quality of each method by query, and measured seconds.

    Parameters
    ----------
    queries : int
        Largest number of queries of each part.
    folds : int
        Folds of the cross-validation over training queries that chooses strengths.
    samples : int
        Number of samples of which the oracle is timed.
    """
    receipt = read_json(inputs["receipt"])
    data = read_mslr_5k(receipt["folder"])
    parts = [first_queries(part, queries) for part in (data.train, data.test)]
    qualities: dict[str, list[Vector]] = {}
    chosen: dict[str, list[float]] = {name: [] for name in METHODS}
    for number, (train, test) in enumerate((parts, parts[::-1])):
        scaler = StandardScaler().fit(train.features)
        X, X_test = scaler.transform(train.features), scaler.transform(test.features)
        losses = losses_of(train)
        for name, candidates in METHODS.items():
            chosen[name].append(choose_strength(candidates, X, train, folds))
            scores = candidates[chosen[name][-1]](X, losses, train.query, X_test)
            qualities.setdefault(name, []).append(ndcg_by_query(test, scores))
        scores = np.random.default_rng([seed, number]).random(len(test))
        qualities.setdefault("chance", []).append(ndcg_by_query(test, scores))
    timings, difference = time_levels(samples, seed)
    write_results(
        Path(outputs["values"]).parent,
        {
            "ndcg": {
                name: repeated(np.concatenate(found), unit="query") for name, found in qualities.items()
            },
            "strengths": chosen,
            "at_edge": methods_at_edge(chosen),
            "queries": [len(np.unique(part.query)) for part in parts],
            "documents": [len(part) for part in parts],
            "levels": LEVELS,
            "samples": samples,
            "difference_of_passes_max": difference,
        },
        datasets={"mslr_5k": receipt["kind"]},
        timings=timings,
    )


def first_queries(documents: JudgedDocuments, n: int) -> JudgedDocuments:
    """Return the documents of the ``n`` smallest query numbers."""
    chosen = np.isin(documents.query, np.unique(documents.query)[:n])
    return JudgedDocuments(documents.features[chosen], documents.relevance[chosen], documents.query[chosen])


def losses_of(documents: JudgedDocuments) -> Vector:
    """Return the loss of each document, 0 for the highest grade and 1 for the lowest."""
    return 1 - documents.relevance / HIGHEST_GRADE


def ndcg_by_query(documents: JudgedDocuments, scores: Vector) -> Vector:
    """Return NDCG@10 of each query that has relevant documents."""
    found = []
    for query in np.unique(documents.query):
        rows = documents.query == query
        if documents.relevance[rows].any():
            found.append(ndcg(documents.relevance[rows], scores[rows]))
    return np.array(found)


def choose_strength(
    candidates: Mapping[float, Scorer], X: NDArray, documents: JudgedDocuments, folds: int
) -> float:
    """Return the strength of the largest mean NDCG@10 in cross-validation over the training queries."""
    losses, query = losses_of(documents), documents.query
    scores = {strength: np.empty(len(X)) for strength in candidates}
    for train, test in GroupKFold(folds).split(X, losses, query):
        for strength, score in candidates.items():
            scores[strength][test] = score(X[train], losses[train], query[train], X[test])
    return max(scores, key=lambda strength: ndcg_by_query(documents, scores[strength]).mean())


def methods_at_edge(chosen: Mapping[str, Sequence[float]]) -> list[str]:
    """Return the methods of which a chosen strength is the smallest or the largest candidate."""
    return [
        name
        for name, strengths in chosen.items()
        if {min(METHODS[name]), max(METHODS[name])} & set(strengths)
    ]


def time_levels(n: int, seed: int) -> tuple[dict[str, Any], float]:
    """Time one pass for each grade, O(nR), and halving, O(n log R), after sorting, for each of `LEVELS`.

    Returns
    -------
    timings : dict
        Processor seconds, ``passes_seconds`` and ``halving_seconds``, and ``passes_over_halving``.
    difference : float
        Largest relative difference of the two constraints.
    """
    passes, halving, differences = [], [], []
    for levels in LEVELS:
        problem = sort_problem(*random_graded_losses(n, levels, seed))
        by_passes, by_halving = constraint_by_passes(problem), process_levels(problem)  # they compile, too
        differences.append(np.abs(by_passes[0] - by_halving[0]).max() / np.abs(by_halving[0]).max())
        seconds = best_seconds(
            3,
            lambda problem=problem: constraint_by_passes(problem),
            lambda problem=problem: process_levels(problem),
            clock=time.thread_time,
        )
        passes.append(seconds[0])
        halving.append(seconds[1])
    timings = {
        "passes_seconds": passes,
        "halving_seconds": halving,
        "passes_over_halving": np.divide(passes, halving),
    }
    return timings, float(max(differences))


if "snakemake" in globals():
    run_stage(main, snakemake)
