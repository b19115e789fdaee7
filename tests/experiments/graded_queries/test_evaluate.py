"""The ranking of pages by grades: choices on training queries, quality by query, and the same constraint."""

import numpy as np
import pytest

from ermlab.metrics.ranking import ndcg
from reproduction.claims.results import read_results, write_json
from reproduction.datasets.mslr_5k import JudgedDocuments, simulate_mslr_5k
from reproduction.experiments.graded_queries import evaluate
from reproduction.experiments.graded_queries.evaluate import (
    choose_strength,
    first_queries,
    losses_of,
    main,
    methods_at_edge,
    ndcg_by_query,
    time_levels,
)


@pytest.fixture
def pages():
    """Three queries, of which the second has no relevant page."""
    query = np.array([7, 7, 3, 3, 3, 9, 9])
    return JudgedDocuments(np.arange(14.0).reshape(7, 2), np.array([0, 4, 0, 0, 0, 2, 1]), query)


def test_quality_by_query_has_the_mean_of_all_queries(pages):
    scores = np.random.default_rng(0).random(7)
    found = ndcg_by_query(pages, scores)
    assert found.shape == (2,)
    assert found.mean() == pytest.approx(ndcg(pages.relevance, scores, pages.query))


def test_losses_and_queries(pages):
    assert losses_of(pages).tolist() == [1, 0, 1, 1, 1, 0.5, 0.75]
    some = first_queries(pages, 2)
    assert some.query.tolist() == [7, 7, 3, 3, 3]
    assert some.relevance.tolist() == [0, 4, 0, 0, 0]


def test_the_strength_is_best_on_queries_that_were_not_trained_on():
    rng = np.random.default_rng(1)
    query, grades = np.repeat(np.arange(6), 5), rng.integers(0, 5, 30)
    pages = JudgedDocuments(grades[:, None].astype(float), grades, query)
    seen = []

    def right(X, losses, trained, X_test):
        return X_test[:, 0]

    def wrong(X, losses, trained, X_test):
        seen.append(set(trained))
        return -X_test[:, 0]

    assert choose_strength({1.0: wrong, 2.0: right}, pages.features, pages, folds=3) == 2.0
    assert [len(queries) for queries in seen] == [4, 4, 4]
    assert set.intersection(*seen) == set()


def test_methods_at_the_edge_of_their_grid():
    assert methods_at_edge({"slack": [1.0, 10.0], "ridge": [1.0, 10.0]}) == ["ridge"]


def test_passes_and_halving_find_the_same(monkeypatch):
    monkeypatch.setattr(evaluate, "LEVELS", (2, 5))
    timings, difference = time_levels(2000, seed=0)
    assert difference < 1e-12
    assert len(timings["passes_seconds"]) == len(timings["halving_seconds"]) == 2


def test_results_of_simulated_pages(tmp_path, monkeypatch):
    monkeypatch.setattr(evaluate, "LEVELS", (2, 4))
    simulate_mslr_5k(tmp_path / "pages", seed=0, size="smoke")
    receipt = tmp_path / "receipt.json"
    write_json(receipt, {"kind": "simulated", "folder": str(tmp_path / "pages")})
    outputs = {"values": str(tmp_path / "results/values.json")}
    main({"receipt": str(receipt)}, outputs, seed=0, queries=10, folds=2, samples=1000)
    found = read_results(tmp_path / "results")
    values = found["values"]
    assert found["datasets"] == {"mslr_5k": "simulated"}
    assert values["queries"] == [10, 10]
    # Both parts are tested, each query once.
    lengths = {len(item["repeats"]) for item in values["ndcg"].values()}
    assert len(lengths) == 1
    assert 10 < lengths.pop() <= 20
    assert {item["unit"] for item in values["ndcg"].values()} == {"query"}
    assert all(len(strengths) == 2 for strengths in values["strengths"].values())
    # Pages were drawn such that features tell something of the grades.
    mean = {name: np.mean(item["repeats"]) for name, item in values["ndcg"].items()}
    assert min(mean["slack"], mean["margin"], mean["ridge"]) > mean["chance"] + 0.1
