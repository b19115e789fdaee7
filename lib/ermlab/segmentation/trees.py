"""Exact inference on trees and forests (thesis, section 2.3.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.segmentation._trees_numba import forest_order, labeling_total, max_sum
from ermlab.segmentation.labeling import Labeling
from ermlab.segmentation.potentials import check_potentials


def max_sum_tree(unary: ArrayLike, edges: ArrayLike, pairwise: ArrayLike) -> Labeling:
    """Return the labeling of the highest score of a forest (thesis, eq. 2.11 and 2.23).

    Messages from the leaves to the roots take O(n_nodes n_states^2). The root of a tree is its first node.
    Of several states with the highest score, each node takes the lowest, from the roots to the leaves.

    Parameters
    ----------
    unary : array-like of shape (n_nodes, n_states)
        Score of each state of each node.
    edges : array-like of shape (n_edges, 2)
        Nodes ``(i, j)`` of each edge, in any order, without cycles.
    pairwise : array-like of shape (n_states, n_states) or (n_edges, n_states, n_states)
        Score of the states of ``i`` and ``j``, for all edges or for each of them.

    Returns
    -------
    Labeling
        Labels and score; its bound is the score, since the labeling is optimal.
    """
    unary, edges, pairwise = check_potentials(unary, edges, pairwise)
    order, link = check_forest(len(unary), edges)
    labels = np.zeros(len(unary), dtype=np.int64)
    max_sum(unary, edges, pairwise, order, link, labels)
    score = labeling_total(unary, edges, pairwise, labels)
    return Labeling(labels, score, score)


def check_forest(n_nodes: int, edges: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the nodes, each after its parent, and the edge of each node to its parent (-1 for roots).

    Raises
    ------
    ValueError
        If the edges contain a cycle.
    """
    order, link = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
    closing = forest_order(n_nodes, edges, order, link)
    if closing >= 0:
        i, j = edges[closing]
        raise ValueError(
            f"edge {closing} between nodes {i} and {j} closes a cycle: expected a forest; for other graphs "
            "see graph_cut and alpha_expansion"
        )
    return order, link
