"""Exact inference in binary submodular random fields by graph cuts (thesis, section 2.3.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.segmentation._flow_graph import FlowGraph, flow_graph
from ermlab.segmentation._graph_cut_numba import ROUNDING, cut_capacities
from ermlab.segmentation._trees_numba import labeling_total
from ermlab.segmentation.labeling import Labeling
from ermlab.segmentation.potentials import check_potentials

Vector = NDArray[np.float64]


def graph_cut(unary: ArrayLike, edges: ArrayLike, pairwise: ArrayLike) -> Labeling:
    """Return the labeling of the highest score of a binary submodular random field (thesis, eq. 2.23).

    Parameters
    ----------
    unary : array-like of shape (n_nodes, 2)
        Score of each state of each node.
    edges : array-like of shape (n_edges, 2)
        Nodes ``(i, j)`` of each edge.
    pairwise : array-like of shape (2, 2) or (n_edges, 2, 2)
        Score of the states of ``i`` and ``j``, for all edges or for each of them. They must be submodular:
        ``pairwise[0, 0] + pairwise[1, 1] >= pairwise[0, 1] + pairwise[1, 0]``.

    Returns
    -------
    Labeling
        Labels and score; its bound is the score, since the labeling is optimal up to rounding.

    Raises
    ------
    ValueError
        If an edge is not submodular; see `alpha_expansion` for such edges and for more than two states.

    Examples
    --------
    A pixel takes the label of its neighbors:

    >>> from ermlab.segmentation import graph_cut
    >>> found = graph_cut([[2.0, 0.0], [0.0, 1.0], [2.0, 0.0]], [[0, 1], [1, 2]], [[1.0, 0.0], [0.0, 1.0]])
    >>> found.labels, found.score
    (array([0, 0, 0]), 6.0)
    """
    unary, edges, pairwise = check_potentials(unary, edges, pairwise)
    if unary.shape[1] != 2:
        raise ValueError(f"{unary.shape[1]} states: expected 2; see alpha_expansion for more")
    return cut_labeling(unary, pairwise, flow_graph(edges, len(unary)))


def cut_labeling(unary: Vector, pairwise: Vector, graph: FlowGraph) -> Labeling:
    """Return the best labeling of checked potentials on a graph that is used more than once."""
    terminal, capacity = np.empty(len(unary)), np.empty(len(graph.edges))
    bad, amount = cut_capacities(unary, graph.edges, pairwise, terminal, capacity)
    if bad >= 0:
        i, j = graph.edges[bad]
        raise ValueError(
            f"edge {bad} between nodes {i} and {j} is not submodular: pairwise[0, 0] + pairwise[1, 1] is "
            f"{amount:.6g} less than pairwise[0, 1] + pairwise[1, 0], expected at least as much; "
            "alpha_expansion has no such condition"
        )
    source_side = graph.cut(terminal, capacity, capacity)
    labels = (~source_side).astype(np.int64)
    score = labeling_total(unary, graph.edges, pairwise, labels)
    return Labeling(labels, score, score)


def is_submodular(pairwise: Vector) -> bool:
    """Return whether `graph_cut` accepts the pairwise scores (n, 2, 2)."""
    (p00, p01), (p10, p11) = pairwise.transpose(1, 2, 0)
    sizes = np.abs(pairwise).sum(axis=(1, 2))
    return bool(((p00 - p01) + (p11 - p10) >= -ROUNDING * sizes).all())
