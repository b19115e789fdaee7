"""Approximate inference for any number of states by expansion moves, with an upper bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import positive_number, whole_number
from ermlab.segmentation._flow_graph import FlowGraph, flow_graph
from ermlab.segmentation._graph_cut_numba import expansion_capacities
from ermlab.segmentation._messages_numba import score_range
from ermlab.segmentation._trees_numba import labeling_total
from ermlab.segmentation.labeling import Labeling
from ermlab.segmentation.potentials import check_labels, check_potentials
from ermlab.segmentation.tree_reweighted import ROUNDING, certified, message_labeling

Vector = NDArray[np.float64]
Labels = NDArray[np.int64]


def alpha_expansion(
    unary: ArrayLike,
    edges: ArrayLike,
    pairwise: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    max_iter: int = 100,
    bound_iter: int = 50,
    tol: float = 1e-6,
) -> Labeling:
    """Return a labeling that no expansion of a state improves, with an upper bound on the best score.

    An expansion lets any set of nodes change to one state, the best set being a minimum cut (Y. Boykov,
    O. Veksler, R. Zabih: Fast approximate energy minimization via graph cuts, PAMI 2001). If the pairwise
    scores are minus a metric, such as those of Potts, the best set is found exactly. Otherwise the scores of
    some pairs are lowered during the search: moves still never lower the score, but better ones may be
    missed. Either way the result has a bound, from tree-reweighted message passing.

    Parameters
    ----------
    unary, edges, pairwise
        Scores and edges as in `labeling_score`.
    labels : array-like of shape (n_nodes,), optional
        Where to begin, by default the better of the states with the highest unary scores and the labels of
        the message passing.
    max_iter : int, default=100
        Maximum number of passes over all states.
    bound_iter : int, default=50
        Maximum number of iterations of message passing.
    tol : float, default=1e-6
        Tolerance of message passing, see `tree_reweighted`.

    Returns
    -------
    Labeling
        Labels, score and bound.
    """
    unary, edges, pairwise = check_potentials(unary, edges, pairwise)
    max_iter, bound_iter = (
        whole_number("max_iter", max_iter, 1),
        whole_number("bound_iter", bound_iter, 1),
    )
    start = None if labels is None else check_labels(labels, *unary.shape)
    graph = flow_graph(edges, len(unary))
    return expansion_labeling(
        unary, pairwise, graph, start, max_iter, bound_iter, positive_number("tol", tol)
    )


def expansion_labeling(
    unary: Vector,
    pairwise: Vector,
    graph: FlowGraph,
    start: Labels | None = None,
    max_iter: int = 100,
    bound_iter: int = 50,
    tol: float = 1e-6,
) -> Labeling:
    """Return the labeling of checked potentials on a graph that is used more than once."""
    passed = message_labeling(unary, pairwise, graph, bound_iter, tol)
    if start is None:
        start = greedy_start(unary, pairwise, graph, passed)
    labels, score = expand(unary, pairwise, graph, start, max_iter)
    return certified(labels, score, passed.bound, score_range(unary, pairwise, len(graph.edges)))


def greedy_start(unary: Vector, pairwise: Vector, graph: FlowGraph, other: Labeling) -> Labels:
    """Return the labels of the highest unary scores, or the ``other`` labeling if its score is higher."""
    labels = unary.argmax(axis=1)
    score = labeling_total(unary, graph.edges, pairwise, labels)
    return labels if score >= other.score else other.labels


def expand(
    unary: Vector, pairwise: Vector, graph: FlowGraph, labels: Labels, max_iter: int
) -> tuple[Labels, float]:
    """Expand one state after the other until nothing changes; return labels and score."""
    n_nodes, n_states = unary.shape
    least = ROUNDING * score_range(unary, pairwise, len(graph.edges))
    labels, score = labels.copy(), labeling_total(unary, graph.edges, pairwise, labels)
    terminal, capacity = np.empty(n_nodes), np.empty(len(graph.edges))
    unchanged = 0
    for step in range(max_iter * n_states):
        alpha = step % n_states
        expansion_capacities(unary, graph.edges, pairwise, labels, alpha, terminal, capacity)
        source_side = graph.cut(terminal, capacity, capacity)
        moved = np.where(source_side, labels, alpha)
        moved_score = labeling_total(unary, graph.edges, pairwise, moved)
        if moved_score > score + least:
            labels, score, unchanged = moved, moved_score, 0
        else:
            unchanged += 1
        if unchanged >= n_states:
            break
    return labels, score
