"""Distances of topologies beside shuffled ones, and mean ROC curves."""

import numpy as np
import pytest
from sklearn.metrics import auc, roc_auc_score

from reproduction.experiments.tree_covariance.cases import random_taxonomy
from reproduction.experiments.voc_taxonomy.measures import mean_roc_curve, topology_distances


def test_the_same_tree_is_closer_than_shuffled_ones():
    rng = np.random.default_rng(0)
    tree = random_taxonomy(rng, 12)
    distance, shuffled = topology_distances(tree, tree.rerooted(3), 20, rng)
    assert distance == 0
    assert shuffled.shape == (20,)
    assert shuffled.min() > 0.5
    with pytest.raises(ValueError, match="permutations is 0"):
        topology_distances(tree, tree, 0, rng)


def test_area_of_the_mean_curve_is_the_mean_area():
    rng = np.random.default_rng(0)
    labels = [rng.random(200) < 0.3 for _ in range(4)]
    scores = [y + rng.normal(size=200) for y in labels]
    curve = mean_roc_curve(labels, scores)
    areas = [roc_auc_score(y, s) for y, s in zip(labels, scores, strict=True)]
    assert auc(curve["false_positives"], curve["true_positives"]) == pytest.approx(np.mean(areas), abs=0.02)
    assert curve.iloc[0].tolist() == [0, 0]
    assert curve.iloc[-1].tolist() == [1, 1]


def test_models_are_not_compared_with_each_other():
    y = [True, True, False, False]
    one = mean_roc_curve([y, y], [[4, 3, 2, 1], [4, 3, 2, 1]])
    other = mean_roc_curve([y, y], [[4, 3, 2, 1], [400, 300, 200, 100]])
    assert one.equals(other)
    assert (one["true_positives"].iloc[1:] == 1).all()


def test_a_class_needs_both_kinds():
    with pytest.raises(ValueError, match="2 of 2 labels are true"):
        mean_roc_curve([[1, 1]], [[0.1, 0.2]])
