"""Training on one order of the roles writes the scores of its test part."""

import json

import numpy as np
import pytest

from ermlab.taxonomy import Taxonomy
from reproduction.experiments.voc_taxonomy import train
from reproduction.experiments.voc_taxonomy.evaluate import FIT_TITLES, METHOD_TITLES
from reproduction.experiments.voc_taxonomy.protocol import BagsOfImages, areas_under_roc

CLASSES = ["bus", "car", "cat", "dog"]


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """Order 3 lets part 1 score, part 2 train and part 0 test; areas rise up to C = 20."""
    monkeypatch.setattr(train, "held_out_area", lambda part, B, C, tol: min(C, 20) / 40)
    rng = np.random.default_rng(0)
    labels = np.eye(4, dtype=bool)[np.arange(48) % 4]
    bags = np.tile(rng.poisson(4 * labels @ np.eye(4) + 1, size=(3, 48, 4)).astype(float), 5)
    data = BagsOfImages(bags, labels, np.arange(48) // 4 % 3, np.array(CLASSES))
    data.write(tmp_path / "bags.npz")
    (tmp_path / "tree.nwk").write_text("((cat,dog),(car,bus),sofa);")
    inputs = {"bags": tmp_path / "bags.npz", "taxonomy": tmp_path / "tree.nwk"}
    train.main(
        inputs, {"result": tmp_path / "run.json"}, order=3, seed=0, C=[1, 3, 9], C_limits=[1, 99], tol=1e-3
    )
    return data, json.loads((tmp_path / "run.json").read_text())


def test_scores_are_of_the_test_part(trained):
    data, run = trained
    labels = np.array(run["labels"], dtype=bool)
    np.testing.assert_array_equal(labels, data.labels[data.parts == 0])
    assert run["train_images"] == 16
    assert run["description"] == "whole image"  # its quarters are all the same
    for method in run["methods"].values():
        assert np.mean(areas_under_roc(labels, np.array(method["scores"]))) > 0.7


def test_methods_trees_and_fits(trained):
    _, run = trained
    assert set(run["methods"]) == set(METHOD_TITLES)
    # The grid grows to 27 and to 81, where nothing changes.
    assert {method["C"] for method in run["methods"].values()} == {27}
    assert (run["classes"], run["grid"]) == (CLASSES, [1, 3, 9])
    assert set(run["fits"]) == set(FIT_TITLES)
    assert run["fits"]["projection"] == run["trees"]["learned"]
    trees = {name: Taxonomy.from_newick(text) for name, text in run["trees"].items()}
    assert trees["semantic"].splits() == Taxonomy.from_newick("((cat,dog),(car,bus));").splits()
    assert sorted(trees["permuted"].lengths) == pytest.approx(sorted(trees["learned"].lengths))
