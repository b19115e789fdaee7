import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from ermlab.cca import normalized_laplacian
from ermlab.semisupervised import graph_laplacian, neighbor_graph


def dense_graph(X, k, weights, bandwidth=None):
    """The definition, sample by sample."""
    D = cdist(X, X)
    joined = np.zeros(D.shape, dtype=bool)
    for i in range(len(X)):
        others = [j for j in np.argsort(D[i], kind="stable") if j != i][:k]
        joined[i, others] = True
    joined |= joined.T
    if weights == "binary":
        return joined.astype(float)
    lengths = D[np.triu(joined)]
    bandwidth = np.median(lengths[lengths > 0]) if bandwidth is None else bandwidth
    return np.where(joined, np.exp(-(D**2) / (2 * bandwidth**2)), 0.0)


@pytest.mark.parametrize("weights", ["heat", "binary"])
@pytest.mark.parametrize(("m", "d", "k"), [(40, 2, 3), (60, 30, 7), (5, 2, 10), (2, 1, 1)])
def test_definition(weights, m, d, k):
    X = np.random.default_rng(m).normal(size=(m, d))
    W = neighbor_graph(X, k, weights=weights)
    np.testing.assert_allclose(W.toarray(), dense_graph(X, k, weights), atol=1e-12)
    D = cdist(X, X)
    np.testing.assert_array_equal(
        neighbor_graph(D, k, weights=weights, metric="precomputed").indices, W.indices
    )
    assert (W != W.T).nnz == 0


def test_bandwidth_is_in_units_of_the_samples():
    X = np.random.default_rng(0).normal(size=(30, 3))
    np.testing.assert_allclose(
        neighbor_graph(X, 4, bandwidth=0.7).toarray(), dense_graph(X, 4, "heat", 0.7), atol=1e-12
    )
    plain = neighbor_graph(X, 4).toarray()
    for scale, offset in ((1e9, 0.0), (1e-9, 0.0), (1e150, 0.0), (1.0, 1e6)):
        np.testing.assert_allclose(neighbor_graph(scale * X + offset, 4).toarray(), plain, atol=1e-8)


def test_coinciding_samples_are_joined_with_weight_1():
    X = np.array([[0.0], [0.0], [1.0], [1.0], [5.0]])
    W = neighbor_graph(X, 1).toarray()
    assert W[0, 1] == W[2, 3] == 1
    assert connected_components(csr_array(W))[0] == 2
    np.testing.assert_array_equal(neighbor_graph(np.ones((4, 2)), 3).toarray(), 1 - np.eye(4))


def test_threads_do_not_matter():
    X = np.round(np.random.default_rng(0).normal(size=(300, 20)))  # many equal distances
    with threadpool_limits(limits=1):
        first = neighbor_graph(X, 5)
    assert (first != neighbor_graph(X, 5)).nnz == 0


def test_laplacians():
    W = dense_graph(np.random.default_rng(1).normal(size=(20, 2)), 3, "heat")
    D = np.diag(W.sum(axis=1))
    np.testing.assert_allclose(graph_laplacian(W, normalized=False).toarray(), D - W, atol=1e-12)
    root = np.diag(1 / np.sqrt(np.diag(D)))
    np.testing.assert_allclose(graph_laplacian(csr_array(W)).toarray(), root @ (D - W) @ root, atol=1e-12)


def test_laplacian_of_a_complete_graph_is_that_of_kcca():
    """`normalized_laplacian` counts the similarity of a sample to itself, which a graph does not have."""
    X = np.random.default_rng(2).normal(size=(15, 3))
    W = neighbor_graph(X, 14, bandwidth=1.3).toarray() + np.eye(15)
    scale = 1 / np.sqrt(W.sum(axis=1))
    expected = np.eye(15) - scale[:, None] * W * scale
    np.testing.assert_allclose(normalized_laplacian(cdist(X, X) ** 2, 1.3), expected, atol=1e-12)


def test_isolated_samples_have_no_penalty():
    W = np.zeros((3, 3))
    W[0, 1] = W[1, 0] = 2.0
    for normalized in (True, False):
        L = graph_laplacian(W, normalized=normalized).toarray()
        np.testing.assert_array_equal(L[2], 0)
        np.testing.assert_allclose(L[0, :2], [1, -1] if normalized else [2, -2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: neighbor_graph(np.eye(3), 0), "n_neighbors is 0"),
        (lambda: neighbor_graph(np.eye(3), 1, weights="cosine"), "weights is 'cosine'"),
        (lambda: neighbor_graph(np.eye(3), 1, metric="l1"), "metric is 'l1'"),
        (lambda: neighbor_graph(np.eye(3), 1, bandwidth=0), "bandwidth is 0"),
        (lambda: neighbor_graph([[1.0], [np.nan]], 1), r"nan at \(1, 0\)"),
        (lambda: neighbor_graph(np.empty((0, 2)), 1), "at least one sample"),
        (lambda: neighbor_graph(-np.eye(3), 1, metric="precomputed"), "at least 0"),
        (lambda: neighbor_graph(np.ones((3, 2)), 1, metric="precomputed"), r"\(3, 2\)"),
        (lambda: graph_laplacian([[0, 1], [2, 0]]), "not symmetric"),
        (lambda: graph_laplacian([[0, -1], [-1, 0]]), "entry -1"),
        (lambda: graph_laplacian([[0, np.inf], [np.inf, 0]]), "not finite"),
        (lambda: graph_laplacian(np.ones((2, 3))), r"\(2, 3\)"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
