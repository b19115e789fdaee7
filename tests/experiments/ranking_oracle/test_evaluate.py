"""The evaluation of the ranking oracle on constraints small enough to count."""

import time

import numpy as np
import pytest

from ermlab.ranking import most_violated
from reproduction.claims.results import read_results
from reproduction.experiments.ranking_oracle import evaluate
from reproduction.experiments.ranking_oracle.cost import (
    LOSS_VALUES,
    best_seconds,
    random_losses_and_scores,
    time_loss_values,
    time_sizes,
    timed_sizes,
)
from reproduction.experiments.ranking_oracle.evaluate import (
    brute_force_constraint,
    brute_force_differences,
    fill_planted_problem,
    main,
    relative_difference,
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
    assert timed_sizes(60_000) == [10_000, 30_000, 60_000]
    assert timed_sizes(200_000) == [10_000, 30_000, 100_000, 200_000]


def test_the_shortest_time_of_each_action_counts(monkeypatch):
    # Two rounds: the first action takes 5 and 3, the second 1 and 2.
    clock = iter([0, 5, 10, 11, 20, 23, 30, 32])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    calls = []
    assert best_seconds(2, lambda: calls.append("a"), lambda: calls.append("b")) == [3, 1]
    own = iter([1, 5])
    assert best_seconds(1, lambda: None, clock=lambda: next(own)) == [4]
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
    assert max(values["brute_force_difference_max"].values()) < 1e-12
    assert values["loss_values"] == list(LOSS_VALUES)
    assert values["thread_difference_max"] == 0
    training = values["training"]
    assert (training["samples"], training["features"], training["pairs"]) == (200, 7, 200 * 199 // 2)
    assert 0 <= training["gap"] <= 1e-3
    assert "at_100000" not in timings
    assert len(timings["level_seconds"]) == 3
    steps = 3000 * np.log2(3000)
    assert timings["per_n_log_n"][0] == pytest.approx(timings["algorithm_seconds"][0] / steps)
    assert timings["oracle_per_n_log_n"][0] == pytest.approx(timings["oracle_seconds"][0] / steps)
    assert timings["per_n_log_r"][1] == pytest.approx(timings["loss_value_seconds"][1] / (8 * 4))


def test_each_wrong_oracle_is_found_by_brute_force(monkeypatch):
    exact = brute_force_differences(seed=1, problems=3)
    assert exact == pytest.approx(dict.fromkeys(("algorithm_1", "algorithm_2", "library"), 0.0), abs=1e-12)
    shifted = {
        "bipartite_constraint": "algorithm_1",
        "complete_constraint": "algorithm_2",
        "most_violated": "library",
    }
    for name, row in shifted.items():
        right = getattr(evaluate, name)
        with monkeypatch.context() as patch:
            patch.setattr(
                evaluate,
                name,
                lambda *args, right=right, **options: (
                    (found := right(*args, **options))[0] + 1.0,
                    *found[1:],
                ),
            )
            found = brute_force_differences(seed=1, problems=3)
        assert {oracle for oracle, difference in found.items() if difference > 1e-3} == {row}


def test_the_recursion_has_as_many_levels_as_the_loss_values_have_bits():
    levels, seconds = time_loss_values(2**18, seed=0)
    assert levels == [np.log2(R) for R in LOSS_VALUES]
    assert len(seconds) == len(LOSS_VALUES)


def test_sorting_is_part_of_the_time_of_algorithm_2():
    timings, compared = time_sizes([5000], seed=0)
    assert timings["algorithm_seconds"][0] > timings["argsort_seconds"][0] > 0
    assert timings["oracle_seconds"] == [compared.processor_seconds]
    expected = most_violated(*random_losses_and_scores(5000, 0))
    assert [relative_difference(expected, found) for found in compared.constraints] == [0, 0]
