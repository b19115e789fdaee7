"""Groups of near-identical samples: against merging by hand and against SciPy's own cut."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

from reproduction.experiments.pedestrians.natural_groups import first_members, natural_groups


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
    groups, thresholds = natural_groups(X, counts)
    for count, labels in zip(counts, groups, strict=True):
        assert {frozenset(np.flatnonzero(labels == g).tolist()) for g in range(count)} == merged_by_hand(
            X, count
        )
    assert thresholds == sorted(thresholds, reverse=True)
    assert thresholds[-1] == 0


def test_equals_the_cut_of_scipy_at_the_thresholds():
    X = np.random.default_rng(0).normal(size=(80, 4))
    groups, thresholds = natural_groups(X, [80, 40, 20, 8])
    tree = linkage(X, "average")
    for labels, threshold in zip(groups, thresholds, strict=True):
        assert adjusted_rand_score(labels, fcluster(tree, threshold, "distance")) == 1


def test_groups_are_nested_and_numbered_by_their_first_member():
    X = np.random.default_rng(1).normal(size=(50, 2))
    groups, _ = natural_groups(X, [50, 20, 5])
    for fine, coarse in pairwise(groups):
        assert all(len(set(coarse[fine == g])) == 1 for g in set(fine))
        assert (np.diff(first_members(coarse)) > 0).all()
    assert np.array_equal(groups[0], np.arange(50))


def test_equal_distances_still_give_the_number_asked_for():
    groups, _ = natural_groups(np.zeros((6, 2)), [4, 2])
    assert [len(set(labels)) for labels in groups] == [4, 2]


@pytest.mark.parametrize(
    ("X", "counts"), [(np.zeros(3), [1]), (np.zeros((3, 2)), [4]), (np.zeros((3, 2)), [0])]
)
def test_bad_input(X, counts):
    with pytest.raises(ValueError, match="expected"):
        natural_groups(X, counts)
