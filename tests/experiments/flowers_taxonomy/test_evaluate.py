"""Accuracies, validation and trees of two splits, counted by hand."""

import json
from itertools import count

import numpy as np
import pandas as pd
import pytest

from ermlab.taxonomy import Taxonomy
from reproduction.claims.results import read_results, repeated
from reproduction.datasets.flowers17 import CLASSES
from reproduction.experiments.flowers_taxonomy.evaluate import (
    TITLES,
    accuracy_by_class,
    accuracy_table,
    class_table,
    main,
    node_table,
    topology_table,
    topology_values,
    validation_curves,
)

PUBLISHED = {"one_vs_rest": 84.9, "semantic": 56.3, "learned": 87.7}
SPREAD = {"one_vs_rest": 1.9, "semantic": 6.3, "learned": 2.6}
NAMES = ("rose", "apple", "daisy", "aster", "fern")
TREES = {
    "semantic": Taxonomy.from_newick("(((rose,apple)Rosaceae,(daisy,aster)Asteraceae)flowering,fern)plants;"),
    "learned": Taxonomy.from_newick("((rose:1,daisy:2):3,((apple,fern),aster));"),
}


LABELS = [0, 0, 1, 1]
#: Correct predictions (of the two images of class 0, of class 1) in each split; the permuted trees run twice.
CORRECT = {
    "one_vs_rest": [[(2, 2)], [(1, 2)]],
    "identity": [[(0, 2)], [(2, 2)]],
    "semantic": [[(1, 0)], [(1, 1)]],
    "learned": [[(2, 1)], [(2, 2)]],
    "learned_topology": [[(0, 0)], [(1, 0)]],
    "permuted": [[(2, 2), (1, 1)], [(1, 0), (0, 0)]],
}
QUARTETS = ["((a,b),(c,d));", "((a,c),(b,d));"]


def predictions_of(split):
    numbers, tables = count(), []
    for method, splits in CORRECT.items():
        for zeros, ones in splits[split]:
            predicted = [0] * zeros + [1] * (2 - zeros) + [1] * ones + [0] * (2 - ones)
            rows = {"image": [7, 8, 9, 10], "label": LABELS, "predicted": predicted}
            tables.append(pd.DataFrame({"split": split, "run": next(numbers), "method": method, **rows}))
    return pd.concat(tables)


def trials_of(split):
    """Every run chooses 10 of 1, 10 and 100, but the learned tree of the second split chooses 1."""
    runs = predictions_of(split)[["split", "run", "method"]].drop_duplicates().reset_index(drop=True)
    grid = runs.merge(pd.DataFrame({"C": [1, 10, 100]}), how="cross")
    chosen = np.where((grid["method"] == "learned") & (grid["split"] == 1), 1, 10) == grid["C"]
    validation = 0.5 + 0.1 * grid["split"] + 0.01 * grid["run"] + 0.2 * chosen
    return grid.assign(validation=validation, gap=0.001 * grid["run"] * chosen, iterations=5, chosen=chosen)


@pytest.fixture
def evaluated(tmp_path):
    inputs = {name: [] for name in ("trials", "predictions", "trees")}
    for split in range(2):
        for name, table in (("trials", trials_of(split)), ("predictions", predictions_of(split))):
            inputs[name].append(tmp_path / f"{name}_{split}.csv")
            table.to_csv(inputs[name][-1], index=False)
        inputs["trees"].append(tmp_path / f"trees_{split}.json")
        inputs["trees"][-1].write_text(json.dumps({"semantic": QUARTETS[0], "learned": QUARTETS[split]}))
    inputs |= {"receipt": tmp_path / "receipt.json", "examples": tmp_path / "examples.npz"}
    inputs["receipt"].write_text('{"kind": "real"}')
    inputs["examples"].write_bytes(b"pictures")
    folder = tmp_path / "flowers_taxonomy"
    files = ("values.json", "prices.csv", "classes.csv", "trees.json", "examples.npz")
    main(inputs, {name.split(".")[0]: folder / name for name in files}, seed=0)
    return folder


def test_values_of_two_splits(evaluated):
    document = read_results(evaluated)
    values = document["values"]
    assert document["datasets"] == {"flowers17": "real"}
    assert {method: accuracy["repeats"] for method, accuracy in values["accuracy"].items()} == {
        "one_vs_rest": [100, 75],
        "identity": [50, 100],
        "semantic": [25, 50],
        "learned": [75, 100],
        "learned_topology": [0, 25],
        "permuted": [75, 12.5],
    }
    assert values["accuracy"]["learned"] == repeated([75, 100], "split", 0.5)
    assert values["validation"]["learned"]["repeats"] == pytest.approx([73, 83])
    assert values["validation"]["permuted"]["repeats"] == pytest.approx([75.5, 85.5])  # runs 5 and 6
    assert (values["price"]["learned"], values["price"]["permuted"]) == ([10, 1], [10, 10])
    assert values["price_inside"] == 13 / 14
    assert values["largest_gap"] == 0.006
    assert (values["test_images"], values["splits"]) == (4, 2)
    assert values["topology_distance"]["repeats"] == [0, 1]


def test_files_of_two_splits(evaluated):
    classes = pd.read_csv(evaluated / "classes.csv")
    assert list(classes) == ["method", "label", "accuracy", "flower"]
    shares = classes.set_index(["method", "flower"])["accuracy"]
    assert shares["one_vs_rest"].to_dict() == {CLASSES[0]: 3 / 4, CLASSES[1]: 1}
    assert shares["permuted"].to_dict() == {CLASSES[0]: 4 / 8, CLASSES[1]: 3 / 8}
    assert len(pd.read_csv(evaluated / "prices.csv")) == 2 * 7 * 3
    trees = json.loads((evaluated / "trees.json").read_text())
    assert [of_split["learned"] for of_split in trees] == QUARTETS
    assert (evaluated / "examples.npz").read_bytes() == b"pictures"


def test_distances_of_quartets():
    """A quartet has three topologies: two of three permuted trees differ from the given one."""
    given, other = (Taxonomy.from_newick(text) for text in QUARTETS)
    values = topology_values([given, given, given], [given, other, given], seed=0)
    assert values["topology_distance"]["repeats"] == [0, 1, 0]
    assert values["learned_trees"]["distance"] == 2 / 3
    assert values["learned_trees"]["permuted"] == pytest.approx(2 / 3, abs=0.15)
    assert values["topology_distance_permuted"]["repeats"] == pytest.approx([2 / 3] * 3, abs=0.15)
    alone = topology_values([given], [other], seed=0)
    assert alone["learned_trees"] == {"distance": 1, "permuted": 1}


def test_recall_is_per_class():
    table = accuracy_by_class(predictions_of(0)).set_index(["method", "label"])["accuracy"]
    assert (table["identity", 0], table["identity", 1]) == (0, 1)


@pytest.fixture
def values():
    accuracies = {method: [80.0 + i, 84.0 + 2 * i] for i, method in enumerate(TITLES)}
    return {
        "accuracy": {method: repeated(of_splits) for method, of_splits in accuracies.items()},
        "validation": {method: repeated([81.0, 85.0]) for method in TITLES},
        "price": {method: [3.0, 10.0] for method in TITLES},
    }


def test_table_holds_means_spreads_and_published_values(values):
    table = accuracy_table(values, PUBLISHED, SPREAD).set_index("method")
    learned = table.loc[TITLES["learned"]]
    assert learned["accuracy"] == 86.5
    np.testing.assert_allclose(learned["spread"], np.std([83, 90], ddof=1))
    assert learned["over one-vs-rest"] == 4.5
    assert (learned["published"], learned["published spread"]) == (87.7, 2.6)
    assert np.isnan(table.loc[TITLES["permuted"], "published"])
    assert learned["C chosen"] == "3, 10"


def test_a_single_split_has_no_spread(values):
    one = {key: {m: repeated([90.0]) for m in TITLES} for key in ("accuracy", "validation")}
    assert (accuracy_table({**values, **one}, PUBLISHED, SPREAD)["spread"] == 0).all()


def test_curves_are_means_over_all_runs_where_all_tried(trials):
    curves = validation_curves(trials)
    assert sorted(curves["C"].unique()) == [1, 10]
    np.testing.assert_allclose(curves["validation"], 55)


def test_rows_of_trees_name_the_flowers_below_a_node():
    rows = node_table(TREES)
    learned = rows[rows["tree"] == "learned"]
    assert learned.loc[learned["flowers"] == "rose, daisy", "length"].tolist() == [3.0]
    assert (learned["parent"] == -1).sum() == 1


def test_lengths_and_topologies_of_trees():
    rows = topology_table(TREES, "semantic").set_index("taxonomy")
    # Edges of length 1 but for one of 2 and one of 3; five of them end in a flower.
    shares = rows["share of length at single flowers"]
    np.testing.assert_allclose(shares[["semantic", "learned"]], [5 / 8, 6 / 11])
    assert rows["splits not shared with semantic"].tolist() == [0, 1]


def test_flowers_that_lose_most_come_first():
    rows = [
        {"flower": flower, "method": method, "accuracy": 0.9 - loss * (method == "semantic")}
        for flower, loss in (("rose", 0.1), ("daisy", 0.4), ("fern", 0.0))
        for method in TITLES
    ]
    table = class_table(pd.DataFrame(rows), 2)
    assert table.index.tolist() == ["daisy", "rose"]
    assert table.columns.tolist() == list(TITLES.values())
    np.testing.assert_allclose(table.loc["daisy", TITLES["semantic"]], 50)
