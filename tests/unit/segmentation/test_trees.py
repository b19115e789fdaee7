import numpy as np
import pytest

from ermlab.segmentation import (
    chain_marginals,
    labeling_score,
    max_sum_chain,
    max_sum_tree,
    tree_marginals,
)

N_DEEP = 1_000_000


def test_viterbi_by_hand():
    unary = [[0.0, 1.0], [0.0, 0.0], [2.0, 0.0]]
    pairwise = [[[0.0, 5.0], [0.0, 0.0]], [[0.0, 0.0], [3.0, 0.0]]]
    found = max_sum_chain(unary, pairwise)
    np.testing.assert_array_equal(found.labels, [0, 1, 0])
    assert found.score == found.bound == 10.0


def test_ties_take_the_lowest_labels():
    zeros = np.zeros((5, 3))
    np.testing.assert_array_equal(max_sum_chain(zeros, np.zeros((3, 3))).labels, np.zeros(5))
    np.testing.assert_array_equal(max_sum_tree(zeros, [[4, 2], [2, 0]], np.zeros((3, 3))).labels, np.zeros(5))


def test_no_nodes_and_a_single_state():
    for found in (
        max_sum_chain(np.zeros((0, 2)), np.zeros((2, 2))),
        max_sum_tree(np.zeros((0, 2)), [], np.eye(2)),
    ):
        assert found.labels.size == 0
        assert found.score == 0.0
    assert tree_marginals(np.zeros((0, 2)), [], np.eye(2)).log_partition == 0.0
    single = chain_marginals([[1.0], [2.0]], [[0.5]])
    assert single.log_partition == 3.5
    np.testing.assert_array_equal(single.nodes, 1.0)


def test_path_of_a_million_nodes_in_any_order():
    rng = np.random.default_rng(0)
    names = rng.permutation(N_DEEP)
    edges = np.column_stack([names[:-1], names[1:]])
    unary, pairwise = rng.normal(size=(N_DEEP, 2)), np.array([[1.0, -0.5], [0.3, 0.2]])
    tree, chain = max_sum_tree(unary, edges, pairwise), max_sum_chain(unary[names], pairwise)
    assert tree.score == pytest.approx(chain.score, rel=1e-12)
    np.testing.assert_array_equal(tree.labels[names], chain.labels)
    marginals, in_order = tree_marginals(unary, edges, pairwise), chain_marginals(unary[names], pairwise)
    assert marginals.log_partition == pytest.approx(in_order.log_partition, rel=1e-12)
    np.testing.assert_allclose(marginals.nodes[names], in_order.nodes, atol=1e-9)


def test_star_with_many_leaves():
    rng = np.random.default_rng(1)
    n = 20_000
    edges = np.column_stack([np.arange(1, n), np.zeros(n - 1, dtype=int)])
    unary, pairwise = rng.normal(size=(n, 3)), rng.normal(size=(3, 3))
    found = max_sum_tree(unary, edges, pairwise)
    by_center = unary[0] + (unary[1:, :, None] + pairwise[None]).max(axis=1).sum(axis=0)
    assert found.labels[0] == by_center.argmax()
    assert found.score == pytest.approx(by_center.max(), rel=1e-12)
    weights = unary[0] + np.log(np.exp(unary[1:, :, None] + pairwise[None]).sum(axis=1)).sum(axis=0)
    marginals = tree_marginals(unary, edges, pairwise)
    expected = np.exp(weights - weights.max())
    np.testing.assert_allclose(marginals.nodes[0], expected / expected.sum(), atol=1e-8)
    np.testing.assert_allclose(marginals.edges.sum(axis=1), marginals.nodes[[0] * (n - 1)], atol=1e-8)


@pytest.mark.parametrize("scale", [1e3, 1e6, 1e9])
def test_marginals_of_large_scores_are_those_of_the_best_labeling(scale):
    rng = np.random.default_rng(2)
    unary, pairwise = scale * rng.normal(size=(200, 4)), scale * rng.normal(size=(199, 4, 4))
    best, found = max_sum_chain(unary, pairwise), chain_marginals(unary, pairwise)
    # The sum over 4^200 labelings is between its largest term and that many times as much.
    assert -1e-12 * best.score <= found.log_partition - best.score <= 200 * np.log(4)
    np.testing.assert_array_equal(found.nodes.argmax(axis=1), best.labels)
    np.testing.assert_allclose(found.nodes.sum(axis=1), 1.0)
    np.testing.assert_allclose(found.edges.sum(axis=2), found.nodes[:-1], atol=1e-6 * scale**0.5 / 1e3)


def test_adding_a_constant_shifts_the_log_partition_only():
    rng = np.random.default_rng(3)
    unary, edges, pairwise = rng.normal(size=(6, 3)), [[0, 3], [3, 5], [1, 2]], rng.normal(size=(3, 3, 3))
    plain, shifted = (
        tree_marginals(unary, edges, pairwise),
        tree_marginals(unary + 1e6, edges, pairwise - 1e6),
    )
    np.testing.assert_allclose(shifted.nodes, plain.nodes, atol=1e-9)
    np.testing.assert_allclose(shifted.edges, plain.edges, atol=1e-9)
    assert shifted.log_partition == pytest.approx(plain.log_partition + 3e6, rel=1e-14)


@pytest.mark.parametrize("edges", [[[0, 1], [1, 2], [2, 0]], [[0, 1], [1, 0]], [[3, 4], [0, 1], [0, 1]]])
@pytest.mark.parametrize("infer", [max_sum_tree, tree_marginals])
def test_cycles_are_refused(edges, infer):
    with pytest.raises(ValueError, match=r"edge \d between nodes \d and \d closes a cycle.*graph_cut"):
        infer(np.zeros((5, 2)), edges, np.zeros((2, 2)))


@pytest.mark.parametrize("infer", [max_sum_chain, chain_marginals])
@pytest.mark.parametrize(
    ("unary", "pairwise"),
    [
        (np.zeros((3, 2)), np.zeros((3, 2, 2))),
        (np.zeros((3, 2)), np.zeros((3, 3))),
        (np.zeros(3), np.zeros((2, 2))),
        (np.full((3, 2), np.nan), np.zeros((2, 2))),
        (np.zeros((3, 2)), np.full((2, 2), np.inf)),
        (np.zeros((3, 0)), np.zeros((0, 0))),
        (1.0, 2.0),
        ("text", np.zeros((2, 2))),
    ],
)
def test_bad_scores_are_refused(infer, unary, pairwise):
    with pytest.raises(ValueError, match=r"unary|pairwise|could not convert"):
        infer(unary, pairwise)


def test_large_scores_do_not_overflow():
    unary = np.full((100, 2), 1e150)
    found = max_sum_chain(unary, np.full((2, 2), -1e150))
    assert found.score == pytest.approx(1e150)
    assert np.isfinite(chain_marginals(unary, np.full((2, 2), 1e150)).nodes).all()


def test_score_is_that_of_the_definition():
    rng = np.random.default_rng(4)
    unary, edges, pairwise = rng.normal(size=(6, 3)), [[0, 3], [5, 3], [1, 2]], rng.normal(size=(3, 3, 3))
    found = max_sum_tree(unary, edges, pairwise)
    assert found.score == pytest.approx(labeling_score(unary, edges, pairwise, found.labels))
