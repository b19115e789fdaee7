"""Areas, curves and distances of four classes in two orders of the roles, counted by hand."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import auc, roc_auc_score

from reproduction.claims.results import read_results
from reproduction.experiments.tree_covariance.theorems import random_taxonomy
from reproduction.experiments.voc_taxonomy.evaluate import (
    ALL,
    METHOD_TITLES,
    area_table,
    compare_with_permuted,
    curves_by_class,
    main,
    mean_roc_curve,
    pairs_of_orders,
    topology_distances,
    topology_table,
)

CLASSES = ["cat", "dog", "car", "bus"]
SEMANTIC, OTHER = "((cat,dog),(car,bus));", "((cat,car),(dog,bus));"
PERFECT = np.eye(4)
#: The image of the cat is second for "cat", the one of the bus last for "bus".
SCORES = np.array([[2.0, 0, 0, 1], [3, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0]])


def a_run(learned_scores, learned_tree, C, gap, train_images):
    return {
        "classes": CLASSES,
        "train_images": train_images,
        "description": "whole image",
        "grid": [1, 10],
        "trees": {"semantic": SEMANTIC, "learned": learned_tree},
        "fits": {"projection": learned_tree, "average_linkage": OTHER},
        "methods": {
            "semantic": {"C": 1, "gap": 0.01, "scores": PERFECT.tolist()},
            "learned": {"C": C, "gap": gap, "scores": learned_scores.tolist()},
        },
        "labels": np.eye(4, dtype=int).tolist(),
    }


@pytest.fixture
def runs():
    return [a_run(SCORES, SEMANTIC, 10, 0.02, 7), a_run(-PERFECT, OTHER, 1, 0.03, 8)]


@pytest.fixture
def evaluated(runs, tmp_path):
    paths = [tmp_path / f"order_{number}.json" for number in range(2)]
    for path, run in zip(paths, runs, strict=True):
        path.write_text(json.dumps(run))
    receipt = tmp_path / "receipt.json"
    receipt.write_text('{"kind": "simulated"}')
    names = {"values": "values.json", "areas": "areas.csv", "curves": "curves.csv"}
    outputs = {key: tmp_path / "voc_taxonomy" / name for key, name in names.items()}
    main({"receipt": receipt, "runs": paths}, outputs, seed=0, permutations=3)
    return (
        read_results(tmp_path / "voc_taxonomy"),
        pd.read_csv(outputs["areas"]),
        pd.read_csv(outputs["curves"]),
    )


def test_values_of_two_orders(evaluated):
    document, _, _ = evaluated
    values = document["values"]
    assert document["datasets"] == {"voc2007_sample": "simulated"}
    # One image of each class: the area is the share of the three other images that score lower.
    assert [area["repeats"] for area in values["auc"]["semantic"]] == [[1, 1]] * 4
    learned = np.array([area["repeats"] for area in values["auc"]["learned"]])
    np.testing.assert_allclose(learned, [[2 / 3, 0], [1, 0], [1, 0], [0, 0]])
    assert {key: values["auc"]["learned"][0][key] for key in ("unit", "test_over_train")} == {
        "unit": "order",
        "test_over_train": 0.5,
    }
    # The last class is worse by 1 in both orders; the differences of the others have a large spread.
    assert values["classes_worse"] == 1
    np.testing.assert_allclose(values["mean_auc"]["learned"]["repeats"], [(2 / 3 + 1 + 1) / 4, 0])
    assert values["C"] == {"semantic": [1, 1], "learned": [10, 1]}
    assert values["descriptions"] == ["whole image"] * 2
    assert (values["orders"], values["train_images"], values["prices"]) == (2, [7, 8], [1, 10])
    assert values["largest_gap"] == 0.03
    assert values["topology_distance"]["repeats"] == [0, 1]
    assert values["topology_by_fit"]["projection"]["distance"] == 0.5
    assert values["topology_by_fit"]["average_linkage"]["distance"] == 1
    permuted = values["topology_distance_permuted"]["repeats"]
    assert np.mean(permuted) == pytest.approx(values["topology_by_fit"]["projection"]["permuted"])
    # The two orders learn from different images, and their trees have different topologies.
    assert values["learned_trees"]["distance"] == 1
    assert values["trees"] == {"semantic": SEMANTIC, "learned": SEMANTIC}


def test_tables_of_two_orders(evaluated):
    _, areas, curves = evaluated
    learned = areas[areas["method"] == "learned"].pivot_table(index="order", columns="class", values="auc")
    np.testing.assert_allclose(learned[CLASSES], [[2 / 3, 1, 1, 0], [0, 0, 0, 0]])
    at = curves.set_index(["method", "class", "false_positives"])["true_positives"]
    # Found last, a class is on the diagonal. The cat is found after one of three other images, then last.
    assert (at["semantic", "cat", 0.3], at["learned", "bus", 0.5]) == (1, 0.5)
    assert at["learned", "cat", 0.3] == pytest.approx((0.3 / (1 / 3) + 0.3) / 2)
    assert at["learned", ALL, 0.5] == np.mean([0.75, 0.75, 0.75, 0.5])


def test_distances_of_permuted_trees(runs):
    """A swap of the second and the third class gives one topology the other; here it is one draw of eight."""
    draws = [[0, 2, 1, 3], *[[0, 1, 2, 3]] * 7]
    rng = SimpleNamespace(permutation=lambda n: draws.pop(0))
    for run in runs:
        del run["fits"]["average_linkage"]
    found = topology_distances(runs, 4, rng)["projection"]
    # Semantic tree as learned: distances 1, 0, 0, 0. The other tree: 1, 1, 1, 1, none closer than itself.
    assert found == {"distance": [0, 1], "permuted": [1 / 4, 1], "permuted_as_close": [3 / 4, 1]}


def test_pairs_of_orders_learn_from_different_images():
    """The training part is 1, 2, 0, 2, 0, 1 in the six orders."""
    assert pairs_of_orders(2) == [(0, 1)]
    assert len(pairs_of_orders(6)) == 15 - 3
    assert (0, 5) not in pairs_of_orders(6)


def test_the_same_tree_is_closer_than_permuted_ones():
    rng = np.random.default_rng(0)
    tree = random_taxonomy(rng, 12)
    distance, permuted = compare_with_permuted(tree, tree.rerooted(3), 20, rng)
    assert distance == 0
    assert permuted.shape == (20,)
    assert permuted.min() > 0.5
    with pytest.raises(ValueError, match="permutations is 0"):
        compare_with_permuted(tree, tree, 0, rng)


def test_a_curve_counted_by_hand():
    """One of two positives is first; the other follows one of two negatives: from (0, 0.5) to (0.5, 1)."""
    curve = mean_roc_curve([[1, 1, 0, 0]], [[4, 2, 3, 1]])
    expected = np.minimum(0.5 + curve["false_positives"], 1)
    np.testing.assert_allclose(curve["true_positives"][1:], expected[1:])
    assert curve.iloc[0].tolist() == [0, 0]


def test_area_of_the_mean_curve_is_the_mean_area():
    rng = np.random.default_rng(0)
    labels = [rng.random(200) < 0.3 for _ in range(4)]
    scores = [y + rng.normal(size=200) for y in labels]
    curve = mean_roc_curve(labels, scores)
    areas = [roc_auc_score(y, s) for y, s in zip(labels, scores, strict=True)]
    assert auc(curve["false_positives"], curve["true_positives"]) == pytest.approx(np.mean(areas), abs=0.02)
    assert curve.iloc[-1].tolist() == [1, 1]


def test_scores_of_different_models_are_not_compared():
    y = [True, True, False, False]
    same = mean_roc_curve([y, y], [[4, 3, 2, 1], [4, 3, 2, 1]])
    scaled = mean_roc_curve([y, y], [[4, 3, 2, 1], [400, 300, 200, 100]])
    assert same.equals(scaled)
    assert (same["true_positives"].iloc[1:] == 1).all()


def test_a_class_needs_positives_and_negatives():
    with pytest.raises(ValueError, match="2 of 2 labels are true"):
        mean_roc_curve([[1, 1]], [[0.1, 0.2]])


def test_mean_over_classes_is_the_last_curve():
    Y = np.array([[1, 0], [0, 1]], dtype=bool)
    curves = curves_by_class([Y], {"learned": [np.array([[2.0, 5], [1, 3]])]}, ["cat", "dog"])
    assert list(curves["class"].unique()) == ["cat", "dog", ALL]
    at_half = curves[curves["false_positives"] == 0.5].set_index("class")["true_positives"]
    assert at_half.to_dict() == {"cat": 1, "dog": 0.5, ALL: 0.75}


def test_areas_have_one_row_per_method():
    areas = {name: {"repeats": [0.5 + place / 10, 0.6]} for place, name in enumerate(METHOD_TITLES)}
    table = area_table({"mean_auc": areas, "C": {name: [1, 30] for name in METHOD_TITLES}})
    assert list(table["classifier"]) == list(METHOD_TITLES.values())
    assert list(table["mean area"]) == pytest.approx([0.55, 0.6, 0.65, 0.7, 0.75])
    assert list(table["least"]) == pytest.approx([0.5, 0.6, 0.6, 0.6, 0.6])
    assert list(table["largest"]) == pytest.approx([0.6, 0.6, 0.7, 0.8, 0.9])
    assert list(table.iloc[:, 4]) == ["1 of 2", "", "0 of 2", "0 of 2", "0 of 2"]
    assert set(table["C"]) == {"1, 30"}


def test_topologies_in_percent():
    row = {"distance": 0.8, "permuted": 0.9, "permuted_as_close": 0.25}
    table = topology_table({"projection": row})
    assert table.iloc[0].tolist() == ["nearest tree (3-approximation)", 0.8, 0.9, 25]
