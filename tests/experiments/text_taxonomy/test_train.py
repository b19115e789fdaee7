"""Training on four groups with one word each; wrongly labelled posts are the only errors."""

import json

import numpy as np
import pandas as pd
import pytest

from reproduction.experiments.text_taxonomy.protocol import CONTROLS, LOSSES, PUBLISHED, TextBags
from reproduction.experiments.text_taxonomy.train import main

GROUPS = ["a.x", "a.y", "b.x", "b.y"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A validation post of a.x has the label of its sibling, a test post that of another branch."""
    folder = tmp_path_factory.mktemp("text")
    words = np.array([0, 1, 2, 3] * 2 + [0, 1, 2, 3] + [0, 1, 2, 3] * 2)
    labels = words.copy()
    labels[8] = 1
    labels[12] = 2
    n = len(words)
    TextBags(
        counts=np.array([8, 4, 8]),
        n_late=np.array([50]),
        labels=labels,
        data=np.ones(n),
        indices=words,
        indptr=np.arange(n + 1),
        words=np.array(list("wxyz")),
        groups=np.array(GROUPS),
    ).write(folder / "bags.npz")
    (folder / "tree.nwk").write_text("((b.y,b.x),(a.x,a.y));")
    inputs = {"bags": folder / "bags.npz", "taxonomy": folder / "tree.nwk"}
    outputs = {"trials": folder / "trials.csv", "trees": folder / "trees.json"}
    main(inputs, outputs, split=3, seed=0, C=[10, 100, 1000], C_limits=[10, 1000], tol=1e-3)
    return pd.read_csv(outputs["trials"]), json.loads(outputs["trees"].read_text())


def test_losses_of_the_wrong_labels(trained):
    """Siblings are 2 edges apart, groups of different branches 4; one of 4 and one of 8 labels are wrong."""
    trials, _ = trained
    chosen = trials[trials["chosen"]]
    by_loss = chosen.groupby("loss")[["validation", "test"]].agg(["min", "max"])
    assert by_loss.loc["zero_one"].tolist() == [1 / 4, 1 / 4, 1 / 8, 1 / 8]
    assert by_loss.loc["taxonomic"].tolist() == [2 / 4, 2 / 4, 4 / 8, 4 / 8]


def test_one_trial_is_chosen_and_tested_per_search(trained):
    trials, _ = trained
    searches = trials.groupby(["loss", "covariance"])
    assert set(searches.groups) == {(loss, name) for loss in LOSSES for name in PUBLISHED + CONTROLS}
    assert (searches["chosen"].sum() == 1).all()
    assert trials["test"].notna().equals(trials["chosen"])
    assert (trials["split"] == 3).all()
    assert not trials["zero"].any()


def test_sizes_and_trees(trained):
    _, document = trained
    assert (document["words"], document["posts"], document["late_posts"]) == (4, [8, 4, 8], 50)
    assert 0 <= document["topology_distance"] <= 1
    assert set(document) == {"semantic", "learned", "topology_distance", "words", "posts", "late_posts"}
