import numpy as np
import pytest

from ermlab.segmentation import graph_cut, max_sum_chain

EDGES = np.array([[0, 1], [1, 2]])
POTTS = np.eye(2)


def test_smoothing_by_hand():
    found = graph_cut([[2.0, 0.0], [0.0, 1.0], [2.0, 0.0]], EDGES, POTTS)
    np.testing.assert_array_equal(found.labels, [0, 0, 0])
    assert found.score == found.bound == 6.0


def test_long_chain_is_that_of_dynamic_programming():
    rng = np.random.default_rng(0)
    n = 5000
    unary, pairwise = rng.normal(size=(n, 2)), rng.normal(size=(n - 1, 2, 2))
    pairwise[:, 0, 0] += np.maximum(0, pairwise[:, 0, 1] + pairwise[:, 1, 0] - np.einsum("eii->e", pairwise))
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    found = graph_cut(unary, edges, pairwise)
    assert found.score == pytest.approx(max_sum_chain(unary, pairwise).score, rel=1e-12)


def test_edge_that_is_not_submodular_is_named_with_the_amount():
    pairwise = np.stack([POTTS, [[0.0, 1.0], [2.0, 0.5]]])
    with pytest.raises(ValueError, match=r"edge 1 between nodes 1 and 2 is not submodular.* 2\.5 less"):
        graph_cut(np.zeros((3, 2)), EDGES, pairwise)


def test_rounding_of_a_modular_edge_is_not_an_error():
    pairwise = np.array([[0.3, 0.1], [0.2, 0.0]])
    assert (pairwise[0, 0] - pairwise[0, 1]) + (pairwise[1, 1] - pairwise[1, 0]) < 0
    assert graph_cut(np.zeros((3, 2)), EDGES, pairwise).score == pytest.approx(0.6)


def test_other_numbers_of_states_are_refused():
    with pytest.raises(ValueError, match="3 states: expected 2"):
        graph_cut(np.zeros((3, 3)), EDGES, np.eye(3))


def test_no_nodes():
    assert graph_cut(np.zeros((0, 2)), [], POTTS).labels.size == 0
