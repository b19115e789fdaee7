"""Splits do not leak, and classifiers are trained on the training part alone."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from ermlab.taxonomy import Taxonomy
from reproduction.datasets.flowers17 import CLASSES
from reproduction.experiments.flowers_taxonomy.protocol import (
    FlowerSplit,
    always_trained,
    draw_splits,
    train_once,
)
from reproduction.experiments.taxonomies import comparable

LABELS = np.repeat(np.arange(5), 12)
LINNAEAN = Path(__file__).parents[3] / "config/taxonomies/flowers17.nwk"


@pytest.fixture(scope="module")
def kernel():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0], [0, 1.5], [4, 0], [4, 1.5], [9, 9]])
    return rbf_kernel(centres[LABELS] + rng.normal(0, 0.9, (60, 2)), gamma=0.05)


def test_splits_have_half_a_quarter_and_a_quarter_of_each_class():
    for split in draw_splits(LABELS, 3, 0):
        parts = (split.train, split.validation, split.test)
        assert [np.bincount(LABELS[part]).tolist() for part in parts] == [[6] * 5, [3] * 5, [3] * 5]
        assert sorted(np.concatenate(parts)) == list(range(60))


def test_eighty_images_of_a_class_are_split_as_published():
    (split,) = draw_splits(np.repeat([0, 1], 80), 1, 0)
    assert [len(part) // 2 for part in (split.train, split.validation, split.test)] == [40, 20, 20]


def test_first_splits_do_not_depend_on_their_number():
    few, many = draw_splits(LABELS, 1, 4), draw_splits(LABELS, 3, 4)
    np.testing.assert_array_equal(few[0].train, many[0].train)
    assert not np.array_equal(many[0].train, many[1].train)


def test_images_for_the_vocabulary_are_trained_on_in_every_split():
    splits = draw_splits(np.repeat([0, 1], 80), 20, 0)
    common = always_trained(splits)
    assert len(common) == 2 * 10  # an eighth of each class, and hardly any other after twenty splits
    for split in splits:
        assert not set(common) & (set(split.validation) | set(split.test))


def test_no_image_for_the_vocabulary():
    one, other = (FlowerSplit(np.array([i]), np.array([2]), np.array([3])) for i in (0, 1))
    with pytest.raises(ValueError, match="no image is in the training part of all 2 splits"):
        always_trained([one, other])


def test_a_class_too_small_to_split():
    with pytest.raises(ValueError, match="class 1 has 3 images: expected at least 4"):
        draw_splits([0, 0, 0, 0, 1, 1, 1], 1, 0)


def test_one_vs_rest_is_one_svm_per_class(kernel):
    (split,) = draw_splits(LABELS, 1, 0)
    trial = train_once(None, 3.0, kernel, LABELS, split, 1e-4)
    train = np.ix_(split.train, split.train)
    scores = [
        SVC(C=3.0, kernel="precomputed", tol=1e-4)
        .fit(kernel[train], LABELS[split.train] == label)
        .decision_function(kernel[np.ix_(split.validation, split.train)])
        for label in range(5)
    ]
    assert trial.validation == np.mean(np.argmax(scores, axis=0) == LABELS[split.validation])


def test_test_images_play_no_part_in_training(kernel):
    (split,) = draw_splits(LABELS, 1, 0)
    broken, labels = kernel.copy(), LABELS.copy()
    broken[split.test], broken[:, split.test], labels[split.test] = np.nan, np.nan, -7
    for B in (None, comparable(np.eye(5))):
        one, other = (train_once(B, 1.0, K, y, split, 1e-3) for K, y in ((kernel, LABELS), (broken, labels)))
        assert one.validation == other.validation


def test_the_linnaean_tree_has_the_kinds_of_the_data():
    tree = Taxonomy.from_newick(LINNAEAN.read_text(encoding="utf-8"))
    assert sorted(tree.names) == sorted(CLASSES)
    assert all(len(tree.children(node)) > 1 for node in tree.inner)
    together = {frozenset({"tiger lily", "tulip", "fritillary"}), frozenset({"buttercup", "windflower"})}
    assert together <= tree.splits()
