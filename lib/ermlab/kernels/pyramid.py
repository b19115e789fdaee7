"""Weisfeiler-Lehman features of graphs with numbers or vectors as node labels (thesis, section 4.3.2).

The labels are replaced by the bins of quantizations that become finer from level to level, and the subtree
patterns of all levels are counted (eq. 4.15). Level l has 2^l bins, from one bin for all values at level 0 to
one bin per value at the last level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ermlab._utils.saving import SavedModel
from ermlab._utils.validation import safe_unit, whole_number
from ermlab.kernels._graph_collections import GraphCollection, label_sizes, split_samples, vector_labels
from ermlab.kernels._ward_numba import cut, nearest_rows, ward_chain, ward_line
from ermlab.kernels.weisfeiler_lehman import SubtreeCounts, SubtreeVocabulary, check_height, join_blocks

#: Number of distinct vectors clustered at a time if there are too many to cluster at once.
_BLOCK = 2048


class PyramidQuantizer(TransformerMixin, SavedModel, BaseEstimator):
    """Nested quantizations of numbers or vectors by Ward's clustering.

    Level l of 0 to ``L = ceil(log2 D)`` has ``min(2^l, D)`` bins for D distinct training values, weighted by
    their frequency. A training value keeps the bin of the clustering; any other value goes to the nearest
    centroid of each level.

    Parameters
    ----------
    max_values : int, default=4096
        Numbers are always clustered exactly, in O(D log D). Vectors take O(D^2): more than ``max_values``
        distinct ones are split at medians of the coordinate that varies most and clustered block by block
        until ``max_values`` weighted means are left, which replace the distinct values.
    standardize : bool, default=False
        Whether to divide each coordinate by its standard deviation in training first.

    Attributes
    ----------
    values_ : ndarray of shape (D, n_features)
        Distinct training values in lexicographic order.
    bins_ : ndarray of shape (L + 1, D)
        Bin of each of them at each level.
    centroids_ : list of ndarray of shape (n_bins, n_features)
        Means of the bins of each level, in the units of the values.
    n_features_in_ : int
        Number of coordinates of a value.
    """

    def __init__(self, max_values: int = 4096, standardize: bool = False):
        self.max_values = max_values
        self.standardize = standardize

    def fit(self, values: ArrayLike, y: Any = None) -> Self:
        """Cluster the values, (n_samples, n_features) or (n_samples,)."""
        max_values = whole_number("max_values", self.max_values, 1)
        values = vector_labels([values])
        if len(values) == 0:
            raise ValueError("no training value: expected at least one")
        self.n_features_in_ = values.shape[1]
        self.values_, counts = _unique_rows(values)
        self.scale_ = _spread(values) if self.standardize else np.ones(values.shape[1])
        scaled = self.values_ / self.scale_
        scaled /= safe_unit(scaled)  # costs are squares: only their proportions count
        members, points, weights = _thin_out(scaled, counts, max_values)
        merges = _ward_merges(points, weights)
        n_levels = (len(points) - 1).bit_length() + 1
        self.bins_ = np.array(
            [cut(merges, len(points), min(2**level, len(points)))[members] for level in range(n_levels)]
        )
        # A unit per coordinate: in that of the largest, the values of a small one would vanish.
        units = np.array([safe_unit(column) for column in self.values_.T])
        values = self.values_ / units
        self.centroids_ = [_means(values, bins, counts) * units for bins in self.bins_]
        return self

    @property
    def n_levels_(self) -> int:
        """Number of levels, L + 1."""
        return len(self.bins_)

    def transform(self, values: ArrayLike) -> NDArray[np.int64]:
        """Return the bin of each value at each level, (n_samples, L + 1)."""
        check_is_fitted(self)
        values = vector_labels([values], self.values_.shape[1])
        bins = np.empty((len(values), self.n_levels_), dtype=np.int64)
        found = _find(self.values_, values)
        known = found >= 0
        bins[known] = self.bins_[:, found[known]].T
        others = values[~known]
        for level, centroids in enumerate(self.centroids_ if len(others) else []):
            bins[~known, level] = _nearest(centroids, others, self.scale_)
        return bins


class PyramidWL(TransformerMixin, SavedModel, BaseEstimator):
    """Transformer of graphs to counts of subtree patterns at all levels of a pyramid of quantizations.

    A sample is a pair (graph, node labels), with labels of shape (n_nodes,) or (n_nodes, n_features), or a
    networkx graph.

    Parameters
    ----------
    h : int, default=3
        Largest height of the patterns.
    normalize : bool, default=False
        Whether to scale each row to length 1; see `WeisfeilerLehman`.
    max_values : int, default=4096
        See `PyramidQuantizer`.
    standardize : bool, default=False
        See `PyramidQuantizer`.
    node_label : str, default="label"
        Node attribute of networkx graphs that holds the label, a number or a vector.
    n_jobs : int, default=None
        Number of threads, by default as many as numba uses; the result does not depend on it.

    Attributes
    ----------
    quantizer_ : PyramidQuantizer
        Quantization of the labels of all training graphs.
    vocabularies_ : tuple of SubtreeVocabulary
        Patterns of the training graphs at each level.
    n_patterns_ : ndarray of shape (n_levels, h + 1)
        Number of patterns of each level and height; columns of the features are ordered by level, then by
        height.
    """

    def __init__(
        self,
        h: int = 3,
        normalize: bool = False,
        max_values: int = 4096,
        standardize: bool = False,
        node_label: str = "label",
        n_jobs: int | None = None,
    ):
        self.h = h
        self.normalize = normalize
        self.max_values = max_values
        self.standardize = standardize
        self.node_label = node_label
        self.n_jobs = n_jobs

    def _after_load(self) -> None:
        if hasattr(self, "vocabularies_"):
            self.vocabularies_ = tuple(vocabulary.checked() for vocabulary in self.vocabularies_)

    def fit(self, X: Sequence[Any], y: Any = None) -> Self:
        """Learn the quantizations and the patterns of graphs."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Sequence[Any], y: Any = None) -> csr_array:
        """Learn quantizations and patterns of graphs and return the counts, (n_graphs, n_patterns)."""
        check_height(self.h)
        collection, values = self._lay_out(X, None)
        if len(values) == 0:
            raise ValueError("no node in any training graph: expected at least one")
        self.quantizer_ = PyramidQuantizer(self.max_values, self.standardize).fit(values)
        learned = [
            SubtreeVocabulary.learn_from(collection, labels, self.h, self.n_jobs)
            for labels in self._levels(values)
        ]
        self.vocabularies_ = tuple(vocabulary for vocabulary, _ in learned)
        self.n_patterns_ = np.array([vocabulary.n_patterns for vocabulary in self.vocabularies_])
        return self._features([counts for _, counts in learned])

    def transform(self, X: Sequence[Any]) -> csr_array:
        """Count the patterns seen in `fit`, (n_graphs, n_patterns)."""
        check_is_fitted(self)
        collection, values = self._lay_out(X, self.quantizer_.values_.shape[1])
        counts = [
            vocabulary.count_in(collection, labels, self.n_jobs)
            for vocabulary, labels in zip(self.vocabularies_, self._levels(values), strict=True)
        ]
        return self._features(counts)

    def node_columns(self, X: Sequence[Any]) -> list[NDArray[np.int64]]:
        """Return the columns of the nodes' patterns of each graph, (n_nodes, n_levels, h + 1); -1 if unknown.

        With them the weights of a linear model can be mapped to nodes.
        """
        check_is_fitted(self)
        collection, values = self._lay_out(X, self.quantizer_.values_.shape[1])
        before, columns = 0, []
        for vocabulary, labels in zip(self.vocabularies_, self._levels(values), strict=True):
            own = vocabulary.node_columns(collection, labels, self.n_jobs)
            columns.append(np.where(own >= 0, own + before, -1))
            before += vocabulary.n_patterns.sum()
        return np.split(np.stack(columns, axis=1), collection.starts[1:-1]) if len(collection) else []

    def _lay_out(self, X: Sequence[Any], n_features: int | None) -> tuple[GraphCollection, NDArray]:
        graphs, labels = split_samples(X, self.node_label)
        return GraphCollection.of(graphs, label_sizes(graphs, labels)), vector_labels(labels, n_features)

    def _levels(self, values: NDArray[np.float64]) -> Iterator[NDArray[np.int64]]:
        yield from np.ascontiguousarray(self.quantizer_.transform(values).T)

    def _features(self, counts: Sequence[SubtreeCounts]) -> csr_array:
        together = SubtreeCounts(
            join_blocks([level.matrix for level in counts]),
            np.sum([level.squares for level in counts], axis=0),
        )
        return together.normalized() if self.normalize else together.matrix


def _thin_out(
    points: NDArray[np.float64], weights: NDArray[np.int64], max_values: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Return for each point the index of its representative, the representatives, and their weights.

    Numbers, and up to ``max_values`` vectors, represent themselves.
    """
    n = len(points)
    if points.shape[1] == 1 or n <= max_values:
        return np.arange(n), points, weights
    members = np.empty(n, dtype=np.int64)
    found = 0
    blocks = list(_blocks(points, np.arange(n)))
    ends = np.cumsum([len(block) for block in blocks])
    for block, end in zip(blocks, ends.tolist(), strict=True):
        # Shares of max_values in proportion to the number of points; they sum to max_values.
        share = max(max_values * end // n - max_values * (end - len(block)) // n, 1)
        merges = _ward_merges(points[block], weights[block])
        members[block] = found + cut(merges, len(block), share)
        found += share
    return members, _means(points, members, weights), np.bincount(members, weights=weights).astype(np.int64)


def _ward_merges(points: NDArray[np.float64], weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pairs of clusters that Ward's method merges, the cheapest first."""
    if points.shape[1] == 1:
        return ward_line(points[:, 0], weights)
    pairs, costs = ward_chain(points, weights)
    return pairs[np.argsort(costs, kind="stable")]


def _blocks(points: NDArray[np.float64], rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Split the rows at the median of the coordinate that varies most until blocks are small enough."""
    if len(rows) <= _BLOCK:
        yield rows
        return
    widest = points[rows].var(axis=0).argmax()
    rows = rows[np.argsort(points[rows, widest], kind="stable")]
    yield from _blocks(points, rows[: len(rows) // 2])
    yield from _blocks(points, rows[len(rows) // 2 :])


def _means(points: NDArray[np.float64], bins: NDArray[np.int64], weights: NDArray) -> NDArray[np.float64]:
    """Return the weighted mean of the points of each bin; for a single point exactly that point."""
    _, first = np.unique(bins, return_index=True)
    origins = points[first]
    moved = weights[:, None] * (points - origins[bins])
    total = np.bincount(bins, weights=weights)
    sums = np.stack([np.bincount(bins, weights=column) for column in moved.T], axis=1)
    return origins + sums / total[:, None]


def _spread(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard deviation of each coordinate, 1 for one that does not vary."""
    units = np.array([safe_unit(column) for column in values.T])
    spread = (values / units).std(axis=0) * units
    return np.where((spread > 0) & (values != values[0]).any(axis=0), spread, 1.0)


def _unique_rows(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the distinct rows in lexicographic order, and how often each occurs."""
    if values.shape[1] > 1:
        return np.unique(values, axis=0, return_counts=True)
    # Sorting numbers is much faster than sorting rows of one column.
    distinct, counts = np.unique(values[:, 0], return_counts=True)
    return distinct[:, None], counts


def _find(distinct: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the index of each row of ``values`` among the sorted distinct rows, -1 if it is not there."""
    if distinct.shape[1] == 1:
        places = np.minimum(np.searchsorted(distinct[:, 0], values[:, 0]), len(distinct) - 1)
        return np.where(distinct[places, 0] == values[:, 0], places, -1)
    # Adding 0 turns -0, which has other bytes, into 0.
    numbers = {row.tobytes(): i for i, row in enumerate(distinct + 0.0)}
    return np.array([numbers.get(row.tobytes(), -1) for row in values + 0.0], dtype=np.int64)


def _nearest(centroids: NDArray, values: NDArray, scale: NDArray) -> NDArray[np.int64]:
    """Return the nearest centroid of each value, the first of several; ties of numbers go to the lower."""
    if centroids.shape[1] > 1:
        with np.errstate(over="ignore"):
            centroids, values = centroids / scale, values / scale
        if not np.isfinite(values).all():
            raise ValueError("a value over the deviation of the training values is infinite: scale it down")
    unit = safe_unit(centroids, values)
    if unit != 1:
        centroids, values = centroids / unit, values / unit
    if centroids.shape[1] > 1:
        return nearest_rows(centroids, values)
    line = centroids[:, 0]
    return np.searchsorted(line[:-1] + np.diff(line) / 2, values[:, 0])
