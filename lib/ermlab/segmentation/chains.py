"""Exact inference on chains (thesis, section 2.3.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ermlab.segmentation._chains_numba import label_chain
from ermlab.segmentation._trees_numba import labeling_total
from ermlab.segmentation.labeling import Labeling
from ermlab.segmentation.marginals import Marginals, tree_marginals
from ermlab.segmentation.potentials import check_potentials, finite_potentials


def max_sum_chain(unary: ArrayLike, pairwise: ArrayLike) -> Labeling:
    """Return the labeling of the highest score of a chain (thesis, eq. 2.11 and 2.23).

    Node ``i`` is joined to node ``i + 1``. Dynamic programming takes O(n_nodes n_states^2). Of several
    labelings with the highest score, the first in lexicographic order is returned.

    Parameters
    ----------
    unary : array-like of shape (n_nodes, n_states)
        Score of each state of each node.
    pairwise : array-like of shape (n_states, n_states) or (n_nodes - 1, n_states, n_states)
        Score of the states of nodes ``i`` and ``i + 1``, for all edges or for each of them.

    Returns
    -------
    Labeling
        Labels and score; its bound is the score, since the labeling is optimal.
    """
    unary = finite_potentials(unary, "unary")
    unary, edges, pairwise = check_potentials(unary, chain_edges(len(unary) if unary.ndim else 0), pairwise)
    labels = np.zeros(len(unary), dtype=np.int64)
    if len(unary):
        transposed = np.ascontiguousarray(pairwise.transpose(0, 2, 1))
        label_chain(unary, pairwise, transposed, np.empty_like(unary), labels)
    score = labeling_total(unary, edges, pairwise, labels)
    return Labeling(labels, score, score)


def chain_marginals(unary: ArrayLike, pairwise: ArrayLike) -> Marginals:
    """Return the marginals of ``p(y) = exp(score(y)) / Z`` on a chain (thesis, eq. 2.21).

    The parameters are those of `max_sum_chain`; edge ``i`` of the result joins nodes ``i`` and ``i + 1``.
    The forward-backward algorithm takes O(n_nodes n_states^2).
    """
    unary = finite_potentials(unary, "unary")
    return tree_marginals(unary, chain_edges(len(unary) if unary.ndim else 0), pairwise)


def chain_edges(n_nodes: int) -> np.ndarray:
    """Return the edges of a chain, each from a node to the next."""
    nodes = np.arange(max(n_nodes - 1, 0), dtype=np.int64)
    return np.column_stack([nodes, nodes + 1])
