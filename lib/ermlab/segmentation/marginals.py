"""Marginals of a random field on a forest (thesis, eq. 2.21)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import require_room
from ermlab.segmentation._trees_numba import sum_product
from ermlab.segmentation.potentials import check_potentials
from ermlab.segmentation.trees import check_forest


@dataclass(frozen=True)
class Marginals:
    """Marginals of ``p(y) = exp(score(y)) / Z`` (thesis, eq. 2.21).

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes, n_states)
        Probability of each state of each node.
    edges : ndarray of shape (n_edges, n_states, n_states)
        Probability of each pair of states of the nodes ``(i, j)`` of each edge.
    log_partition : float
        ``log Z``, the logarithm of the sum of ``exp(score(y))`` over all labelings.
    """

    nodes: NDArray[np.float64]
    edges: NDArray[np.float64]
    log_partition: float


def tree_marginals(unary: ArrayLike, edges: ArrayLike, pairwise: ArrayLike) -> Marginals:
    """Return the marginals of ``p(y) = exp(score(y)) / Z`` on a forest (thesis, eq. 2.21).

    The sum-product algorithm in log space takes O(n_nodes n_states^2). Scores may be large: errors of
    logarithms of probabilities are of the size of the rounding errors of the scores.

    Parameters
    ----------
    unary : array-like of shape (n_nodes, n_states)
        Score of each state of each node.
    edges : array-like of shape (n_edges, 2)
        Nodes ``(i, j)`` of each edge, in any order, without cycles.
    pairwise : array-like of shape (n_states, n_states) or (n_edges, n_states, n_states)
        Score of the states of ``i`` and ``j``, for all edges or for each of them.
    """
    unary, edges, pairwise = check_potentials(unary, edges, pairwise)
    order, link = check_forest(len(unary), edges)
    n_states = unary.shape[1]
    require_room((len(edges), n_states, n_states), "the marginals of the edges")
    nodes, pairs = np.empty_like(unary), np.empty((len(edges), n_states, n_states))
    log_partition = sum_product(unary, edges, pairwise, order, link, nodes, pairs)
    return Marginals(nodes, pairs, log_partition)
