"""The evaluation of the ranking oracle on constraints small enough to count."""

import time

import numpy as np
import pytest

from ermlab.ranking import most_violated
from reproduction.claims.results import read_results
from reproduction.experiments.ranking_oracle.evaluate import (
    best_seconds,
    brute_force_constraint,
    fill_planted_problem,
    main,
    random_losses_and_scores,
    relative_difference,
    timed_sizes,
)

LOSSES, SCORES = np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.75, 0.25])


@pytest.mark.parametrize(
    ("rescaling", "threshold", "alpha", "delta"),
    [
        # Slack: every pair (0, 1), (0, 2), (1, 2) is violated and weighs .5, 1, .5.
        ("slack", None, [1.5, 0, -1.5], 2),
        # Margin: (1, 2) is ordered by exactly its difference of loss; pairs weigh 1.
        ("margin", None, [2, -1, -1], 1.5),
        ("slack", 0.0, [1.5, -0.5, -1], 1.5),
        ("slack", 0.5, [1, 0.5, -1.5], 1.5),
        ("margin", 0.5, [1, 0, -1], 1),
    ],
)
def test_brute_force_counts_the_violated_pairs(rescaling, threshold, alpha, delta):
    found = brute_force_constraint(LOSSES, SCORES, rescaling, threshold)
    assert (found[0].tolist(), found[1]) == (alpha, delta)
    graph = "complete" if threshold is None else "bipartite"
    oracle = most_violated(LOSSES, SCORES, rescaling=rescaling, graph=graph, threshold=threshold)
    assert relative_difference(oracle, found) == 0


def test_differences_are_relative_to_the_first_constraint():
    first, second = (np.array([1.0, -4.0]), 2.0), (np.array([1.0, -2.0]), 1.5)
    assert relative_difference(first, second) == 0.5
    assert relative_difference(second, first) == 1.0
    assert relative_difference((np.array([0.1]), 0.5), (np.array([0.1]), 0.25)) == 0.25  # of at least 1


def test_sizes_end_with_the_largest():
    assert timed_sizes(60_000) == [10_000, 20_000, 50_000, 60_000]
    assert timed_sizes(100_000) == [10_000, 20_000, 50_000, 100_000]


def test_the_shortest_time_of_each_action_counts(monkeypatch):
    # Two rounds: the first action takes 5 and 3, the second 1 and 2.
    clock = iter([0, 5, 10, 11, 20, 23, 30, 32])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    calls = []
    assert best_seconds(2, lambda: calls.append("a"), lambda: calls.append("b")) == [3, 1]
    assert calls == ["a", "b", "a", "b"]


def test_scores_of_random_problems_decrease_with_the_loss():
    losses, scores = random_losses_and_scores(1000, 1)
    assert len(np.unique(losses)) == 1000
    assert 0 <= losses.min() <= losses.max() < 1
    assert np.corrcoef(losses, scores)[0, 1] < -0.4


def test_losses_of_the_planted_problem_decrease_with_a_linear_score():
    X, losses = np.empty((1000, 3), dtype=np.float32), np.empty(1000)
    fill_planted_problem(X, losses, seed=2)
    w = np.linalg.lstsq(X, np.log(1 / losses - 1), rcond=None)[0]
    planted = np.random.default_rng(2).normal(size=3)
    np.testing.assert_allclose(w, planted / np.linalg.norm(planted), atol=0.1)


def test_results_of_a_small_run(tmp_path):
    outputs = {"values": str(tmp_path / "values.json")}
    main({}, outputs, seed=0, largest=3000, levels=8, training=200, problems=2)
    results = read_results(tmp_path)
    values, timings = results["values"], results["timings"]
    assert values["sizes"] == [3000]
    assert values["level_nodes"] == [1, 2, 4]
    assert values["level_samples"] == [8, 8, 8]
    assert values["brute_force_problems"] == 2
    assert values["brute_force_difference_max"] < 1e-12
    assert values["thread_difference_max"] == 0
    training = values["training"]
    assert (training["samples"], training["features"], training["pairs"]) == (200, 7, 200 * 199 // 2)
    assert 0 <= training["gap"] <= 1e-3
    assert "at_100000" not in timings
    assert len(timings["level_seconds"]) == 3
    assert timings["per_n_log_n"][0] == pytest.approx(timings["oracle_seconds"][0] / (3000 * np.log2(3000)))
