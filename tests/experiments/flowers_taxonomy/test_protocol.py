"""Splits that do not leak, covariances that forget the root, and a price inside its grid."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from ermlab.taxonomy.taxonomic_svm import TaxonomicSVM
from ermlab.taxonomy.tree import Taxonomy, shuffled
from reproduction.datasets.flowers17 import CLASSES
from reproduction.experiments.flowers_taxonomy.protocol import (
    FlowerSplit,
    always_trained,
    class_taxonomies,
    covariance_of,
    draw_splits,
    train_once,
)
from reproduction.experiments.taxonomic_search import search_price

LABELS = np.repeat(np.arange(5), 12)
NAMES = tuple("abcde")
LINNAEAN = Path(__file__).parents[3] / "config/taxonomies/flowers17.nwk"
SEMANTIC = Taxonomy.from_newick("((e,a),(c,(b,d)));")


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
    splits = draw_splits(LABELS, 2, 0)
    common = always_trained(splits)
    assert len(common)
    for split in splits:
        assert not set(common) & (set(split.validation) | set(split.test))


def test_no_image_for_the_vocabulary():
    one, other = (FlowerSplit(np.array([i]), np.array([2]), np.array([3])) for i in (0, 1))
    with pytest.raises(ValueError, match="no image is in the training part of all 2 splits"):
        always_trained([one, other])


def test_a_class_too_small_to_split():
    with pytest.raises(ValueError, match="class 1 has 3 images: expected at least 4"):
        draw_splits([0, 0, 0, 0, 1, 1, 1], 1, 0)


def test_taxonomies_have_the_classes_in_their_order(kernel):
    trees = class_taxonomies(kernel, LABELS, SEMANTIC, NAMES)
    assert all(tree.names == NAMES for tree in trees.values())
    assert trees["semantic"].splits() == SEMANTIC.splits()
    assert trees["learned_topology"].splits() == trees["learned"].splits()
    assert {frozenset("cd")} <= trees["learned"].splits() | {
        frozenset(NAMES) - side for side in trees["learned"].splits()
    }


def test_covariances_do_not_depend_on_the_root(kernel):
    learned = class_taxonomies(kernel, LABELS, SEMANTIC, NAMES)["learned"]
    B = covariance_of(learned, 5)
    np.testing.assert_allclose(covariance_of(learned.rooted_in_the_middle(), 5), B, atol=1e-10)
    for matrix in (B, covariance_of(None, 5)):
        np.testing.assert_allclose(np.trace(matrix), 5)
        np.testing.assert_allclose(matrix.sum(axis=0), 0, atol=1e-12)


def test_the_centred_identity_is_the_svm_without_a_taxonomy(kernel):
    """Centring takes nothing from B = I but a scale, which C makes up for."""
    plain = TaxonomicSVM(C=5.0 * 5 / 4, tol=1e-6).fit(kernel, LABELS)
    centred = TaxonomicSVM(B=covariance_of(None, 5), C=5.0, tol=1e-6).fit(kernel, LABELS)
    one, other = plain.decision_function(kernel), centred.decision_function(kernel)
    np.testing.assert_allclose(other, one - one.mean(axis=1, keepdims=True), atol=0.01)


def test_shuffled_trees_have_the_same_lengths_and_other_neighbours(kernel):
    learned = class_taxonomies(kernel, LABELS, SEMANTIC, NAMES)["learned"]
    trees = shuffled(learned, 20, 0)
    for tree in trees:
        np.testing.assert_allclose(sorted(tree.lengths), sorted(learned.lengths))
        assert tree.names == NAMES
    assert any(tree.splits() != learned.splits() for tree in trees)


def test_one_vs_rest_is_one_svm_a_class(kernel):
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
    for B in (None, covariance_of(None, 5)):
        one, other = (train_once(B, 1.0, K, y, split, 1e-3) for K, y in ((kernel, LABELS), (broken, labels)))
        assert one.validation == other.validation


def search(accuracies, prices, limits=(0.01, 1e4)):
    asked = []

    def train(C):
        asked.append(C)
        return SimpleNamespace(C=C, validation=accuracies(np.log10(C)))

    best, trials = search_price(train, prices, limits)
    assert [trial.C for trial in trials] == sorted(asked)
    return best.C, sorted(asked)


@pytest.mark.parametrize("peak", [-1, 0, 1, 2, 3])
def test_the_grid_grows_until_the_peak_is_inside(peak):
    best, asked = search(lambda x: -((x - peak) ** 2), [1, 10, 100])
    np.testing.assert_allclose(best, 10.0**peak)
    assert asked[0] < best < asked[-1]


def test_of_equal_prices_the_lowest_inside():
    best, asked = search(lambda x: min(x, 1.0), [1, 10, 100, 1000])
    assert best == 10
    assert len(asked) == 4


@pytest.mark.parametrize(("slope", "end"), [(1, 1e4), (-1, 1e-2)])
def test_without_a_peak_the_search_ends_at_the_limit(slope, end):
    best, _ = search(lambda x: slope * x, [1, 10, 100])
    np.testing.assert_allclose(best, end)


@pytest.mark.parametrize("prices", [[1], [3, 1], [0, 1], [1, 1]])
def test_broken_prices(prices):
    with pytest.raises(ValueError, match="expected at least two, positive and rising"):
        search_price(lambda C: None, prices, (0.1, 10))


def test_the_linnaean_tree_has_the_kinds_of_the_data():
    tree = Taxonomy.from_newick(LINNAEAN.read_text(encoding="utf-8"))
    assert sorted(tree.names) == sorted(CLASSES)
    assert all(len(tree.children(node)) > 1 for node in tree.inner)
    together = {frozenset({"tiger lily", "tulip", "fritillary"}), frozenset({"buttercup", "windflower"})}
    assert together <= tree.splits()
