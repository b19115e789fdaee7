"""Pyramids of quantisations, and the subtree patterns of all their levels."""

import networkx as nx
import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from ermlab.kernels.pyramid import PyramidQuantizer, PyramidWL
from ermlab.kernels.sparse_product import linear_kernel
from ermlab.kernels.weisfeiler_lehman import subtree_features


def same_partition(a, b):
    return len(set(zip(a.tolist(), b.tolist(), strict=True))) == len(set(a.tolist())) == len(set(b.tolist()))


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("n", [1, 2, 3, 33, 150])
def test_bins_are_those_of_scipys_ward(d, n):
    values = np.random.default_rng(n).normal(size=(n, d)) ** 3
    quantizer = PyramidQuantizer().fit(values)
    bins = quantizer.transform(values)
    assert bins.shape == (n, int(np.ceil(np.log2(n))) + 1)
    if n == 1:
        return
    tree = linkage(values, "ward")
    for level in range(bins.shape[1]):
        assert same_partition(bins[:, level], fcluster(tree, min(2**level, n), "maxclust"))


@pytest.mark.parametrize("d", [1, 3])
def test_values_count_as_often_as_they_occur(d):
    """A peer without weights is given every copy."""
    rng = np.random.default_rng(3)
    values = np.repeat(rng.normal(size=(40, d)), rng.integers(1, 30, size=40), axis=0)
    quantizer = PyramidQuantizer().fit(rng.permutation(values))
    tree = linkage(values, "ward")
    for level, bins in enumerate(quantizer.transform(values).T):
        assert same_partition(bins, fcluster(tree, min(2**level, 40), "maxclust"))
        means = [values[bins == k].mean(axis=0) for k in range(bins.max() + 1)]
        assert np.allclose(quantizer.centroids_[level], means)


@pytest.mark.parametrize("d", [1, 2])
def test_first_level_has_one_bin_and_last_separates_all(d):
    values = np.round(np.random.default_rng(0).normal(size=(500, d)), 1)
    bins = PyramidQuantizer().fit(values).transform(values)
    distinct = np.unique(values, axis=0)
    assert np.unique(bins[:, 0]).size == 1
    assert same_partition(bins[:, -1], np.unique(values, axis=0, return_inverse=True)[1].ravel())
    for level in range(bins.shape[1]):
        assert np.unique(bins[:, level]).size == min(2**level, len(distinct))
        if level:  # nested: a bin lies in one bin of the level before
            pairs = np.unique(bins[:, [level - 1, level]], axis=0)
            assert len(pairs) == np.unique(bins[:, level]).size


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("standardize", [False, True])
def test_new_values_go_to_the_nearest_centroid(d, standardize):
    rng = np.random.default_rng(1)
    training = rng.normal(size=(60, d)) * [1, 10, 100][:d]
    new = rng.normal(size=(80, d)) * [1, 10, 100][:d]
    quantizer = PyramidQuantizer(standardize=standardize).fit(training)
    scale = training.std(axis=0) if standardize else 1
    for level, bins in enumerate(quantizer.transform(new).T):
        differences = (new[:, None] - quantizer.centroids_[level][None]) / scale
        assert np.array_equal(bins, (differences**2).sum(axis=2).argmin(axis=1))


def test_standardised_coordinates_do_not_depend_on_their_units():
    values = np.random.default_rng(0).normal(size=(70, 3))
    bins = PyramidQuantizer(standardize=True).fit(values).bins_
    values = np.unique(values, axis=0)
    other = PyramidQuantizer(standardize=True).fit(values * [1, 64, 1 / 64]).bins_
    assert np.array_equal(bins, other)
    assert PyramidQuantizer(standardize=True).fit(values * [1, 0, 1]).n_levels_ == 8


def test_minus_zero_is_zero():
    quantizer = PyramidQuantizer().fit([[-0.0, 1.0], [0.0, 1.0], [2.0, 0.0]])
    assert quantizer.n_levels_ == 2
    assert np.array_equal(quantizer.transform([[0.0, 1.0]]), quantizer.transform([[-0.0, 1.0]]))


def test_too_many_vectors_are_thinned_out_first():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(32, 2)) * 100
    values = (centres[:, None] + rng.normal(size=(32, 200, 2))).reshape(-1, 2)
    quantizer = PyramidQuantizer(max_values=300).fit(values)
    assert [bins.max() + 1 for bins in quantizer.bins_] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]
    exact = PyramidQuantizer(max_values=len(values)).fit(values)
    # Groups far apart are found all the same.
    for level in range(6):
        assert same_partition(quantizer.transform(values)[:, level], exact.transform(values)[:, level])
    assert PyramidQuantizer(max_values=10).fit(values[:, 0]).n_levels_ == exact.n_levels_


def test_features_are_those_of_each_level():
    rng = np.random.default_rng(0)
    graphs = [rng.integers(0, 9, size=(12, 2)) for _ in range(6)]
    labels = [rng.integers(0, 5, size=(9, 2)) / 2 for _ in range(6)]
    samples = list(zip(graphs, labels, strict=True))
    model = PyramidWL(h=2)
    features = model.fit_transform(samples)
    levels = [
        subtree_features(graphs, [model.quantizer_.transform(values)[:, level] for values in labels], 2)
        for level in range(model.quantizer_.n_levels_)
    ]
    assert np.array_equal(features.toarray(), np.hstack([level.toarray() for level in levels]))
    assert model.n_patterns_.shape == (len(levels), 3)
    assert model.n_patterns_.sum(axis=1).tolist() == [level.shape[1] for level in levels]
    assert (model.transform(samples) != features).nnz == 0
    normalised = PyramidWL(h=2, normalize=True, n_jobs=2).fit_transform(samples)
    kernel, lengths = linear_kernel(features), np.sqrt(linear_kernel(features).diagonal())
    assert np.allclose(linear_kernel(normalised), kernel / np.outer(lengths, lengths))


def test_last_level_and_height_0_count_the_values_themselves():
    labels = [[0.5, 0.25, 0.5], [3.0, 0.25]]
    features = PyramidWL(h=0).fit_transform([([], values) for values in labels])
    assert features.toarray()[:, -3:].sum(axis=1).tolist() == [3, 2]
    assert sorted(map(tuple, features.toarray()[:, -3:].T.tolist())) == [(0, 1), (1, 1), (2, 0)]


def test_columns_of_nodes_add_up_to_the_features():
    rng = np.random.default_rng(0)
    samples = [(rng.integers(0, 9, size=(12, 2)), rng.normal(size=9)) for _ in range(8)]
    model = PyramidWL(h=2).fit(samples[:5])
    features = model.transform(samples)
    for row, columns in enumerate(model.node_columns(samples)):
        assert columns.shape == (9, model.quantizer_.n_levels_, 3)
        known = columns[columns >= 0]
        assert np.array_equal(np.bincount(known, minlength=features.shape[1]), features[[row]].toarray()[0])
    assert model.node_columns([]) == []


def test_empty_graphs_and_unseen_values():
    model = PyramidWL(h=1).fit([([(0, 1)], [1.0, 2.0]), ([], [])])
    features = model.transform([([], np.empty((0, 1))), ([(0, 1)], [-50.0, 1.9])])
    assert features.toarray()[0].max() == 0
    assert np.array_equal(features[[1]].toarray(), model.transform([([(0, 1)], [1.0, 2.0])]).toarray())


def test_estimator_conventions_with_networkx_in_a_pipeline():
    rng = np.random.default_rng(0)
    samples, y = [], np.repeat([0, 1], 15)
    for target in y:
        graph = nx.gnp_random_graph(12, 0.3, seed=int(rng.integers(1000)))
        vectors = rng.normal(size=(12, 2)) + 2 * target
        nx.set_node_attributes(graph, dict(enumerate(vectors)), "colour")
        samples.append(graph)
    model = PyramidWL(h=1, normalize=True, node_label="colour")
    with pytest.raises(NotFittedError):
        model.transform(samples)
    with pytest.raises(NotFittedError):
        PyramidQuantizer().transform([1.0])
    assert clone(model).get_params() == model.get_params()
    pipeline = make_pipeline(model, LogisticRegression(C=100))
    assert cross_val_score(pipeline, samples, y, cv=5).mean() > 0.9


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([[0.0, 1.0], [np.nan, 0.0]], r"node 1 of graph 1 is \[nan +0.\]: expected finite numbers"),
        ([[0.0, np.inf], [1.0, 0.0]], r"node 0 of graph 1 is"),
        ([[0.0], [1.0]], r"graph 1 have shape \(2, 1\): expected \(nodes, 2\)"),
        ([0.0, 1.0], r"graph 1 have shape \(2, 1\): expected \(nodes, 2\)"),
        ([["a", "b"], ["c", "d"]], r"node labels of graph 1: .*expected numbers"),
        ([[1.0, 2.0], [1.0]], r"node labels of graph 1: .*expected numbers"),
        (np.zeros((2, 2, 2)), r"graph 1 have shape \(2, 2, 2\)"),
    ],
)
def test_broken_labels(labels, message):
    good = ([(0, 1)], [[0.0, 1.0], [2.0, 3.0]])
    with pytest.raises(ValueError, match=message):
        PyramidWL().fit([good, ([(0, 1)], labels)])
    with pytest.raises(ValueError, match=message):
        PyramidWL().fit([good]).transform([good, ([(0, 1)], labels)])


def test_nothing_to_learn_from():
    with pytest.raises(ValueError, match="no node in any training graph"):
        PyramidWL().fit([([], [])])
    with pytest.raises(ValueError, match="no node in any training graph"):
        PyramidWL().fit([])
    with pytest.raises(ValueError, match="no training value"):
        PyramidQuantizer().fit([])
    with pytest.raises(ValueError, match="max_values is 0"):
        PyramidQuantizer(max_values=0).fit([1.0])
    with pytest.raises(ValueError, match="expected a height"):
        PyramidWL(h=-1).fit([([(0, 1)], [1.0, 2.0])])
    with pytest.raises(ValueError, match="joins nodes 0 and 2"):
        PyramidWL().fit([([(0, 2)], [1.0, 2.0])])


def test_rounding_does_not_break_the_chain_of_neighbours():
    # All pairs of these points, and of their means, cost the same but for rounding. Of one merged cluster the
    # nearest is then one that stands in the chain already.
    rng = np.random.default_rng(1255)
    points = np.vstack([np.eye(9), -np.eye(9)]) * rng.random() + rng.random(9)
    levels = PyramidQuantizer().fit(points).bins_
    assert [len(set(bins)) for bins in levels.tolist()] == [1, 2, 4, 8, 16, 18]


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("exponent", [-1000, -600, 600, 1000])
def test_bins_do_not_depend_on_units(d, standardize, exponent):
    rng = np.random.default_rng(0)
    values, others, unit = rng.normal(size=(40, d)), rng.normal(size=(20, d)), 2.0**exponent
    plain = PyramidQuantizer(standardize=standardize).fit(values)
    scaled = PyramidQuantizer(standardize=standardize).fit(unit * values)
    np.testing.assert_array_equal(scaled.bins_, plain.bins_)
    np.testing.assert_array_equal(scaled.transform(unit * others), plain.transform(others))
    for found, expected in zip(scaled.centroids_, plain.centroids_, strict=True):
        np.testing.assert_array_equal(found, unit * expected)


def test_a_constant_coordinate_has_no_say_when_standardized():
    values = np.column_stack([np.arange(6.0), np.full(6, 0.1)])
    model = PyramidQuantizer(standardize=True).fit(values)
    found = model.transform([[0.2, 0.1 + 1e-15], [4.9, 0.1 - 1e-15]])
    np.testing.assert_array_equal(found, model.transform([[0.0, 0.1], [5.0, 0.1]]))


def test_coordinates_of_very_different_units():
    rng = np.random.default_rng(0)
    values, new = rng.normal(size=(40, 2)), rng.normal(size=(20, 2))
    units = np.array([2.0**600, 2.0**-600])
    plain = PyramidQuantizer(standardize=True).fit(values)
    far = PyramidQuantizer(standardize=True).fit(values * units)
    np.testing.assert_array_equal(far.transform(new * units), plain.transform(new))
    for ours, theirs in zip(far.centroids_, plain.centroids_, strict=True):
        np.testing.assert_allclose(ours / units, theirs)


def test_complex_labels_are_refused():
    with pytest.raises(ValueError, match="complex"):
        PyramidQuantizer().fit(np.array([1 + 1j, 2.0]))
