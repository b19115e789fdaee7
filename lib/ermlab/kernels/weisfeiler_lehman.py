"""Counts of subtree patterns in graphs with discrete node labels (thesis, section 4.3.1).

The pattern of height 0 of a node is its label; its pattern of height i is its pattern of height i - 1
together with the multiset of those of its neighbors. Patterns are compared exactly and counted in time linear
in the number of edges times the height.

Graphs are undirected. Each is a sparse adjacency matrix (non-zero entries are edges, weights are ignored) or
an array of edges, (n_edges, 2), each in one direction or both. An edge from a node to itself makes it its own
neighbor. A graph without nodes is valid and has no patterns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ermlab._utils.parallel import over_ranges
from ermlab._utils.saving import SavedModel
from ermlab.kernels._graph_collections import GraphCollection, discrete_labels, label_sizes, split_samples
from ermlab.kernels._weisfeiler_lehman_numba import (
    copy_block,
    gather_counts,
    gather_signatures,
    hash_each,
    number_patterns,
    slot_table,
    sort_and_count,
    write_signatures,
)
from ermlab.kernels.sparse_product import linear_kernel

#: Number of nodes worth a thread.
_GRAIN = 4096


def subtree_features(
    graphs: Sequence[Any], labels: Sequence[ArrayLike], h: int, n_jobs: int | None = None
) -> csr_array:
    """Count the subtree patterns of heights 0 to ``h`` in each graph of a collection.

    Parameters
    ----------
    graphs : sequence of sparse matrices or arrays of shape (n_edges, 2)
        Adjacency matrices or edges.
    labels : sequence of array-likes of shape (n_nodes,)
        Integer labels of the nodes of each graph.
    h : int
        Largest height of the patterns.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it.

    Returns
    -------
    csr_array of shape (n_graphs, n_patterns)
        Columns are ordered by height, and within a height by the first occurrence of the pattern.
        `SubtreeVocabulary.learn` also returns the patterns, which can then be counted in other graphs.
    """
    collection = GraphCollection.of(graphs, label_sizes(graphs, labels))
    steps = _refine(collection, discrete_labels(labels), _no_patterns(h), np.zeros(len(collection)), n_jobs)
    return join_blocks([step.counts(collection, len(step.firsts)) for step in steps])


@dataclass(frozen=True)
class Patterns:
    """The patterns of one height: signature k is ``signatures[bounds[k]:bounds[k + 1]]``."""

    signatures: NDArray[np.integer]
    bounds: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    slots: NDArray[np.int32]  #: hash table with open addressing: from a hash to the numbers of patterns

    @classmethod
    def none(cls, dtype: type) -> Self:
        """Return an empty set of patterns with signatures of this type."""
        empty = np.empty(0, dtype=np.uint64)
        return cls(np.empty(0, dtype=dtype), np.zeros(1, dtype=np.int64), empty, slot_table(empty))

    def checked(self) -> Self:
        """Return the same patterns with a new hash table, or raise a ValueError if signatures do not fit."""
        bounds, size = self.bounds, len(self.signatures)
        sound = self.hashes.ndim == self.signatures.ndim == 1 and bounds.shape == (len(self.hashes) + 1,)
        sound = sound and bounds[0] == 0 and bounds[-1] == size and (bounds[1:] > bounds[:-1]).all()
        types = bounds.dtype == np.int64 and self.hashes.dtype == np.uint64
        if not (sound and types and self.signatures.dtype in (np.int32, np.int64)):
            raise ValueError("patterns whose bounds or types do not fit: expected those of a vocabulary")
        return replace(self, slots=slot_table(self.hashes))

    def __len__(self) -> int:
        return len(self.hashes)


@dataclass(frozen=True)
class SubtreeCounts:
    """Counts of the patterns of a vocabulary in graphs.

    Attributes
    ----------
    matrix : csr_array of shape (n_graphs, n_patterns)
    squares : ndarray of shape (n_graphs,)
        Sum of squared counts over all patterns of a graph, including those outside the vocabulary.
    """

    matrix: csr_array
    squares: NDArray[np.float64]

    def normalized(self) -> csr_array:
        """Return the rows divided by the square roots of ``squares``; rows of empty graphs stay 0.

        Products of rows are then ``k(G, H) / sqrt(k(G, G) k(H, H))``, also for graphs with unknown patterns.
        """
        lengths = np.sqrt(self.squares)
        scaled = self.matrix.copy()
        scaled.data /= np.repeat(lengths, np.diff(scaled.indptr))
        return scaled


@dataclass(frozen=True)
class SubtreeVocabulary:
    """Subtree patterns of a collection of graphs, to be counted in other graphs.

    Patterns outside the vocabulary are dropped. Inner products with the graphs that the vocabulary was
    learned from stay exact, as patterns that contain a dropped one are not in the vocabulary either.
    """

    patterns: tuple[Patterns, ...]  #: for each height

    @classmethod
    def learn(
        cls, graphs: Sequence[Any], labels: Sequence[ArrayLike], h: int, n_jobs: int | None = None
    ) -> tuple[Self, SubtreeCounts]:
        """Return the patterns of heights 0 to ``h`` of graphs and their counts, see `subtree_features`."""
        collection = GraphCollection.of(graphs, label_sizes(graphs, labels))
        return cls.learn_from(collection, discrete_labels(labels), h, n_jobs)

    @classmethod
    def learn_from(
        cls, collection: GraphCollection, labels: NDArray[np.int64], h: int, n_jobs: int | None = None
    ) -> tuple[Self, SubtreeCounts]:
        """Learn from a `GraphCollection` and the labels of all its nodes."""
        patterns, blocks = [], []
        squares = np.zeros(len(collection))
        for step in _refine(collection, labels, _no_patterns(h), squares, n_jobs):
            patterns.append(step.new_patterns())
            blocks.append(step.counts(collection, len(patterns[-1])))
        return cls(tuple(patterns)), SubtreeCounts(join_blocks(blocks), squares)

    def checked(self) -> Self:
        """Return the same vocabulary, or raise a ValueError if its patterns are not sound."""
        return replace(self, patterns=tuple(patterns.checked() for patterns in self.patterns))

    @property
    def h(self) -> int:
        """Largest height."""
        return len(self.patterns) - 1

    @property
    def n_patterns(self) -> NDArray[np.int64]:
        """Number of patterns of each height."""
        return np.array([len(patterns) for patterns in self.patterns])

    def count(
        self, graphs: Sequence[Any], labels: Sequence[ArrayLike], n_jobs: int | None = None
    ) -> SubtreeCounts:
        """Count the patterns of the vocabulary in graphs."""
        collection = GraphCollection.of(graphs, label_sizes(graphs, labels))
        return self.count_in(collection, discrete_labels(labels), n_jobs)

    def count_in(
        self, collection: GraphCollection, labels: NDArray[np.int64], n_jobs: int | None = None
    ) -> SubtreeCounts:
        """Count the patterns of the vocabulary in a `GraphCollection`."""
        squares = np.zeros(len(collection))
        steps = _refine(collection, labels, self.patterns, squares, n_jobs)
        blocks = [
            step.counts(collection, len(known)) for step, known in zip(steps, self.patterns, strict=True)
        ]
        return SubtreeCounts(join_blocks(blocks), squares)

    def node_columns(
        self, collection: GraphCollection, labels: NDArray[np.int64], n_jobs: int | None = None
    ) -> NDArray[np.int64]:
        """Return the column of the pattern of each node at each height, (nodes, h + 1); -1 if unknown."""
        columns = np.empty((collection.n_nodes, len(self.patterns)), dtype=np.int64)
        steps = _refine(collection, labels, self.patterns, np.zeros(len(collection)), n_jobs)
        before = 0
        for i, (step, known) in enumerate(zip(steps, self.patterns, strict=True)):
            columns[:, i] = np.where(step.labels < len(known), before + step.labels.astype(np.int64), -1)
            before += len(known)
        return columns


class WeisfeilerLehman(TransformerMixin, SavedModel, BaseEstimator):
    """Transformer of graphs to counts of subtree patterns (thesis, section 4.3.1).

    A sample is a pair (graph, node labels), or a networkx graph.

    Parameters
    ----------
    h : int, default=3
        Largest height of the patterns.
    normalize : bool, default=False
        Whether to scale each row to length 1. Patterns not seen in `fit` have no column but contribute to the
        length, so that inner products of rows are the normalized kernel.
    node_label : str, default="label"
        Node attribute of networkx graphs that holds the label.
    n_jobs : int, default=None
        Number of threads, by default as many as numba uses; the result does not depend on it.

    Attributes
    ----------
    vocabulary_ : SubtreeVocabulary
        Patterns of the training graphs.
    """

    def __init__(
        self, h: int = 3, normalize: bool = False, node_label: str = "label", n_jobs: int | None = None
    ):
        self.h = h
        self.normalize = normalize
        self.node_label = node_label
        self.n_jobs = n_jobs

    def fit(self, X: Sequence[Any], y: Any = None) -> Self:
        """Learn the patterns of graphs."""
        self._learn(X)
        return self

    def fit_transform(self, X: Sequence[Any], y: Any = None) -> csr_array:
        """Learn the patterns of graphs and return their counts, (n_graphs, n_patterns)."""
        return self._features(self._learn(X))

    def transform(self, X: Sequence[Any]) -> csr_array:
        """Count the patterns seen in `fit`, (n_graphs, n_patterns)."""
        check_is_fitted(self)
        return self._features(self.vocabulary_.count(*split_samples(X, self.node_label), self.n_jobs))

    def _after_load(self) -> None:
        if hasattr(self, "vocabulary_"):
            self.vocabulary_ = self.vocabulary_.checked()

    def _learn(self, X: Sequence[Any]) -> SubtreeCounts:
        graphs, labels = split_samples(X, self.node_label)
        if not graphs:
            raise ValueError("no graph to learn from: expected at least one")
        self.vocabulary_, counts = SubtreeVocabulary.learn(graphs, labels, self.h, self.n_jobs)
        return counts

    def _features(self, counts: SubtreeCounts) -> csr_array:
        return counts.normalized() if self.normalize else counts.matrix


class WeisfeilerLehmanKernel(WeisfeilerLehman):
    """Kernel between graphs and the training graphs: inner products of `WeisfeilerLehman` features.

    In a pipeline it precedes an estimator with a precomputed kernel. Parameters are those of
    `WeisfeilerLehman`.

    Attributes
    ----------
    features_ : csr_array of shape (n_graphs, n_patterns)
        Features of the training graphs.
    """

    def fit(self, X: Sequence[Any], y: Any = None) -> Self:
        """Learn the patterns of graphs and keep their features."""
        self.features_ = self._features(self._learn(X))
        return self

    def fit_transform(self, X: Sequence[Any], y: Any = None) -> NDArray[np.float64]:
        """Return the kernel matrix of the training graphs."""
        return linear_kernel(self.fit(X).features_, n_jobs=self.n_jobs)

    def transform(self, X: Sequence[Any]) -> NDArray[np.float64]:
        """Return the kernel between graphs and those of `fit`, (n_graphs, n_training_graphs)."""
        return linear_kernel(super().transform(X), self.features_, self.n_jobs)


@dataclass(frozen=True)
class _Refinement:
    """Patterns of one height: the number of each node's pattern, and the counts in each graph."""

    labels: NDArray[np.int32]
    firsts: NDArray[np.int32]  #: one node for each new pattern
    signatures: NDArray[np.integer]
    bounds: NDArray[np.int64]
    hashes: NDArray[np.uint64]
    columns: NDArray[np.int32]
    numbers: NDArray[np.int32]
    n_distinct: NDArray[np.int64]

    def new_patterns(self) -> Patterns:
        hashes = self.hashes[self.firsts]
        return Patterns(
            *gather_signatures(self.signatures, self.bounds, self.firsts), hashes, slot_table(hashes)
        )

    def counts(self, collection: GraphCollection, n_columns: int) -> csr_array:
        columns, numbers, kept = gather_counts(
            collection.starts, self.columns, self.numbers, self.n_distinct, n_columns
        )
        indptr = np.concatenate([[0], np.cumsum(kept)])
        if len(columns) <= np.iinfo(np.int32).max:  # else scipy doubles the memory of the columns
            indptr = indptr.astype(np.int32)
        return csr_array((numbers.astype(np.float64), columns, indptr), shape=(len(collection), n_columns))


def _refine(
    collection: GraphCollection,
    labels: NDArray[np.int64],
    known: Sequence[Patterns],
    squares: NDArray[np.float64],
    n_jobs: int | None,
) -> Iterator[_Refinement]:
    """Yield the patterns of each height, and add their squared counts to ``squares``.

    The arrays of a height are overwritten by the next one.
    """
    n, starts = collection.n_nodes, collection.starts
    if labels.shape != (n,):
        raise ValueError(f"labels of shape {labels.shape}: expected one for each of {n} nodes")
    most = n + max(len(patterns) for patterns in known)
    if most > np.iinfo(np.int32).max:
        raise ValueError(f"up to {most} patterns: expected at most {np.iinfo(np.int32).max}")
    grain = max(1, _GRAIN * len(collection) // max(n, 1))
    ids, order, columns, numbers = (np.empty(n, dtype=np.int32) for _ in range(4))
    n_distinct = np.zeros(len(collection), dtype=np.int64)
    own_bounds = np.arange(n + 1)
    bounds = collection.indptr + own_bounds
    signatures, ends = np.empty(bounds[-1], dtype=np.int32), np.empty(n, dtype=np.uint64)
    hashes = hash_each(labels)

    def describe(first: int, last: int) -> None:
        graphs = starts, collection.indptr, collection.neighbors
        write_signatures(ids, *graphs, order, first, last, ends, signatures, hashes)

    def tally(first: int, last: int) -> None:
        sort_and_count(ids, starts, first, last, order, columns, numbers, n_distinct, squares)

    for i, patterns in enumerate(known):
        if i > 0:
            over_ranges(describe, len(collection), n_jobs, grain)
        words, word_bounds = (signatures, bounds) if i > 0 else (labels, own_bounds)
        vocabulary = patterns.signatures, patterns.bounds, patterns.hashes, patterns.slots
        firsts = number_patterns(words, word_bounds, hashes, *vocabulary, ids)
        over_ranges(tally, len(collection), n_jobs, grain)
        yield _Refinement(ids, firsts, words, word_bounds, hashes, columns, numbers, n_distinct)


def _no_patterns(h: int) -> list[Patterns]:
    """Return an empty vocabulary of heights 0 to ``h``."""
    return [Patterns.none(np.int64)] + [Patterns.none(np.int32)] * check_height(h)


def join_blocks(blocks: Sequence[csr_array]) -> csr_array:
    """Return the matrices side by side."""
    if len(blocks) == 1:
        return blocks[0]
    widths = np.cumsum([0] + [block.shape[1] for block in blocks])
    indptr = np.sum([block.indptr for block in blocks], axis=0, dtype=np.int64)
    # As in scipy: 32 bits if they suffice.
    small = max(widths[-1], indptr[-1]) <= np.iinfo(np.int32).max
    columns, numbers = np.empty(indptr[-1], np.int32 if small else np.int64), np.empty(indptr[-1])
    ends = indptr[:-1].copy()
    for block, before in zip(blocks, widths.tolist(), strict=False):
        copy_block(block.indptr, block.indices, block.data, before, ends, columns, numbers)
    shape = (blocks[0].shape[0], int(widths[-1]))
    return csr_array((numbers, columns, indptr.astype(columns.dtype)), shape=shape)


def check_height(h: int) -> int:
    """Return ``h`` if it is a valid height of patterns, or raise a ValueError."""
    if not isinstance(h, Integral) or isinstance(h, bool) or h < 0:
        raise ValueError(f"h is {h!r}: expected a height of patterns, an integer of at least 0")
    return int(h)
