"""The linear relaxation of inference in a random field."""

from __future__ import annotations

import highspy
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csc_array

from ermlab._utils.validation import largest_magnitude
from ermlab.segmentation._flow_graph import FlowGraph, flow_graph
from ermlab.segmentation._messages_numba import local_bound, score_range
from ermlab.segmentation.alpha_expansion import expand
from ermlab.segmentation.labeling import Labeling
from ermlab.segmentation.potentials import check_potentials
from ermlab.segmentation.tree_reweighted import certified

Vector = NDArray[np.float64]
# Passes over all states that improve the rounded labels.
MAX_EXPANSIONS = 100


def lp_relaxation(unary: ArrayLike, edges: ArrayLike, pairwise: ArrayLike) -> Labeling:
    """Return a labeling by rounding the linear relaxation, whose value is the bound.

    The relaxation maximizes the expected score over probabilities of the states of nodes and of edges that
    agree at each node. It is tight, and the labeling is optimal, on trees and on binary submodular problems.
    The linear program has ``n_nodes n_states + n_edges n_states^2`` variables: use `tree_reweighted` for the
    bound of large graphs.

    Parameters
    ----------
    unary, edges, pairwise
        Scores and edges as in `labeling_score`.

    Returns
    -------
    Labeling
        The most probable state of each node, improved by expansion moves where the relaxation is not tight,
        and the bound. The bound is computed from the dual solution, and holds whatever the tolerances of the
        solver.
    """
    unary, edges, pairwise = check_potentials(unary, edges, pairwise)
    return relaxed_labeling(unary, pairwise, flow_graph(edges, len(unary)))


def relaxed_labeling(unary: Vector, pairwise: Vector, graph: FlowGraph) -> Labeling:
    """Return the labeling of checked potentials on a graph that is used more than once."""
    if not len(unary):
        return Labeling(np.zeros(0, dtype=np.int64), 0.0, 0.0)
    edges = graph.edges
    marginals, ahead, back = _solve(unary, edges, pairwise)
    # Probabilities that differ by the tolerance of the solver are equal: rounding must treat all nodes alike.
    labels = np.round(marginals, 6).argmax(axis=1)
    bound = local_bound(edges, unary, pairwise, ahead, back)
    labels, score = expand(unary, pairwise, graph, labels, MAX_EXPANSIONS)
    return certified(labels, score, bound, score_range(unary, pairwise, len(edges)))


def _solve(unary: Vector, edges: NDArray[np.int64], pairwise: Vector) -> tuple[Vector, Vector, Vector]:
    """Return the probabilities of the states of nodes, and messages to both nodes of each edge."""
    n_nodes, n_states = unary.shape
    n_edges = len(edges)
    scale = largest_magnitude(unary, pairwise) or 1.0  # the tolerances of the solver are absolute
    costs = np.concatenate([unary.ravel(), np.broadcast_to(pairwise, (n_edges, n_states, n_states)).ravel()])
    constraints = _constraints(edges, n_nodes, n_states)
    sums = np.concatenate([np.ones(n_nodes), np.zeros(2 * n_edges * n_states)])
    solution = _maximize(costs / scale, constraints, sums)
    marginals = np.array(solution.col_value)[: n_nodes * n_states].reshape(n_nodes, n_states)
    duals = scale * np.array(solution.row_dual)[n_nodes:].reshape(2, n_edges, n_states)
    return marginals, duals[1], duals[0]


def _constraints(edges: NDArray[np.int64], n_nodes: int, n_states: int) -> csc_array:
    """Return rows for the totals of nodes, and for the sums of edges over states of ``j`` and of ``i``."""
    n_edges, k = len(edges), n_states
    n_unary = n_nodes * k
    rows, columns, values = [np.repeat(np.arange(n_nodes), k)], [np.arange(n_unary)], [np.ones(n_unary)]
    pairs = n_unary + np.arange(n_edges * k * k).reshape(n_edges, k, k)
    for side in (0, 1):
        row = n_nodes + side * n_edges * k + np.arange(n_edges * k).reshape(n_edges, k)
        summed = row[:, :, None] if side == 0 else row[:, None, :]
        rows += [np.broadcast_to(summed, pairs.shape).ravel(), row.ravel()]
        columns += [pairs.ravel(), (edges[:, side, None] * k + np.arange(k)).ravel()]
        values += [np.ones(pairs.size), -np.ones(row.size)]
    shape = n_nodes + 2 * n_edges * k, n_unary + pairs.size
    triplets = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return csc_array(coo_array(triplets, shape=shape))


def _maximize(costs: Vector, constraints: csc_array, sums: Vector) -> highspy.HighsSolution:
    """Maximize ``costs' x`` with ``x >= 0`` and given products with the constraints."""
    program = highspy.HighsLp()
    program.num_row_, program.num_col_ = constraints.shape
    program.sense_ = highspy.ObjSense.kMaximize
    program.col_cost_ = costs
    program.col_lower_, program.col_upper_ = np.zeros(len(costs)), np.full(len(costs), highspy.kHighsInf)
    program.row_lower_ = program.row_upper_ = sums
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = constraints.indptr
    program.a_matrix_.index_ = constraints.indices
    program.a_matrix_.value_ = constraints.data
    model = highspy.Highs()
    model.silent()
    model.setOptionValue("threads", 1)
    model.passModel(program)
    model.run()
    status = model.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise ValueError(f"the linear program ended with {status}: expected scores of similar size")
    return model.getSolution()
