"""Learned taxonomies: closed forms, groups that are there are found, bad input is told."""

import numpy as np
import pandas as pd
import pytest

from ermlab.taxonomy.learning import (
    METHODS,
    class_covariance,
    hsic,
    hsic_cov,
    learn_edge_lengths,
    learn_taxonomy,
    optimal_covariance,
)
from ermlab.taxonomy.tree import Taxonomy, robinson_foulds
from ermlab.taxonomy.tree_fitting import average_linkage, nearest_tree, neighbor_joining

NAMES = ("cat", "dog", "car", "bus", "oak")
TRUTH = Taxonomy.from_newick("((cat,dog),(car,bus),oak);")


@pytest.fixture
def samples():
    """Two pairs of classes that share their direction, and one class alone."""
    rng = np.random.default_rng(0)
    y = np.append(np.arange(5), rng.integers(5, size=195))
    shared = np.eye(3)[[0, 0, 1, 1, 2]] * 3
    means = np.c_[shared, np.eye(5)]
    X = means[y] + 0.5 * rng.normal(size=(200, 8))
    return X, X @ X.T, y


def H(n):
    return np.eye(n) - 1 / n


def test_criteria_are_the_traces_of_the_thesis(samples):
    X, K, y = samples
    Pi, B = np.eye(5)[:, y], np.cov(X[:50, :5].T)
    L = Pi.T @ B @ Pi
    trace = np.trace(H(200) @ K @ H(200) @ L)
    assert hsic(K, L) == pytest.approx(trace)
    assert hsic_cov(K, y, B) == pytest.approx(trace)
    np.testing.assert_allclose(class_covariance(K, y), Pi @ H(200) @ K @ H(200) @ Pi.T, rtol=1e-9, atol=1e-6)


def test_large_kernels_in_single_precision_go_block_by_block():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1100, 3)), np.arange(1100) % 7
    A = np.eye(7)[:, y] @ H(1100) @ X
    expected = A @ A.T
    np.testing.assert_allclose(
        class_covariance((X @ X.T).astype(np.float32), y), expected, rtol=1e-4, atol=1e-2
    )


def test_optimal_covariance_has_the_products_of_class_means(samples):
    X, K, y = samples
    means = np.stack([X[y == c].mean(axis=0) for c in range(5)])
    means -= means.mean(axis=0)
    np.testing.assert_allclose(optimal_covariance(K, y), means @ means.T, atol=1e-10)


def test_edge_lengths_are_squared_norms_of_sums(samples):
    X, K, y = samples
    tree = learn_edge_lengths(K, y, TRUTH)
    centred = X - X.mean(axis=0)
    sums = TRUTH.partition_matrix().T @ np.eye(5)[:, y] @ centred
    expected = (sums**2).sum(axis=1)
    np.testing.assert_allclose(tree.lengths / tree.lengths.max(), expected / expected.max(), atol=1e-10)
    assert np.trace(tree.covariance()) == pytest.approx(5)


@pytest.mark.parametrize("method", METHODS)
def test_groups_of_classes_are_found(samples, method):
    _, K, y = samples
    tree = learn_taxonomy(K, y, NAMES, method)
    assert tree.names == NAMES
    assert TRUTH.splits() <= tree.splits()
    assert robinson_foulds(tree, TRUTH) < 0.5


def test_classes_may_be_names_or_indicators(samples):
    _, K, y = samples
    expected = learn_taxonomy(K, y, NAMES).to_newick()
    assert learn_taxonomy(K, np.array(NAMES)[y], NAMES).to_newick() == expected
    assert learn_taxonomy(K, np.eye(5, dtype=int)[y], NAMES).to_newick() == expected


def test_two_classes_have_a_tree():
    for fit in METHODS.values():
        tree = fit([[0, 3.0], [3, 0]], ["a", "b"])
        np.testing.assert_allclose(tree.metric(), [[0, 3], [3, 0]])


def test_an_ultrametric_is_the_tree_of_average_linkage():
    M = np.array([[0, 2, 6, 6], [2, 0, 6, 6], [6, 6, 0, 4], [6, 6, 4, 0.0]])
    for fit in METHODS.values():
        np.testing.assert_allclose(fit(M, list("abcd")).metric(), M, atol=1e-12)


@pytest.mark.parametrize("learn", [learn_taxonomy, learn_edge_lengths])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda K, y: (K[:, :-1], y), "expected a square kernel matrix"),
        (lambda K, y: (np.where(K[3, 4] == K, np.nan, K), y), r"K is nan at \(3, 4\)"),
        (lambda K, y: (np.triu(K), y), "expected a symmetric matrix"),
        (lambda K, y: (K, y[:-1]), "K has 200 samples and y 199"),
        (lambda K, y: (K, np.where(y == 2, 1, y)), r"classes \['car'\] have no sample"),
        (lambda K, y: (K, y + 1), "y goes from 1 to 5: expected 0 to 4"),
        (lambda K, y: (K, y - 1), "y goes from -1 to 3: expected 0 to 4"),
        (lambda K, y: (K, y.astype(float)), "expected whole numbers"),
        (lambda K, y: (K, np.where(y == 0, "lion", "dog")), r"classes \['lion'\]"),
        (lambda K, y: (K, np.eye(4)[np.minimum(y, 3)]), "y has 4 classes: expected 5"),
        (lambda K, y: (K, 2 * np.eye(5)[y]), "other entries than 0 and 1"),
        (lambda K, y: (K, y[:0]), "expected .n,. classes"),
        (lambda K, y: (np.ones_like(K), y), "depends on the classes"),
    ],
)
def test_bad_input_is_rejected(samples, learn, spoil, message):
    _, K, y = samples
    K, y = spoil(K, y)
    arguments = (K, y, NAMES) if learn is learn_taxonomy else (K, y, TRUTH.ordered(NAMES))
    with pytest.raises(ValueError, match=message):
        learn(*arguments)


def test_kernels_of_other_samples_and_unknown_methods(samples):
    _, K, y = samples
    with pytest.raises(ValueError, match="K has 200 samples and L 199"):
        hsic(K, K[:-1, :-1])
    with pytest.raises(ValueError, match="y goes from 0 to 4: expected 0 to 2"):
        hsic_cov(K, y, np.eye(3))
    with pytest.raises(ValueError, match="method is 'guess': expected one of"):
        learn_taxonomy(K, y, NAMES, "guess")


@pytest.mark.parametrize("fit", [nearest_tree, neighbor_joining, average_linkage])
def test_dissimilarities_that_are_none(fit):
    with pytest.raises(ValueError, match="M goes from -1"):
        fit([[0, -1], [-1, 0.0]], ["a", "b"])
    with pytest.raises(ValueError, match=r"diagonal up to 2"):
        fit([[2, 1], [1, 2.0]], ["a", "b"])
    with pytest.raises(ValueError, match="at least 2 leaves"):
        fit([[0.0]], ["a"])
    with pytest.raises(ValueError, match="3 names of 2 leaves"):
        fit([[0, 1], [1, 0.0]], ["a", "b", "c"])


def test_frames_and_series_are_taken_as_arrays():
    rng = np.random.default_rng(0)
    names, y = ["b", "c", "a"], np.repeat([0, 1, 2], 4)
    X = rng.normal(size=(12, 5)) + 3 * np.eye(3, 5)[y]
    K = X @ X.T
    expected = learn_taxonomy(K, y, names)
    people = [f"sample {i}" for i in range(12)]
    frame, series = pd.DataFrame(K, index=people, columns=people), pd.Series(y, index=people)
    named = pd.Series([names[c] for c in y], index=people)
    indicators = pd.DataFrame(np.eye(3)[y], index=people, columns=names)
    for classes in (series, named, named.astype("category"), indicators, y.tolist()):
        found = learn_taxonomy(frame, classes, pd.Series(names, index=[7, 8, 9]))
        assert found.to_newick() == expected.to_newick()
    assert learn_taxonomy(frame, indicators).to_newick() == expected.to_newick()
    assert learn_taxonomy(K.tolist(), named).names == ("a", "b", "c")
    assert robinson_foulds(learn_taxonomy(frame, named), expected) == 0
    lengths = learn_edge_lengths(frame, named, expected).lengths
    np.testing.assert_array_equal(lengths, learn_edge_lengths(K, y, expected).lengths)
    assert hsic(frame, frame) == hsic(K, K)
    assert hsic_cov(frame, series, pd.DataFrame(np.eye(3))) == hsic_cov(K, y, np.eye(3))
    with pytest.raises(ValueError, match="y is of type int64 and has no names of classes"):
        learn_taxonomy(K, y)


def test_kernels_whose_sums_overflow_are_refused():
    with pytest.raises(ValueError, match=r"K has entries up to 1e\+305: expected at most 1e\+300"):
        learn_taxonomy(1e305 * np.eye(2), [0, 1], ["a", "b"])


def test_a_class_far_beyond_the_samples_is_refused():
    with pytest.raises(ValueError, match="y goes up to 1000000000: expected at most 1"):
        class_covariance(np.eye(2), [0, 10**9])


@pytest.mark.filterwarnings("error")
def test_kernels_at_the_limit_of_single_precision():
    K = np.full((4, 4), 3e38, dtype=np.float32)
    with pytest.raises(ValueError, match="scale them down"):
        hsic(K, K)
    K[0, 1] = -3e38
    with pytest.raises(ValueError, match="differs from its transpose"):
        hsic(K, K)
