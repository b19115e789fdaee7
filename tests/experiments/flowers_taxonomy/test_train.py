"""Training on four images of each flower, which have a word of their own."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reproduction.datasets.flowers17 import CLASSES
from reproduction.experiments.flowers_taxonomy.descriptors import CHANNELS, FlowerBags
from reproduction.experiments.flowers_taxonomy.protocol import METHODS, draw_splits
from reproduction.experiments.flowers_taxonomy.train import main

TAXONOMY = Path(__file__).parents[3] / "config/taxonomies/flowers17.nwk"
LABELS = np.repeat(np.arange(len(CLASSES)), 4)
PART = draw_splits(LABELS, 2, 0)[1]
#: In the test part, the image of class 5 looks like class 6.
LOOKS = np.where(np.arange(len(LABELS)) == PART.test[5], 6, LABELS)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flowers")
    rng = np.random.default_rng(0)
    bags = np.eye(len(CLASSES))[LOOKS] + 0.05 * rng.random((len(LABELS), len(CLASSES)))
    images = 100 + np.arange(len(LABELS))
    FlowerBags(images=images, labels=LABELS, **dict.fromkeys(CHANNELS, bags)).write(folder / "bags.npz")
    names = {"trials": "trials.csv", "predictions": "predictions.csv", "trees": "trees.json"}
    outputs = {key: folder / name for key, name in names.items()}
    inputs = {"bags": folder / "bags.npz", "taxonomy": TAXONOMY}
    limits = {"C": [1, 10, 100], "C_limits": [1, 100], "tol": 0.01}
    main(inputs, outputs, split=1, splits=2, seed=0, permutations=2, **limits)
    tables = (pd.read_csv(outputs[name]) for name in ("trials", "predictions"))
    return *tables, json.loads(outputs["trees"].read_text())


def test_predictions_are_of_the_test_part(trained):
    _, predictions, _ = trained
    for _, run in predictions.groupby("run"):
        assert run["image"].tolist() == (100 + PART.test).tolist()
        assert run["label"].tolist() == LABELS[PART.test].tolist()
        assert run["predicted"].tolist() == LOOKS[PART.test].tolist()


def test_every_method_and_two_permuted_trees_are_trained(trained):
    trials, predictions, trees = trained
    runs = trials.drop_duplicates("run").set_index("run")["method"]
    assert runs.tolist() == [*METHODS, "permuted"]
    assert (predictions.drop_duplicates("run").set_index("run")["method"] == runs).all()
    assert (trials.groupby("run")["chosen"].sum() == 1).all()
    assert (trials["split"] == 1).all()
    best = trials.groupby("run")["validation"].transform("max")
    assert (trials["validation"] == best)[trials["chosen"]].all()
    assert (best == 1).all()  # the validation part has no image that looks like another class
    assert (trials["gap"] == 0).equals(trials["method"] == "one_vs_rest")
    assert set(trees) == {"semantic", "learned", "learned_topology"}
