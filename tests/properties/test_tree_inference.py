"""Inference on chains and forests against enumeration of all labelings."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from ermlab.segmentation import (
    chain_marginals,
    labeling_score,
    max_sum_chain,
    max_sum_tree,
    tree_marginals,
)

SEEDS = st.integers(0, 2**32 - 1)


def random_forest(rng, n_nodes):
    """Return edges of a random forest with nodes, edges and their directions in random order."""
    names = rng.permutation(n_nodes)
    edges = [(names[i], names[rng.integers(i)]) for i in range(1, n_nodes) if rng.random() < 0.8]
    edges = [edge if rng.random() < 0.5 else edge[::-1] for edge in edges]
    return np.array([edges[e] for e in rng.permutation(len(edges))], dtype=np.int64).reshape(-1, 2)


def random_scores(rng, n_nodes, n_edges):
    """Return unary and directed pairwise scores, of whole numbers (with ties) or of any size."""
    k = int(rng.integers(1, 5 if n_nodes < 6 else 4))
    shape = (k, k) if rng.random() < 0.3 else (n_edges, k, k)
    if rng.random() < 0.3:
        return rng.integers(-2, 3, (n_nodes, k)).astype(float), rng.integers(-2, 3, shape).astype(float)
    scale = 10.0 ** rng.integers(-1, 2)
    return scale * rng.normal(size=(n_nodes, k)), scale * rng.normal(size=shape)


def enumerated(unary, edges, pairwise):
    """Return all labelings in lexicographic order, and their scores."""
    labelings = list(itertools.product(range(unary.shape[1]), repeat=len(unary)))
    Y = np.array(labelings)
    scores = sum(unary[i, Y[:, i]] for i in range(len(unary)))
    for e, (i, j) in enumerate(edges):
        scores = scores + (pairwise if pairwise.ndim == 2 else pairwise[e])[Y[:, i], Y[:, j]]
    return labelings, scores


def chain_problem(seed):
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(1, 8))
    edges = np.column_stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)])
    return edges, *random_scores(rng, n_nodes, len(edges))


def forest_problem(seed):
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(1, 8))
    edges = random_forest(rng, n_nodes)
    return edges, *random_scores(rng, n_nodes, len(edges))


def check_marginals(found, unary, edges, pairwise):
    labelings, scores = enumerated(unary, edges, pairwise)
    log_partition = logsumexp(scores)
    probabilities = np.exp(scores - log_partition)
    nodes, pairs = np.zeros_like(found.nodes), np.zeros_like(found.edges)
    Y = np.array(labelings)
    for i in range(len(nodes)):
        np.add.at(nodes[i], Y[:, i], probabilities)
    for e, (i, j) in enumerate(edges):
        np.add.at(pairs[e], (Y[:, i], Y[:, j]), probabilities)
    assert found.log_partition == pytest.approx(log_partition, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(found.nodes, nodes, atol=1e-12)
    np.testing.assert_allclose(found.edges, pairs, atol=1e-12)


@settings(max_examples=100)
@given(seed=SEEDS)
def test_best_labeling_of_a_chain(seed):
    edges, unary, pairwise = chain_problem(seed)
    found = max_sum_chain(unary, pairwise)
    labelings, scores = enumerated(unary, edges, pairwise)
    assert found.score == pytest.approx(scores.max(), abs=1e-9)
    assert found.score == pytest.approx(labeling_score(unary, edges, pairwise, found.labels), abs=1e-9)
    assert found.exact
    if (unary == np.round(unary)).all():  # sums without rounding errors: ties are ties
        assert tuple(found.labels) == labelings[int(np.argmax(scores))]


@settings(max_examples=100)
@given(seed=SEEDS)
def test_best_labeling_of_a_forest(seed):
    edges, unary, pairwise = forest_problem(seed)
    found = max_sum_tree(unary, edges, pairwise)
    assert found.score == pytest.approx(enumerated(unary, edges, pairwise)[1].max(), abs=1e-9)
    assert found.score == pytest.approx(labeling_score(unary, edges, pairwise, found.labels), abs=1e-9)
    assert found.exact


@settings(max_examples=100)
@given(seed=SEEDS)
def test_marginals_of_a_chain(seed):
    edges, unary, pairwise = chain_problem(seed)
    check_marginals(chain_marginals(unary, pairwise), unary, edges, pairwise)


@settings(max_examples=100)
@given(seed=SEEDS)
def test_marginals_of_a_forest(seed):
    edges, unary, pairwise = forest_problem(seed)
    check_marginals(tree_marginals(unary, edges, pairwise), unary, edges, pairwise)


@settings(max_examples=50)
@given(seed=SEEDS)
def test_a_chain_is_a_tree(seed):
    edges, unary, pairwise = chain_problem(seed)
    chain, tree = max_sum_chain(unary, pairwise), max_sum_tree(unary, edges, pairwise)
    np.testing.assert_array_equal(chain.labels, tree.labels)
    assert chain.score == tree.score
