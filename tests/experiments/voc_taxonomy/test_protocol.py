"""Taxonomies from scores: what is taken from which part, and that shared directions are found."""

import dataclasses

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel

from ermlab.taxonomy import Taxonomy, centered
from reproduction.experiments.taxonomies import comparable
from reproduction.experiments.voc_taxonomy.protocol import (
    BagsOfImages,
    areas_under_roc,
    cells_of,
    choose_description,
    class_scores,
    held_out_area,
    roles,
    score_kernels,
    scores_of_test_images,
    taxonomies_of,
)
from reproduction.experiments.voc_taxonomy.train import choose_C

SEMANTIC = Taxonomy.from_newick("((cat,dog),(car,bus));")


@pytest.fixture(scope="module")
def data():
    """Histograms in which classes of a pair share most of their bins; some images hold two classes."""
    rng = np.random.default_rng(0)
    n = 90
    labels = np.eye(4, dtype=bool)[np.arange(n) % 4]
    labels[rng.random(n) < 0.2, 0] = True
    bins = np.array([[4, 1, 0, 0, 2], [4, 0, 1, 0, 2], [0, 0, 0, 4, 2], [1, 0, 0, 4, 2]], dtype=float)
    bags = rng.poisson(labels @ bins + 1, size=(3, n, 5)).astype(float)
    bags /= bags.sum(axis=2, keepdims=True)
    bags = np.tile(bags, 5) / 5  # all quarters are like the whole image
    return BagsOfImages(bags, labels, np.arange(n) // 4 % 3, np.array(SEMANTIC.names))


@pytest.fixture(scope="module")
def part(data):
    return roles(data, 0)


def test_parts_take_their_roles(data, part):
    assert part.K.shape == (30, 30)
    np.testing.assert_array_equal(part.Y, data.labels[data.parts == 1])
    np.testing.assert_array_equal(part.Y_test, data.labels[data.parts == 2])
    np.testing.assert_array_equal(roles(data, 5).Y_test, data.labels[data.parts == 0])
    with pytest.raises(ValueError, match="order is 6: expected 0 to 5"):
        roles(data, 6)


def test_training_knows_nothing_of_the_test_images(data, part):
    changed = data.bags.copy()
    changed[:, data.parts == 2] = changed[:, data.parts == 2][:, ::-1] ** 2
    other = roles(BagsOfImages(changed, data.labels, data.parts, data.classes), 0)
    np.testing.assert_array_equal(other.K, part.K)
    assert not np.allclose(other.K_test, part.K_test)


def test_description_is_that_with_the_better_classifiers():
    rng = np.random.default_rng(1)
    labels = np.eye(2, dtype=bool)[np.arange(60) % 2]
    informative, noise = rng.poisson(6 * labels + 1), rng.poisson(3, size=(60, 8))
    in_the_whole = np.hstack([informative, noise])
    in_a_quarter = np.hstack([noise[:, :2], informative, noise[:, 2:]])
    found = [
        choose_description(cells_of(bags.astype(float)), labels) for bags in (in_the_whole, in_a_quarter)
    ]
    assert found == ["whole image", "image and quarters"]
    assert [cells.shape[1] for cells in cells_of(in_the_whole).values()] == [2, 10]


def test_a_class_of_one_image_does_not_count():
    labels = np.zeros((6, 1), dtype=bool)
    labels[0] = True
    bags = np.random.default_rng(0).random((6, 10))
    assert choose_description(cells_of(bags), labels) == "whole image"


def test_scores_tell_classes_apart(data):
    train, test = data.parts == 0, data.parts == 1
    scores = class_scores(data.bags[0][train], data.labels[train], data.bags[0][test])
    assert scores.shape == (test.sum(), 4)
    assert roc_auc_score(data.labels[test][:, 2], scores[:, 2]) > 0.8


def test_kernel_of_scores_is_gaussian_with_the_median():
    rng = np.random.default_rng(0)
    old, new = rng.normal(size=(9, 3)) * [1, 10, 100], rng.normal(size=(4, 3))
    K, K_new = score_kernels(old, new)
    scaled = old / old.std(axis=0)
    distances = [np.linalg.norm(scaled[i] - scaled[j]) for i in range(9) for j in range(i)]
    gamma = 1 / (2 * np.median(distances) ** 2)
    np.testing.assert_allclose(K, rbf_kernel(scaled, gamma=gamma))
    np.testing.assert_allclose(K_new, rbf_kernel(new / old.std(axis=0), scaled, gamma=gamma))
    old[:, 1] = 5
    with pytest.raises(ValueError, match="class 1 are all equal"):
        score_kernels(old, new)


def test_taxonomies_and_their_controls(part):
    trees = taxonomies_of(part, SEMANTIC, np.random.default_rng(0))
    assert trees["semantic"].splits() == SEMANTIC.splits()
    assert trees["learned"].splits() == SEMANTIC.splits()  # the pairs share their bins
    assert trees["learned_topology"].splits() == trees["learned"].splits()
    assert sorted(trees["permuted"].lengths) == pytest.approx(sorted(trees["learned"].lengths))


def test_comparable_covariances_have_one_trace_and_no_root():
    B, other = SEMANTIC.covariance(), SEMANTIC.rerooted(1).covariance()
    assert np.trace(comparable(B)) == pytest.approx(4)
    np.testing.assert_allclose(comparable(B), comparable(other), atol=1e-12)
    np.testing.assert_allclose(comparable(B), centered(comparable(B)), atol=1e-12)


def test_classifiers_find_the_classes(part):
    B = comparable(SEMANTIC.covariance())
    assert all(0.7 < held_out_area(part, B, C, 1e-3) <= 1 for C in (1.0, 10.0))
    scores, gap = scores_of_test_images(part, B, 10.0, 1e-3)
    assert gap <= 1e-3
    np.testing.assert_allclose(scores.sum(axis=1), 0, atol=1e-9)
    assert np.nanmean(areas_under_roc(part.Y_test, scores)) > 0.7


def test_where_the_root_lies_does_not_show_in_the_scores(part):
    scores = [
        scores_of_test_images(part, comparable(tree.covariance()), 10.0, 1e-8)[0]
        for tree in (SEMANTIC, SEMANTIC.rerooted(1))
    ]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-3)


def test_area_of_a_class_that_all_or_no_images_have():
    Y = np.array([[1, 1, 0], [0, 1, 0]], dtype=bool)
    np.testing.assert_array_equal(areas_under_roc(Y, np.array([[2.0, 0, 0], [1, 0, 0]])), [1, np.nan, np.nan])


def test_no_C_is_preferred_without_two_images_of_a_class(part):
    few = dataclasses.replace(part, K=part.K[:4, :4], K_test=part.K_test[:, :4], Y=np.eye(4, dtype=bool))
    assert held_out_area(few, np.eye(4), 1.0, 1e-3) is None
    assert choose_C(few, np.eye(4), [1.0, 7.0, 9.0], [1.0, 9.0], 1e-3) == 7
