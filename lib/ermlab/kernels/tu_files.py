"""Graph classification data sets in the text format of the TU Dortmund collection."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from ermlab._utils.files import broken, read_table, require_folder


@dataclass(frozen=True)
class GraphSet:
    """Labeled graphs; entry g of each tuple belongs to graph g.

    Attributes
    ----------
    name : str
        Name of the data set.
    labels : ndarray of shape (n_graphs,)
        Class of each graph.
    adjacency : tuple of csr_array of shape (n_nodes, n_nodes)
        1 for each edge.
    node_labels : tuple of ndarray of shape (n_nodes,) or (n_nodes, n_labels), or None
        One integer per node, or a row of them if the file has several columns (see `joint_labels`).
    node_attributes : tuple of ndarray of shape (n_nodes, n_attributes), or None
    edge_labels : tuple of ndarray of shape (n_edges,) or (n_edges, n_labels), or None
        In the order of ``adjacency[g].data``.
    """

    name: str
    labels: np.ndarray
    adjacency: tuple[csr_array, ...]
    node_labels: tuple[np.ndarray, ...] | None
    node_attributes: tuple[np.ndarray, ...] | None
    edge_labels: tuple[np.ndarray, ...] | None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def joint_labels(self) -> tuple[np.ndarray, ...]:
        """One integer per node: its label, or the number of its row among the distinct rows of labels.

        `WeisfeilerLehman` takes these. Without node labels it is 0 for all nodes, so that patterns are those
        of the plain graph.
        """
        if self.node_labels is None:
            return tuple(np.zeros(matrix.shape[0], dtype=np.int64) for matrix in self.adjacency)
        if self.node_labels[0].ndim == 1:
            return self.node_labels
        rows = np.concatenate(self.node_labels)
        numbers = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        return tuple(np.split(numbers, np.cumsum([len(labels) for labels in self.node_labels])[:-1]))


def read_tu(folder: str | Path, name: str) -> GraphSet:
    """Read a data set from its text files.

    Parameters
    ----------
    folder : str or Path
        Holds ``<name>_A.txt``, ``<name>_graph_indicator.txt`` and ``<name>_graph_labels.txt``, and possibly
        ``<name>_node_labels.txt``, ``<name>_node_attributes.txt`` and ``<name>_edge_labels.txt``.
    name : str
        Name of the data set.

    Returns
    -------
    GraphSet
        Nodes are numbered from 0 in each graph; the files count them from 1.
    """
    folder = require_folder(folder)
    graph_of = _column(folder / f"{name}_graph_indicator.txt") - 1
    labels = _column(folder / f"{name}_graph_labels.txt")
    if (np.diff(graph_of, prepend=0) < 0).any() or set(graph_of.tolist()) != set(range(len(labels))):
        raise broken(
            folder / f"{name}_graph_indicator.txt", "wrong graph numbers", f"1 to {len(labels)} in order"
        )
    ends = _read_edges(folder, name, graph_of)
    edge_labels = _optional(folder, f"{name}_edge_labels.txt", rows=len(ends), dtype=int)
    attributes = _optional(
        folder, f"{name}_node_attributes.txt", f"{name}_attributes.txt", rows=len(graph_of), dtype=float
    )
    node_labels = _optional(folder, f"{name}_node_labels.txt", rows=len(graph_of), dtype=int)
    first_node = np.searchsorted(graph_of, np.arange(len(labels)))
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    ends = ends[order]
    first_edge = np.searchsorted(ends[:, 0], first_node)
    return GraphSet(
        name,
        labels,
        adjacency=_adjacencies(ends, first_edge, first_node, n_nodes=len(graph_of)),
        node_labels=None if node_labels is None else _by_graph(_single(node_labels), first_node),
        node_attributes=None if attributes is None else _by_graph(attributes, first_node),
        edge_labels=None if edge_labels is None else _by_graph(_single(edge_labels[order]), first_edge),
    )


def _single(table: np.ndarray) -> np.ndarray:
    """Return a table of one column as a vector, others unchanged."""
    return table[:, 0] if table.shape[1] == 1 else table


def _by_graph(rows: np.ndarray, firsts: np.ndarray) -> tuple[np.ndarray, ...]:
    return tuple(np.split(rows, firsts[1:]))


def _column(path: Path) -> np.ndarray:
    return read_table(path, columns=1, dtype=int)[:, 0]


def _read_edges(folder: Path, name: str, graph_of: np.ndarray) -> np.ndarray:
    """Return node indices from 0, (n_edges, 2); an older version of the format adds a column of ones."""
    path, older = folder / f"{name}_A.txt", folder / f"{name}_A_sparse.txt"
    if not path.exists() and older.exists():
        path = older
    ends = read_table(path, dtype=int)[:, :2] - 1
    if ends.shape[1] != 2 or ends.min() < 0 or ends.max() >= len(graph_of):
        raise broken(
            path, "an edge to a node that is not there", f"two nodes per line, from 1 to {len(graph_of)}"
        )
    if (graph_of[ends[:, 0]] != graph_of[ends[:, 1]]).any():
        raise broken(path, "an edge between two graphs", "edges within a graph")
    if len(np.unique(ends, axis=0)) != len(ends):
        raise broken(path, "an edge occurs twice", "each once in each direction")
    return ends


def _optional(folder: Path, *names: str, rows: int, dtype: type) -> np.ndarray | None:
    """Read the first of the files that exists, which must have ``rows`` rows."""
    for path in (folder / name for name in names):
        if path.exists():
            table = read_table(path, dtype=dtype)
            if len(table) != rows:
                raise broken(path, f"{len(table)} rows", str(rows))
            return table
    return None


def _adjacencies(ends: np.ndarray, first_edge: np.ndarray, first_node: np.ndarray, n_nodes: int) -> tuple:
    """Split the sorted edges of all graphs into one matrix per graph."""
    sizes = np.diff(first_node, append=n_nodes)
    edges = np.split(ends, first_edge[1:])
    return tuple(
        csr_array((np.ones(len(pairs)), (pairs - start).T), shape=(size, size))
        for pairs, start, size in zip(edges, first_node, sizes, strict=True)
    )
