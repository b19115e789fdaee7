"""Enumeration is right on fields that are solved by hand, and the summaries count as they should."""

import numpy as np
import pandas as pd
import pytest

from ermlab.segmentation import Labeling
from reproduction.claims.results import read_results
from reproduction.experiments.exact_inference import evaluate
from reproduction.experiments.exact_inference.evaluate import (
    enumerated_marginals,
    main,
    method_table,
    summarize,
    summarize_learned,
    try_method,
)
from reproduction.experiments.exact_inference.fields import (
    Field,
    draw_chain,
    draw_cyclic,
    draw_submodular,
    draw_tree,
    is_submodular,
)
from reproduction.experiments.exact_inference.learned import draw_images, exact_share, pairwise_scores


@pytest.fixture
def two_nodes():
    """Scores of the labelings 00, 01, 10, 11: 1 + 3 + 0, 1 + 0 + 5, 0 + 3 + 2, 0 + 0 + 0."""
    return Field(np.array([[1.0, 0], [3, 0]]), np.array([[0, 1]]), np.array([[[0.0, 5], [2, 0]]]))


def test_all_labelings_are_scored(two_nodes):
    labelings = two_nodes.labelings()
    assert labelings.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert two_nodes.scores(labelings).tolist() == [4, 6, 5, 0]
    assert two_nodes.best_score() == 6
    assert two_nodes.magnitude == 11


def test_loss_is_added_to_wrong_labels(two_nodes):
    augmented = two_nodes.augmented(np.array([0, 1]))
    assert augmented.unary.tolist() == [[1, 0.5], [3.5, 0]]
    assert augmented.best_score() == 6  # of the truth itself; 10 has 5 + 1


def test_marginals_of_two_nodes(two_nodes):
    weights = np.exp([4.0, 6, 5, 0])
    marginals = enumerated_marginals(two_nodes)
    assert marginals[0, 0] == pytest.approx(weights[:2].sum() / weights.sum())
    assert marginals[1, 1] == pytest.approx(weights[[1, 3]].sum() / weights.sum())


@pytest.mark.parametrize("number", range(5))
def test_fields_are_of_their_kind(number):
    rng = np.random.default_rng(number)
    chain, tree, cyclic, submodular = (
        draw(rng) for draw in (draw_chain, draw_tree, draw_cyclic, draw_submodular)
    )
    assert (np.diff(chain.edges, axis=1) == 1).all()
    assert len(tree.edges) == len(tree.unary) - 1
    assert len(np.unique(tree.edges)) == len(tree.unary)
    assert len(cyclic.edges) >= len(cyclic.unary)
    assert is_submodular(submodular.pairwise)
    assert len(np.unique(submodular.edges, axis=0)) == len(submodular.edges)
    for field in (chain, tree, cyclic, submodular):
        assert field.unary.shape[1] ** len(field.unary) <= 20_000


def test_a_method_that_errs_is_found_out(monkeypatch, two_nodes):
    """The labeling 10 scores 5, one less than the best; a bound of 5 is wrong by one."""
    wrong = Labeling(np.array([1, 0]), 5.0, 5.0)
    monkeypatch.setitem(evaluate.METHODS, "chain", (lambda rng: two_nodes, lambda field: wrong))
    evaluate.METHODS["chain"][0].__name__ = "two_nodes"
    trials = try_method("chain", 2, seed=0)
    assert trials["gap"].tolist() == pytest.approx([1 / 11] * 2)
    assert trials["excess"].tolist() == pytest.approx([1 / 11] * 2)


def test_summary_of_trials():
    trials = pd.DataFrame(
        {
            "method": ["a", "a", "b", "b"],
            "gap": [0.0, 0.2, 1e-12, -1e-17],
            "excess": [-0.1, 0.3, np.nan, np.nan],
            "certified": [True, False, None, None],
        }
    )
    values = summarize(trials)
    assert values["exact_share"] == {"a": 0.5, "b": 1.0}
    assert values["gap_max"] == {"a": 0.2, "b": 1e-12}
    assert values["bound_violation_max"] == {"a": 0.3}
    assert values["certified_share"] == {"a": 0.5}


def test_summary_of_learned_fields():
    fits = pd.DataFrame(
        {
            "constrained": [False, False, False, False, True, True],
            "submodular": [True, False, True, True, True, True],
            "exact_share": [np.nan] * 4 + [1.0, 0.5],
        }
    )
    assert summarize_learned(fits) == {
        "nonsubmodular_share": 0.25,
        "constrained": {"submodular_share": 1.0, "exact_share": 0.75},
    }


def test_submodular_is_about_both_diagonals():
    assert is_submodular(np.array([[1.0, 0], [0, 0]]))
    assert is_submodular(np.array([[[1.0, 2], [0, 1]]]))
    assert not is_submodular(np.array([[[0.0, 1], [0, 0]], [[1, 0], [0, 1]]]))


def test_coupling_decides_whether_neighbors_agree():
    rng = np.random.default_rng(0)
    share = {}
    for coupling in (-3.0, 3.0):
        X, y = draw_images(coupling, rng)
        edges = X[0][1]
        share[coupling] = np.mean([labels[edges[:, 0]] == labels[edges[:, 1]] for labels in y])
    assert share[-3.0] < 0.1
    assert share[3.0] > 0.9


def test_exact_share_of_known_weights():
    """Neighbors that must agree: every cut is exact. The weights of the pairs are 00, 01, 11."""
    w = np.array([0, 0, 1, -0.5, 2, -3, 2.0])
    assert pairwise_scores(w).tolist() == [[2, -3], [-3, 2]]
    X, _ = draw_images(1.0, np.random.default_rng(0))
    assert exact_share(w, X[:3]) == 1


def test_results_and_table(tmp_path):
    folder = tmp_path / "exact_inference"
    outputs = {name: folder / name for name in ("values.json", "trials.csv", "learned.csv")}
    folder.mkdir()
    main({}, {path.stem: path for path in outputs.values()}, fields=5, learned=2, seed=0)
    values = read_results(folder)["values"]
    assert values["exact_share"]["chain"] == values["exact_share"]["tree"] == 1
    assert values["exact_share"]["graph_cut"] == values["constrained"]["exact_share"] == 1
    table = method_table(values)
    assert table["bound below the best score"].tolist() == [False] * 6 + [None]
