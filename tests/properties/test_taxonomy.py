"""Lemma 1, Theorems 5.2.4 to 5.2.6 and the guarantee of the projection, on random trees."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from ermlab.taxonomy import (
    Taxonomy,
    centered,
    four_point_violation,
    robinson_foulds,
    tree_covariance,
    tree_metric,
)
from ermlab.taxonomy.learning import hsic, hsic_cov, learn_edge_lengths, optimal_covariance
from ermlab.taxonomy.tree_fitting import nearest_tree, neighbor_joining
from reproduction.experiments.tree_covariance.theorems import random_taxonomy

seeds = st.integers(0, 2**32 - 1)


@st.composite
def trees(draw, smallest=2, largest=9, *, binary=True, shortest=0.0):
    rng = np.random.default_rng(draw(seeds))
    tree = random_taxonomy(rng, draw(st.integers(smallest, largest)), binary=binary)
    return tree.with_lengths(shortest + tree.lengths), rng


def nearest_common_ancestor(tree, one, other):
    above = set(tree.path_up(tree.leaves[one]))
    return next(node for node in tree.path_up(tree.leaves[other]) if node in above)


def close(one, other):
    np.testing.assert_allclose(one, other, atol=1e-10 * max(np.abs(other).max(), 1))


@given(trees())
def test_partition_property(problem):
    """Definition 5.2.1: a column of ones, and every column of several leaves is the sum of two others."""
    tree, _ = problem
    V = tree.partition_matrix()
    assert V.shape == (tree.n_leaves, 2 * tree.n_leaves - 1)
    columns = {tuple(column) for column in V.T}
    assert (1,) * tree.n_leaves in columns
    for w in columns:
        if sum(w) > 1:
            assert any(tuple(np.subtract(w, u)) in columns for u in columns)


@given(trees(binary=False))
def test_lemma_1(problem):
    """B_ij is the length of the way from the root to the nearest common ancestor of i and j."""
    tree, _ = problem
    B = tree.covariance()
    for i, j in itertools.product(range(tree.n_leaves), repeat=2):
        shared = tree.path_up(nearest_common_ancestor(tree, i, j))
        assert B[i, j] == pytest.approx(tree.lengths[shared].sum())


@given(trees(binary=False))
def test_theorem_5_2_4_from_covariance_to_metric(problem):
    """The distances of the covariance are the path lengths, and they satisfy the four point condition."""
    tree, _ = problem
    M = tree_metric(tree.covariance())
    for i, j in itertools.product(range(tree.n_leaves), repeat=2):
        ends = tree.path_up(tree.leaves[i]), tree.path_up(tree.leaves[j])
        path = set(ends[0]) ^ set(ends[1])
        assert M[i, j] == pytest.approx(tree.lengths[list(path)].sum(), abs=1e-9)
    close(tree.metric(), M)
    assert four_point_violation(M) <= 1e-9 * max(M.max(), 1)


@given(trees(smallest=4, binary=False, shortest=0.1))
def test_theorem_5_2_4_from_metric_to_tree(problem):
    """A metric with the four point condition is that of one tree, whose covariance has its distances."""
    tree, rng = problem
    M = tree.metric()
    for found in (nearest_tree(M, tree.names), neighbor_joining(M, tree.names).collapsed(1e-6)):
        close(found.metric(), M)
        assert robinson_foulds(found.collapsed(1e-6), tree) == 0
    root = int(rng.integers(tree.n_leaves))
    B = tree_covariance(M, root)
    close(tree_metric(B), M)
    close(B, tree.rerooted(tree.leaves[root]).covariance() - tree.lengths[tree.root])


@given(trees(smallest=4))
def test_a_metric_that_is_none_of_a_tree_violates_the_condition(problem):
    tree, rng = problem
    M = tree.metric()
    i, j = rng.choice(tree.n_leaves, 2, replace=False)
    changed = M.copy()
    changed[i, j] = changed[j, i] = M[i, j] + 3 * M.max()  # any way around is at most 2 * M.max()
    assert four_point_violation(changed) > 0.5 * M.max()


@given(trees(binary=False), st.floats(0, 1))
def test_theorem_5_2_5(problem, above):
    """Roots change the covariance, but neither the distances nor the centred covariance nor HSIC."""
    tree, rng = problem
    y = np.append(np.arange(tree.n_leaves), rng.integers(tree.n_leaves, size=5))
    X = rng.normal(size=(len(y), 3))
    for node in range(len(tree.parents)):
        other = tree.rerooted(node, above if node != tree.root else 0.0)
        assert other.names == tree.names
        close(other.metric(), tree.metric())
        close(centered(other.covariance()), centered(tree.covariance()))
        assert hsic_cov(X @ X.T, y, other.covariance()) == pytest.approx(
            hsic_cov(X @ X.T, y, tree.covariance()), rel=1e-8, abs=1e-8
        )
        assert robinson_foulds(other, tree) == 0


@given(trees(), st.floats(0, 1))
def test_theorem_5_2_6(problem, eta):
    """A convex combination of trees of one topology is the tree of that topology and the combined lengths."""
    tree, rng = problem
    other = tree.with_lengths(rng.exponential(size=len(tree.lengths)))
    mixed = tree.with_lengths(eta * tree.lengths + (1 - eta) * other.lengths)
    close(mixed.covariance(), eta * tree.covariance() + (1 - eta) * other.covariance())


@given(trees(binary=False))
def test_root_in_the_middle_of_the_longest_path(problem):
    tree, _ = problem
    middle = tree.rooted_in_the_middle()
    close(middle.metric(), tree.metric())
    below_root = middle.with_lengths(np.where(middle.parents < 0, 0, middle.lengths))
    heights = np.diag(below_root.covariance())
    assert np.sort(heights)[-2:] == pytest.approx([tree.metric().max() / 2] * 2)


@given(trees(binary=False))
def test_newick_and_back(problem):
    tree, _ = problem
    again = Taxonomy.from_newick(tree.to_newick()).ordered(tree.names)
    close(again.covariance(), tree.covariance())
    assert again.names == tree.names
    assert sorted(again.lengths) == sorted(tree.lengths)


@given(trees(binary=False))
def test_permuted_leaves(problem):
    tree, rng = problem
    order = rng.permutation(tree.n_leaves)
    np.testing.assert_allclose(tree.permuted(order).covariance(), tree.covariance()[np.ix_(order, order)])
    assert sorted(tree.permuted(order).lengths) == sorted(tree.lengths)


@given(trees(binary=False))
def test_restricted_trees_keep_the_covariance(problem):
    tree, rng = problem
    chosen = rng.permutation(tree.n_leaves)[: int(rng.integers(1, tree.n_leaves + 1))]
    part = tree.restricted([tree.names[i] for i in chosen])
    assert part.names == tuple(tree.names[i] for i in chosen)
    close(part.covariance(), tree.covariance()[np.ix_(chosen, chosen)])
    assert all(len(part.children(node)) > 1 for node in part.inner if node != part.root)


def test_trees_of_permuted_leaves_differ():
    tree = Taxonomy.from_newick("((a,b),(c,d));")
    assert robinson_foulds(tree, tree.permuted([0, 2, 1, 3])) == 1


@given(trees(smallest=2, binary=False), st.integers(1, 4))
def test_edge_lengths_maximise_dependence(problem, dimension):
    """No other lengths of the same norm give more HSIC (eq. 5.34)."""
    tree, rng = problem
    y = np.append(np.arange(tree.n_leaves), rng.integers(tree.n_leaves, size=8))
    X = rng.normal(size=(len(y), dimension))
    best = learn_edge_lengths(X @ X.T, y, tree)

    def dependence(lengths):
        return hsic_cov(X @ X.T, y, tree.with_lengths(lengths / np.linalg.norm(lengths)).covariance())

    others = np.vstack([rng.exponential(size=(20, len(tree.lengths))), np.eye(len(tree.lengths))])
    assert all(dependence(best.lengths) >= dependence(some) - 1e-9 for some in others)
    assert np.trace(best.covariance()) == pytest.approx(tree.n_leaves)


@given(seeds, st.integers(2, 5), st.booleans())
def test_optimal_covariance_maximises_normalised_dependence(seed, k, several):
    rng = np.random.default_rng(seed)
    n = 4 * k
    if several:
        y = (rng.random((n, k)) < 0.4).astype(int)
        y[:k] = np.eye(k)
    else:
        y = np.append(np.arange(k), rng.integers(k, size=n - k))
    X = rng.normal(size=(n, 3))
    Pi = y if several else np.eye(k)[y]

    def dependence(B):
        L = Pi @ B @ Pi.T
        return hsic(X @ X.T, L) / np.sqrt(max(hsic(L, L), 1e-30))

    best = optimal_covariance(X @ X.T, y)
    assert np.linalg.eigvalsh(best).min() > -1e-9 * np.abs(best).max()
    for _ in range(20):
        A = rng.normal(size=(k, k))
        assert dependence(best) >= dependence(A @ A.T) - 1e-9


def all_binary_trees(k):
    """Every unrooted binary topology: each further leaf is hung on each edge of each tree."""
    # An edge is the set of leaves on its side without leaf 0.
    trees = [{frozenset([1]), frozenset([2]), frozenset([1, 2])}]
    for leaf in range(3, k):
        grown = []
        for tree in trees:
            for edge in tree:
                above = {side | {leaf} if edge <= side and side != edge else side for side in tree}
                grown.append(above | {frozenset([leaf]), edge | {leaf}})
        trees = grown
    return trees


def least_error(M):
    """The smallest possible largest error of a tree metric, by a linear programme for every topology."""
    k = len(M)
    pairs = list(itertools.combinations(range(k), 2))
    wanted = np.array([M[pair] for pair in pairs])
    best = np.inf
    for tree in all_binary_trees(k):
        paths = np.array([[(i in side) != (j in side) for side in tree] for i, j in pairs], dtype=float)
        ones = np.ones((len(pairs), 1))
        A = np.block([[paths, -ones], [-paths, -ones]])
        cost = np.append(np.zeros(len(tree)), 1)
        best = min(best, linprog(cost, A_ub=A, b_ub=np.append(wanted, -wanted)).fun)
    return best


@given(seeds, st.sampled_from([4, 5]), st.floats(0, 1))
def test_projection_is_a_three_approximation(seed, k, noise):
    rng = np.random.default_rng(seed)
    changes = rng.normal(scale=noise, size=(k, k))
    M = np.maximum(random_taxonomy(rng, k).metric() + changes + changes.T, 0)
    np.fill_diagonal(M, 0)
    tree = nearest_tree(M, [str(i) for i in range(k)])
    error = np.abs(tree.metric() - M).max()
    assert four_point_violation(tree.metric()) <= 1e-9 * max(M.max(), 1)
    assert error <= 3 * least_error(M) + 1e-6  # the tolerance of the linear programme


def test_number_of_topologies():
    assert [len(all_binary_trees(k)) for k in (4, 5, 6)] == [3, 15, 105]
