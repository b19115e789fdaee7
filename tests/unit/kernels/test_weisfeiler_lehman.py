"""Weisfeiler-Lehman features: small cases, forms of input, broken input, the estimators."""

import pickle

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from ermlab.kernels._graph_collections import GraphCollection, discrete_labels
from ermlab.kernels.sparse_product import linear_kernel
from ermlab.kernels.weisfeiler_lehman import (
    SubtreeVocabulary,
    WeisfeilerLehman,
    WeisfeilerLehmanKernel,
    subtree_features,
)

PATH = [(0, 1), (1, 2)]
TRIANGLE = [(0, 1), (1, 2), (2, 0)]


def adjacency(edges, n):
    matrix = np.zeros((n, n))
    for u, v in edges:
        matrix[u, v] = matrix[v, u] = 1
    return csr_array(matrix)


def test_path_against_triangle():
    counts = subtree_features([PATH, TRIANGLE], [[5, 5, 5], [5, 5, 5]], h=1)
    # Columns: the label 5; an end of the path; a node with two neighbours.
    assert counts.toarray().tolist() == [[3, 2, 1], [3, 0, 3]]
    assert counts.dtype == np.float64


@pytest.mark.parametrize(
    "form",
    [
        lambda edges, n: adjacency(edges, n),
        lambda edges, n: csr_matrix(adjacency(edges, n)),
        lambda edges, n: adjacency(edges, n).tocoo(),
        lambda edges, n: -2.5 * adjacency(edges, n),
        lambda edges, n: edges,
        lambda edges, n: np.array(edges),
        lambda edges, n: [(v, u) for u, v in edges] + edges,
    ],
)
def test_forms_of_a_graph(form):
    graphs, labels = [PATH, TRIANGLE, [(0, 3)]], [[1, 2, 1], [1, 1, 2], [1, 2, 2, 1]]
    expected = subtree_features(graphs, labels, h=2)
    forms = [form(edges, len(values)) for edges, values in zip(graphs, labels, strict=True)]
    assert (subtree_features(forms, labels, h=2) != expected).nnz == 0


def test_stored_zeros_are_no_edges_and_input_is_left_alone():
    matrix = csr_array(([1.0, 1.0, 0.0], [1, 0, 0], [0, 1, 3, 3]), shape=(3, 3))
    counts = subtree_features([matrix, [(0, 1)]], [[1, 1, 1]] * 2, h=1)
    assert np.array_equal(counts.toarray()[0], counts.toarray()[1])
    assert matrix.nnz == 3


def test_empty_graphs_have_rows_of_zeros():
    graphs = [csr_array((0, 0)), TRIANGLE, []]
    labels = [[], [1, 2, 3], np.empty(0)]
    counts = subtree_features(graphs, labels, h=2)
    assert counts.sum(axis=1).tolist() == [0, 9, 0]
    normalised = WeisfeilerLehman(h=2, normalize=True).fit_transform(list(zip(graphs, labels, strict=True)))
    assert np.allclose(linear_kernel(normalised).diagonal(), [0, 1, 0])
    assert subtree_features([[], []], [[], []], h=1).shape == (2, 0)


def test_an_edge_from_a_node_to_itself_makes_it_its_own_neighbour():
    counts = subtree_features([[(0, 0)], []], [[1], [1]], h=1)
    assert counts.toarray().tolist() == [[1, 1, 0], [1, 0, 1]]


def test_unseen_labels_and_patterns_are_dropped():
    vocabulary, learnt = SubtreeVocabulary.learn([PATH], [[1, 1, 1]], h=1)
    counted = vocabulary.count([PATH, TRIANGLE, PATH], [[9, 9, 9], [1, 1, 1], [1, 1, 9]])
    assert learnt.matrix.toarray().tolist() == [[3, 2, 1]]
    assert counted.matrix.toarray().tolist() == [[0, 0, 0], [3, 0, 3], [2, 1, 0]]
    assert counted.squares.tolist() == [9 + 5, 9 + 9, 5 + 3]
    assert counted.normalized().toarray()[2].tolist() == pytest.approx(np.array([2, 1, 0]) / np.sqrt(8))


def test_columns_of_nodes():
    vocabulary, _ = SubtreeVocabulary.learn([PATH], [[1, 1, 1]], h=1)
    labels = [[1, 1, 9], [1, 1, 1]]
    collection = GraphCollection.of([PATH, PATH], [3, 3])
    columns = vocabulary.node_columns(collection, discrete_labels(labels))
    assert columns.tolist() == [[0, 1], [0, -1], [-1, -1], [0, 1], [0, 2], [0, 1]]


def test_networkx_graphs():
    graph = nx.Graph([("b", "a"), ("a", "c"), ("c", "c")])
    nx.set_node_attributes(graph, {"a": 3, "b": 1, "c": 1}, "atom")
    multi = nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 2)])
    nx.set_node_attributes(multi, {0: 1, 1: 3, 2: 1}, "atom")
    features = WeisfeilerLehman(h=2, node_label="atom").fit_transform(
        [graph, multi, ([(0, 1), (1, 2), (2, 2)], [1, 3, 1])]
    )
    assert np.ptp(features.toarray(), axis=0).max() == 0
    assert WeisfeilerLehman(h=1).fit_transform([nx.Graph()]).shape == (1, 0)


def test_views_of_networkx_graphs_and_any_names_of_nodes():
    graph = nx.cycle_graph(12)
    nx.set_node_attributes(graph, {node: node % 3 for node in graph}, "label")
    graph.add_edge(4, 4)
    some = [9, 3, 4, 5, 10]
    cases = [
        graph,
        graph.subgraph(some),
        graph.subgraph(range(9)),
        nx.relabel_nodes(graph, lambda v: v + 0.5),
    ]
    for case in cases:
        nodes = list(case.nodes)
        edges = [(nodes.index(u), nodes.index(v)) for u, v in case.edges()]
        labels = [case.nodes[node]["label"] for node in nodes]
        found = (
            WeisfeilerLehman(h=3).fit_transform([case, (np.array(edges).reshape(-1, 2), labels)]).toarray()
        )
        np.testing.assert_array_equal(found[0], found[1])


def test_estimator_conventions():
    samples = [(PATH, [1, 2, 1]), (TRIANGLE, [1, 1, 2])]
    model = WeisfeilerLehman(h=2, normalize=True)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        model.transform(samples)
    assert model.fit(samples) is model
    assert model.vocabulary_.h == 2
    assert model.vocabulary_.n_patterns.sum() == model.transform(samples).shape[1]
    assert (model.fit_transform(samples) != model.transform(samples)).nnz == 0
    assert model.transform([]).shape == (0, model.vocabulary_.n_patterns.sum())
    again = pickle.loads(pickle.dumps(model))
    assert (again.transform(samples) != model.transform(samples)).nnz == 0


def test_kernel_of_unseen_graphs_is_that_of_all_together():
    rng = np.random.default_rng(0)
    samples = [(rng.integers(0, 8, size=(12, 2)), rng.integers(0, 3, size=8)) for _ in range(12)]
    for normalize in (False, True):
        whole = WeisfeilerLehmanKernel(h=2, normalize=normalize).fit_transform(samples)
        kernel = WeisfeilerLehmanKernel(h=2, normalize=normalize).fit(samples[:8])
        assert np.allclose(kernel.transform(samples[8:]), whole[8:, :8], rtol=1e-14)
        assert np.allclose(kernel.fit_transform(samples[:8]), whole[:8, :8], rtol=1e-14)


def test_kernel_in_a_pipeline_with_a_grid():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    samples = [(rng.integers(0, 10, size=(8 + 8 * c, 2)), np.zeros(10, dtype=int)) for c in y]
    pipeline = make_pipeline(WeisfeilerLehmanKernel(normalize=True), SVC(kernel="precomputed"))
    search = GridSearchCV(pipeline, {"weisfeilerlehmankernel__h": [0, 1, 2]}, cv=4).fit(samples, y)
    assert search.best_params_["weisfeilerlehmankernel__h"] > 0  # with h = 0 all graphs are the same
    assert search.best_score_ > 0.8


@pytest.mark.parametrize(
    ("graph", "labels", "message"),
    [
        (PATH, [1.0, np.nan, 2.0], r"node 1 of graph 1 is nan: expected an integer"),
        (PATH, [1.0, 2.5, 2.0], r"node 1 of graph 1 is 2.5: .*PyramidWL"),
        (PATH, ["C", "N", "C"], r"labels of graph 1 have type <U1: expected integers"),
        (PATH, [[1], [2], [3]], r"labels of graph 1 have shape \(3, 1\)"),
        ([(0, 1), (1, 3)], [1, 1, 1], r"edge 1 of graph 1 joins nodes 1 and 3: expected nodes 0 to 2"),
        ([(0, -1)], [1, 1, 1], r"edge 0 of graph 1 joins nodes 0 and -1"),
        ([(0, 1)], [], r"edge 0 of graph 1 joins nodes 0 and 1"),
        ([(0.0, 1.0)], [1, 1], r"graph 1 is an array of shape \(1, 2\) and type float64: expected a list of"),
        (np.zeros((3, 3), dtype=int), [1, 1, 1], r"graph 1 is an array of shape \(3, 3\)"),
        (csr_array((2, 2)), [1, 1, 1], r"adjacency of graph 1 has shape \(2, 2\): expected \(3, 3\)"),
        (csr_array([[0, np.nan], [np.nan, 0]]), [1, 1], r"adjacency of graph 1 holds NaN"),
        (
            csr_array([[0, 0, 1], [0, 0, 1], [0, 1, 0]]),
            [1, 1, 1],
            r"graph 1 has the edge 0 to 2 but not 2 to 0",
        ),
        (
            csr_array([[0, 1, 0], [1, 0, 0], [1, 0, 0]]),
            [1, 1, 1],
            r"graph 1 has the edge 2 to 0 but not 0 to 2",
        ),
        (
            csr_array([[0, 0, 0], [1, 0, 0], [0, 0, 1]]),
            [1, 1, 1],
            r"graph 1 has the edge 1 to 0 but not 0 to 1",
        ),
    ],
)
def test_broken_graphs(graph, labels, message):
    vocabulary, _ = SubtreeVocabulary.learn([PATH], [[1, 1, 1]], h=1)
    with pytest.raises(ValueError, match=message):
        subtree_features([PATH, graph], [[1, 1, 1], labels], h=1)
    with pytest.raises(ValueError, match=message):
        vocabulary.count([PATH, graph], [[1, 1, 1], labels])


@pytest.mark.parametrize("h", [-1, 1.5, "2", None, True])
def test_broken_height(h):
    with pytest.raises(ValueError, match="expected a height of patterns"):
        subtree_features([PATH], [[1, 1, 1]], h=h)


def test_broken_samples():
    model = WeisfeilerLehman()
    with pytest.raises(ValueError, match="no graph to learn from"):
        model.fit([])
    with pytest.raises(ValueError, match=r"sample 1 is a csr_array: expected a pair"):
        model.fit([(PATH, [1, 1, 1]), adjacency(PATH, 3)])
    graph = nx.path_graph(3)
    with pytest.raises(ValueError, match=r"node 0 of graph 0 has no label: expected the attribute 'label'"):
        model.fit([graph])
    with pytest.raises(ValueError, match="graph 0 is directed"):
        model.fit([graph.to_directed()])
    with pytest.raises(ValueError, match="2 graphs and labels of 1"):
        subtree_features([PATH, PATH], [[1, 1, 1]], h=1)


@pytest.mark.parametrize(
    ("what", "values", "message"),
    [
        ("indices", [1, 2], "adjacency of graph 1 has the index 2: expected 0 to 1"),
        ("indices", [1, -1], "adjacency of graph 1 has the index -1: expected 0 to 1"),
        ("indptr", [0, 9, 2], "indptr of adjacency of graph 1 is not valid"),
        ("indptr", [0, 1, 9], "indptr of adjacency of graph 1 ends with 9: expected at most 2"),
        ("indptr", [1, 1, 2], "indptr of adjacency of graph 1 is not valid"),
    ],
)
def test_adjacency_that_leaves_its_shape_is_refused(what, values, message):
    graph = csr_array([[0.0, 1.0], [1.0, 0.0]])
    getattr(graph, what)[:] = values
    sound = csr_array([[0.0, 1.0], [1.0, 0.0]])
    with pytest.raises(ValueError, match=message):
        subtree_features([sound, graph, sound], [[0, 0]] * 3, 1)


def test_adjacency_with_room_to_spare():
    roomy = csr_array(([1.0, 1.0], [1, 0], [0, 1, 2]), shape=(2, 2))
    roomy.indices, roomy.data = np.array([1, 0, 7, 7], dtype=np.int32), np.ones(4)
    expected = subtree_features([csr_array([[0.0, 1.0], [1.0, 0.0]])], [[0, 1]], 2)
    assert (subtree_features([roomy], [[0, 1]], 2) != expected).nnz == 0


def test_labels_beyond_64_bits_are_refused():
    with pytest.raises(ValueError, match=r"label of node 1 of graph 0 is 2e\+300: expected an integer"):
        subtree_features([[[0, 1]]], [[1.0, 2e300]], 1)


def test_labels_of_other_graphs_are_refused():
    collection = GraphCollection.of([[[0, 1]]], [2])
    with pytest.raises(ValueError, match=r"labels of shape \(3,\): expected one for each of 2 nodes"):
        SubtreeVocabulary.learn_from(collection, np.zeros(3, dtype=np.int64), 1)


def test_unsigned_labels_are_not_taken_for_negative_ones():
    largest = np.array([2**64 - 1, 0], dtype=np.uint64)
    alone = subtree_features([[[0, 1]]] * 2, [largest, largest], 1)
    np.testing.assert_array_equal(alone.toarray()[0], alone.toarray()[1])
    with pytest.raises(ValueError, match="go up to 18446744073709551615, those of graph 1 down to -1"):
        subtree_features([[[0, 1]]] * 2, [largest, np.array([-1, 0])], 1)


@pytest.mark.filterwarnings("error")
def test_labels_in_half_precision():
    found = subtree_features([[[0, 1]]], [np.array([1, 2], dtype=np.float16)], 1)
    np.testing.assert_array_equal(found.toarray(), subtree_features([[[0, 1]]], [[1, 2]], 1).toarray())


def test_masked_labels_are_refused():
    with pytest.raises(ValueError, match="node labels of graph 0 have masked entries"):
        subtree_features([[[0, 1]]], [np.ma.array([1, 2], mask=[False, True])], 1)


def test_adjacency_whose_indices_are_small_in_another_byte_order_only():
    graph = csr_array([[0, 1], [1, 0]])
    graph.indices = np.array([1 << 24, 0], dtype=np.int32).astype(np.dtype(np.int32).newbyteorder())
    with pytest.raises(ValueError, match="has the index 16777216"):
        subtree_features([graph], [[0, 0]], 1)
