"""Collections of graphs in flat arrays, the input of the compiled loops of the graph kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, issparse

from ermlab._utils.sparse_matrices import all_sound, sound_csr
from ermlab._utils.validation import real_array
from ermlab.kernels._weisfeiler_lehman_numba import first_one_way_edge

#: Node numbers and pattern numbers are kept in 32 bits.
_LARGEST = np.iinfo(np.int32).max


@dataclass(frozen=True)
class GraphCollection:
    """Undirected graphs with consecutive node numbers: graph g has ``starts[g]`` to ``starts[g + 1] - 1``."""

    starts: NDArray[np.int64]
    indptr: NDArray[np.int64]  #: neighbors of node v are ``neighbors[indptr[v]:indptr[v + 1]]``, ascending
    neighbors: NDArray[np.int32]

    @classmethod
    def of(cls, graphs: Sequence[Any], sizes: Sequence[int]) -> Self:
        """Collect graphs (adjacency matrices or edge lists) with the given numbers of nodes."""
        given = [_given(graph, size, g) for g, (graph, size) in enumerate(zip(graphs, sizes, strict=True))]
        if not all_sound(given):
            given = [sound_csr(matrix, f"adjacency of graph {g}") for g, matrix in enumerate(given)]
        matrices = [_adjacency(matrix, g) for g, matrix in enumerate(given)]
        starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
        n_edges = np.concatenate([[0], np.cumsum([matrix.nnz for matrix in matrices], dtype=np.int64)])
        if starts[-1] > _LARGEST:
            raise ValueError(f"{starts[-1]} nodes in all: expected at most {_LARGEST}")
        indptr = np.zeros(starts[-1] + 1, dtype=np.int64)
        neighbors = np.empty(n_edges[-1], dtype=np.int32)
        for matrix, node, edge in zip(matrices, starts[:-1].tolist(), n_edges[:-1].tolist(), strict=True):
            indptr[node + 1 : node + len(matrix.indptr)] = matrix.indptr[1:]
            indptr[node + 1 : node + len(matrix.indptr)] += edge
            neighbors[edge : edge + matrix.nnz] = matrix.indices
            neighbors[edge : edge + matrix.nnz] += node
        _require_symmetric(starts, indptr, neighbors)
        return cls(starts, indptr, neighbors)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all graphs."""
        return int(self.starts[-1])


def split_samples(X: Sequence[Any], node_label: str = "label") -> tuple[list, list]:
    """Return the graphs and the node labels of samples: pairs (graph, labels), or networkx graphs.

    The labels of a networkx graph are the attribute ``node_label`` of its nodes, in the graph's order.
    """
    graphs, labels = [], []
    for g, sample in enumerate(X):
        if _is_networkx(sample):
            graph, values = _of_networkx(sample, node_label, g)
        elif isinstance(sample, tuple | list) and len(sample) == 2:
            graph, values = sample
        else:
            raise ValueError(
                f"sample {g} is a {type(sample).__name__}: expected a pair (graph, node labels) "
                "or a networkx graph"
            )
        graphs.append(graph)
        labels.append(values)
    return graphs, labels


def label_sizes(graphs: Sequence[Any], labels: Sequence[ArrayLike]) -> list[int]:
    """Return the number of nodes of each graph, which is that of its labels."""
    if len(graphs) != len(labels):
        raise ValueError(f"{len(graphs)} graphs and labels of {len(labels)}: expected the same number")
    sizes = []
    for g, values in enumerate(labels):
        try:
            sizes.append(len(values))
        except TypeError as error:
            raise ValueError(f"node labels of graph {g} are {values!r}: expected one per node") from error
    return sizes


def discrete_labels(labels: Sequence[ArrayLike]) -> NDArray[np.int64]:
    """Return the labels of all nodes, graph after graph, or raise a ValueError if they are not integers."""
    parts = [_whole_numbers(values, g) for g, values in enumerate(labels)]
    _require_one_range(labels, parts)
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _require_one_range(labels: Sequence[ArrayLike], parts: Sequence[NDArray[np.int64]]) -> None:
    """Raise a ValueError if unsigned labels above the signed range would coincide with negative ones."""
    unsigned = [getattr(values, "dtype", None) == np.uint64 for values in labels]
    far = [g for g, part in enumerate(parts) if unsigned[g] and part.size and part.min() < 0]
    below = [g for g, part in enumerate(parts) if far and not unsigned[g] and part.size and part.min() < 0]
    if below:
        raise ValueError(
            f"labels of graph {far[0]} go up to {np.max(labels[far[0]])}, those of graph {below[0]} down to "
            f"{parts[below[0]].min()}: expected integers that fit into 64 bits together"
        )


def vector_labels(labels: Sequence[ArrayLike], n_features: int | None = None) -> NDArray[np.float64]:
    """Return the labels of all nodes as one matrix, (n_nodes, n_features), or raise a ValueError.

    Labels of shape (n,) are taken as (n, 1). A graph without nodes may have labels of any shape.
    """
    parts = []
    for g, values in enumerate(labels):
        try:
            values = real_array(values, "they")
        except ValueError as error:
            raise ValueError(f"node labels of graph {g}: {error}; expected numbers") from error
        if values.ndim == 0:
            raise ValueError(f"node labels of graph {g} are the number {values}: expected one per node")
        if len(values) == 0:
            continue
        values = values[:, None] if values.ndim == 1 else values
        n_features = values.shape[-1] if n_features is None else n_features
        if values.ndim != 2 or values.shape[1] != n_features or n_features == 0:
            raise ValueError(
                f"node labels of graph {g} have shape {values.shape}: expected (nodes, {n_features or 'd'})"
            )
        bad = ~np.isfinite(values).all(axis=1)
        if bad.any():
            v = int(bad.argmax())
            raise ValueError(f"label of node {v} of graph {g} is {values[v]}: expected finite numbers")
        parts.append(values)
    return np.concatenate(parts) if parts else np.empty((0, n_features or 1))


def _whole_numbers(values: ArrayLike, g: int) -> NDArray[np.int64]:
    if np.ma.is_masked(values):
        raise ValueError(f"node labels of graph {g} have masked entries: expected one per node")
    values = np.asarray(values)
    if values.ndim != 1:
        raise ValueError(f"node labels of graph {g} have shape {values.shape}: expected (nodes,)")
    if values.size == 0 or np.issubdtype(values.dtype, np.integer) or values.dtype == bool:
        return values.astype(np.int64)
    if not np.issubdtype(values.dtype, np.floating):
        raise ValueError(f"node labels of graph {g} have type {values.dtype}: expected integers")
    if values.dtype == np.float16:  # which cannot represent the limit below
        values = values.astype(np.float64)
    bad = ~(np.abs(values) < 2.0**63) | (values != np.round(values))
    if bad.any():
        v = int(bad.argmax())
        raise ValueError(
            f"label of node {v} of graph {g} is {values[v]}: expected an integer of 64 bits "
            "(PyramidWL takes real numbers and vectors)"
        )
    return values.astype(np.int64)


def _given(graph: Any, size: int, g: int) -> csr_array:
    """Return one graph in compressed rows; a matrix given in this form is not checked yet."""
    if not issparse(graph):
        return _of_edges(graph, size, g)
    if graph.shape != (size, size):
        raise ValueError(
            f"adjacency of graph {g} has shape {graph.shape}: "
            f"expected ({size}, {size}), as it has {size} labels"
        )
    if graph.dtype.kind in "biuf" and graph.format == "csr":
        return graph
    return sound_csr(graph, f"adjacency of graph {g}")


def _adjacency(matrix: csr_array, g: int) -> csr_array:
    """Return the adjacency matrix of one graph with sorted columns, each edge once."""
    weights = matrix.data
    # Most graphs have positive entries only, which need no further checks.
    ordinary = not weights.size or (weights.min() > 0 and weights.max() < np.inf)
    if not (ordinary or np.isfinite(weights).all()):
        raise ValueError(f"adjacency of graph {g} holds NaN or infinity: expected finite numbers")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if not (ordinary or matrix.data.all()):
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def _of_edges(edges: ArrayLike, size: int, g: int) -> csr_array:
    edges = np.asarray(edges)
    if edges.size == 0:
        return csr_array((size, size), dtype=np.int8)
    if edges.ndim != 2 or edges.shape[1] != 2 or not np.issubdtype(edges.dtype, np.integer):
        raise ValueError(
            f"graph {g} is an array of shape {edges.shape} and type {edges.dtype}: expected a list of edges, "
            "(edges, 2) integers, or a sparse adjacency matrix"
        )
    outside = ((edges < 0) | (edges >= size)).any(axis=1)
    if outside.any():
        e = int(outside.argmax())
        raise ValueError(
            f"edge {e} of graph {g} joins nodes {edges[e, 0]} and {edges[e, 1]}: "
            f"expected nodes 0 to {size - 1}"
        )
    ends = np.concatenate([edges, edges[:, ::-1]])
    matrix = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(size, size)).tocsr()
    matrix.sum_duplicates()
    return matrix


def _require_symmetric(starts: NDArray, indptr: NDArray, neighbors: NDArray) -> None:
    v, u = first_one_way_edge(indptr, neighbors)
    if v >= 0:
        g = int(np.searchsorted(starts, v, side="right")) - 1
        v, u = v - starts[g], u - starts[g]
        raise ValueError(
            f"adjacency of graph {g} has the edge {v} to {u} but not {u} to {v}: "
            "expected an undirected graph (A + A.T makes it one)"
        )


def _is_networkx(sample: Any) -> bool:
    # Recognized by its methods, as networkx need not be installed.
    return hasattr(sample, "adjacency") and hasattr(sample, "nodes") and hasattr(sample, "is_multigraph")


def _of_networkx(graph: Any, node_label: str, g: int) -> tuple[Any, NDArray]:
    """Return the adjacency matrix and the labels of a graph."""
    if graph.is_directed():
        raise ValueError(f"graph {g} is directed: expected an undirected graph (to_undirected makes it one)")
    nodes = dict(graph.nodes(data=True))
    try:
        labels = [attributes[node_label] for attributes in nodes.values()]
    except KeyError:
        node = next(node for node, attributes in nodes.items() if node_label not in attributes)
        raise ValueError(
            f"node {node!r} of graph {g} has no label: expected the attribute {node_label!r}"
        ) from None
    adjacent = dict(graph.adjacency())
    if list(adjacent) != list(nodes):  # views of parts of a graph may have another order
        adjacent = {node: adjacent[node] for node in nodes}
    counts = np.fromiter(map(len, adjacent.values()), dtype=np.int32, count=len(nodes))
    ends = chain.from_iterable(adjacent.values())
    if list(nodes) != list(range(len(nodes))):  # else nodes are their own numbers
        ends = map(dict(zip(nodes, range(len(nodes)), strict=True)).__getitem__, ends)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    indices = np.fromiter(ends, dtype=np.int32, count=int(indptr[-1]))
    matrix = csr_array((np.ones(len(indices)), indices, indptr), shape=(len(nodes), len(nodes)))
    matrix.sort_indices()
    return matrix, np.array(labels)
