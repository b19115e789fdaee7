"""Groups of near-identical samples: against merging by hand and SciPy, and what is trained on them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

from reproduction.experiments.pedestrians.protocol import GROUPED, METHODS, count_used_pedestrians, train
from reproduction.experiments.pedestrians.train_groups import group_counts, group_training, natural_groups

LABELS = np.repeat([1, -1], [6, 10])


def merged_by_hand(X, count):
    """Average linkage by its definition: merge the two clusters with the least mean distance."""
    clusters = [[i] for i in range(len(X))]
    distances = np.linalg.norm(X[:, None] - X, axis=-1)
    while len(clusters) > count:
        pairs = [(a, b) for b in range(len(clusters)) for a in range(b)]
        a, b = min(pairs, key=lambda pair: distances[np.ix_(clusters[pair[0]], clusters[pair[1]])].mean())
        clusters[a] += clusters.pop(b)
    return {frozenset(cluster) for cluster in clusters}


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 9))
def test_equals_merging_by_hand_at_every_count(seed, n):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    counts = list(range(1, n + 1))
    for count, labels in zip(counts, natural_groups(X, counts), strict=True):
        assert {frozenset(np.flatnonzero(labels == g).tolist()) for g in range(count)} == merged_by_hand(
            X, count
        )


def test_equals_the_cut_of_scipy():
    X = np.random.default_rng(0).normal(size=(80, 4))
    counts = [80, 40, 20, 8]
    tree = linkage(X, "average")
    for count, labels in zip(counts, natural_groups(X, counts), strict=True):
        assert adjusted_rand_score(labels, fcluster(tree, count, "maxclust")) == 1


def test_groups_are_nested_and_numbered_by_their_first_member():
    X = np.random.default_rng(1).normal(size=(50, 2))
    groups = natural_groups(X, [50, 20, 5])
    for fine, coarse in pairwise(groups):
        assert all(len(set(coarse[fine == g])) == 1 for g in set(fine))
        assert (np.diff(np.unique(coarse, return_index=True)[1]) > 0).all()
    assert np.array_equal(groups[0], np.arange(50))


def test_equal_distances_still_give_the_number_asked_for():
    groups = natural_groups(np.zeros((6, 2)), [4, 2])
    assert [len(set(labels)) for labels in groups] == [4, 2]


@pytest.mark.parametrize(
    ("X", "counts"), [(np.zeros(3), [1]), (np.zeros((3, 2)), [4]), (np.zeros((3, 2)), [0])]
)
def test_bad_input(X, counts):
    with pytest.raises(ValueError, match="expected"):
        natural_groups(X, counts)


def test_groups_of_pedestrians_become_samples():
    groups = np.array([0, 1, 0, 2, 1, 0])
    natural = group_training(LABELS, groups, natural=True)
    assert natural.crops.tolist() == list(range(16))
    assert natural.groups.tolist() == [0, 1, 0, 2, 1, 0, *range(3, 13)]
    assert natural.y.tolist() == [1] * 3 + [-1] * 10
    alone = group_training(LABELS, groups, natural=False)
    assert alone.crops.tolist() == [0, 1, 3, *range(6, 16)]
    assert alone.groups.tolist() == list(range(13))
    assert np.array_equal(alone.y, natural.y)


@pytest.mark.parametrize("kind", GROUPED)
def test_every_image_alone_is_the_method_without_groups(kind, bags):
    method = METHODS[GROUPED[kind]]
    training = group_training(LABELS, np.arange(6), natural=True)
    grouped = train(method, bags[training.crops], training.y, 2.0, 1e-4, training.groups)
    assert np.array_equal(grouped.coef_, train(method, bags, LABELS, 2.0, 1e-4).coef_)


@pytest.mark.parametrize("kind", GROUPED)
def test_used_pedestrians_are_images_not_versions(kind, bags):
    groups = np.array([0, 0, 0, 1, 1, 1])
    for natural, most in ((False, 2), (True, 6)):
        training = group_training(LABELS, groups, natural=natural)
        model = train(METHODS[GROUPED[kind]], bags[training.crops], training.y, 2.0, 1e-4, training.groups)
        by_hand = {
            training.crops[row // 18] for row in np.flatnonzero(model.used_) if training.crops[row // 18] < 6
        }
        assert count_used_pedestrians(model, LABELS[training.crops], 18) == len(by_hand)
        assert 2 <= len(by_hand) <= most


def test_counts_of_groups():
    assert group_counts(800, [1, 0.5, 0.25, 0.1]) == [800, 400, 200, 80]
    assert group_counts(3, [1, 0.1]) == [3, 1]
