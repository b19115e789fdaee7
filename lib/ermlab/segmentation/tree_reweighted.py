"""Upper bounds and labelings of any random field by tree-reweighted message passing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import positive_number, whole_number
from ermlab.segmentation._flow_graph import FlowGraph, flow_graph
from ermlab.segmentation._messages_numba import score_range, sweep
from ermlab.segmentation._trees_numba import labeling_total
from ermlab.segmentation.labeling import Labeling
from ermlab.segmentation.potentials import check_potentials

Vector = NDArray[np.float64]
# Share of the range of scores below which the difference of a bound and a score is a rounding error.
ROUNDING = 1e-12


def tree_reweighted(
    unary: ArrayLike, edges: ArrayLike, pairwise: ArrayLike, *, max_iter: int = 100, tol: float = 1e-6
) -> Labeling:
    """Return a labeling of any random field, with an upper bound that is at best that of the LP relaxation.

    Sequential tree-reweighted message passing: an iteration takes O(n_edges n_states^2), and never raises the
    bound. On binary submodular problems and on trees the bound approaches the best score. `lp_relaxation` is
    never looser, but much slower on large graphs.

    Parameters
    ----------
    unary, edges, pairwise
        Scores and edges as in `labeling_score`.
    max_iter : int, default=100
        Maximum number of iterations, each in both directions.
    tol : float, default=1e-6
        Stop when the bound is within ``tol`` of the score of the best labeling found, or decreases by less
        than a tenth of that, both relative to the range of the scores of all labelings.

    Returns
    -------
    Labeling
        The best labeling found, and the bound.
    """
    unary, edges, pairwise = check_potentials(unary, edges, pairwise)
    max_iter = whole_number("max_iter", max_iter, 1)
    return message_labeling(
        unary, pairwise, flow_graph(edges, len(unary)), max_iter, positive_number("tol", tol)
    )


def message_labeling(
    unary: Vector, pairwise: Vector, graph: FlowGraph, max_iter: int, tol: float, known: float = -np.inf
) -> Labeling:
    """Pass messages between checked potentials until the bound is close to the best or a ``known`` score."""
    messages = np.zeros((2 * len(graph.edges), unary.shape[1]))
    labels = np.zeros(len(unary), dtype=np.int64)
    spread = score_range(unary, pairwise, len(graph.edges))
    best, best_score, bound = labels.copy(), -np.inf, np.inf
    for _ in range(max_iter):
        last = bound
        for backward in (False, True):
            found = sweep(graph.arcs, graph.edge, graph.place, unary, pairwise, messages, backward, labels)
            bound = min(bound, found)
            score = labeling_total(unary, graph.edges, pairwise, labels)
            if score > best_score:
                best, best_score = labels.copy(), score
        if bound - max(best_score, known) <= tol * spread or last - bound <= 0.1 * tol * spread:
            break
    return certified(best, best_score, bound, spread)


def certified(labels: NDArray[np.int64], score: float, bound: float, spread: float) -> Labeling:
    """Return a labeling with its bound, which is its score if they differ by rounding errors only."""
    return Labeling(labels, score, score if bound - score <= ROUNDING * spread else bound)
