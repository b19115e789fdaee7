"""Counts of subtree patterns against patterns written out as nested tuples and counted in dictionaries."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ermlab.kernels import _weisfeiler_lehman_numba as loops
from ermlab.kernels.sparse_product import linear_kernel
from ermlab.kernels.weisfeiler_lehman import SubtreeVocabulary, subtree_features


@st.composite
def collections(draw, max_graphs=5, max_nodes=9):
    """Edge lists (with edges twice, in both directions, and from a node to itself) and labels."""
    graphs, labels = [], []
    for _ in range(draw(st.integers(1, max_graphs))):
        n = draw(st.integers(0, max_nodes))
        node = st.integers(0, max(n - 1, 0))
        graphs.append(draw(st.lists(st.tuples(node, node), max_size=2 * n if n else 0)))
        labels.append(draw(st.lists(st.integers(-2, 2), min_size=n, max_size=n)))
    return graphs, labels


def patterns_by_hand(edges, labels, h):
    """Return a Counter of (height, pattern), patterns as nested tuples: no numbering, no hashing of ours."""
    neighbours = [set() for _ in labels]
    for u, v in edges:
        neighbours[u].add(v)
        neighbours[v].add(u)
    patterns = [(label,) for label in labels]
    counts = Counter((0, pattern) for pattern in patterns)
    for height in range(1, h + 1):
        patterns = [
            (patterns[v], tuple(sorted(patterns[u] for u in neighbours[v]))) for v in range(len(labels))
        ]
        counts.update((height, pattern) for pattern in patterns)
    return counts


def table_by_hand(graphs, labels, h, columns=None):
    counts = [patterns_by_hand(*sample, h) for sample in zip(graphs, labels, strict=True)]
    columns = columns or list({key: None for count in counts for key in sorted(count, key=repr)})
    table = np.array([[count[key] for key in columns] for count in counts]).reshape(len(counts), -1)
    return table, columns, counts


def sorted_columns(table):
    return table[:, np.lexsort(table)] if table.shape[1] else table


@given(collections(), st.integers(0, 3))
def test_counts_are_those_by_hand(collection, h):
    counts = subtree_features(*collection, h)
    table, _, _ = table_by_hand(*collection, h)
    assert counts.has_sorted_indices
    assert np.array_equal(sorted_columns(counts.toarray()), sorted_columns(table))


@given(collections(), collections(), st.integers(0, 3))
def test_products_with_graphs_not_learnt_from_are_exact(training, other, h):
    vocabulary, learnt = SubtreeVocabulary.learn(*training, h)
    counted = vocabulary.count(*other)
    both, _, _ = table_by_hand(training[0] + other[0], training[1] + other[1], h)
    kernel = (both @ both.T).reshape(len(both), len(both))
    n = len(training[0])
    assert np.array_equal(linear_kernel(counted.matrix, learnt.matrix), kernel[n:, :n])
    assert np.array_equal(counted.squares, np.diag(kernel)[n:])
    again = vocabulary.count(*training)
    assert (again.matrix != learnt.matrix).nnz == 0
    assert np.array_equal(again.squares, learnt.squares)


@given(collections(), st.integers(0, 3), st.randoms(use_true_random=False))
def test_order_of_nodes_and_edges_does_not_matter(collection, h, random):
    graphs, labels = [], []
    for edges, values in zip(*collection, strict=True):
        new = list(range(len(values)))
        random.shuffle(new)
        moved = [0] * len(values)
        for old, place in enumerate(new):
            moved[place] = values[old]
        edges = [(new[v], new[u]) for u, v in edges]
        random.shuffle(edges)
        graphs.append(edges)
        labels.append(moved)
    kernel = linear_kernel(subtree_features(*collection, h))
    assert np.array_equal(linear_kernel(subtree_features(graphs, labels, h)), kernel)


@pytest.mark.parametrize("n", [30, 33, 300, 1500])  # sorted by insertion, and by one and two bytes
@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_larger_graphs_and_any_number_of_threads(n, n_jobs):
    rng = np.random.default_rng(n)
    graphs = [rng.integers(0, n, size=(2 * n, 2)) for _ in range(7)]
    labels = [rng.integers(0, 3, size=n) for _ in range(7)]
    counts = subtree_features(graphs, labels, 3, n_jobs)
    table, _, _ = table_by_hand([g.tolist() for g in graphs], [v.tolist() for v in labels], 2)
    assert np.array_equal(linear_kernel(subtree_features(graphs, labels, 2, n_jobs)), table @ table.T)
    one = subtree_features(graphs, labels, 3, 1)
    assert all(np.array_equal(getattr(counts, a), getattr(one, a)) for a in ("indptr", "indices", "data"))


def test_equal_hashes_do_not_make_equal_patterns():
    """All hashes the same: the signatures decide, among themselves and in the vocabulary."""
    signatures = np.array([4, 4, 7, 4, 4, 7, 4, 8], dtype=np.int32)
    bounds = np.array([0, 1, 3, 4, 6, 8])  # 4 / 4 7 / 4 / 4 7 / 4 8
    hashes = np.zeros(5, dtype=np.uint64)
    labels = np.empty(5, dtype=np.int32)
    none = np.empty(0, dtype=np.uint64)
    empty = (np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int64), none, loops.slot_table(none))
    firsts = loops.number_patterns(signatures, bounds, hashes, *empty, labels)
    assert labels.tolist() == [0, 1, 0, 1, 2]
    assert firsts.tolist() == [0, 1, 4]
    known = (
        *loops.gather_signatures(signatures, bounds, firsts[1:2]),
        hashes[:1],
        loops.slot_table(hashes[:1]),
    )
    firsts = loops.number_patterns(signatures, bounds, hashes, *known, labels)
    assert labels.tolist() == [1, 0, 1, 0, 2]
    assert firsts.tolist() == [0, 4]
