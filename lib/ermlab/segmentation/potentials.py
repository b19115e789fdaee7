"""Potentials of a random field with unary and pairwise terms (thesis, eq. 2.23)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import real_array

Vector = NDArray[np.float64]
#: Largest magnitude of a potential, whose sums over all nodes and edges do not overflow.
LARGEST_POTENTIAL = 1e150


def labeling_score(unary: ArrayLike, edges: ArrayLike, pairwise: ArrayLike, labels: ArrayLike) -> float:
    """Return ``sum_i unary[i, y_i] + sum_e pairwise[e, y_i, y_j]`` (thesis, eq. 2.23).

    Parameters
    ----------
    unary : array-like of shape (n_nodes, n_states)
        Score of each state of each node.
    edges : array-like of shape (n_edges, 2)
        Nodes ``(i, j)`` of each edge.
    pairwise : array-like of shape (n_states, n_states) or (n_edges, n_states, n_states)
        Score of the states of both nodes, for all edges or for each of them.
    labels : array-like of shape (n_nodes,)
        The labels ``y``.
    """
    unary, edges, pairwise = check_potentials(unary, edges, pairwise)
    labels = check_labels(labels, len(unary), unary.shape[1])
    i, j = edges.T
    which = np.arange(len(edges)) if len(pairwise) == len(edges) else np.zeros(len(edges), dtype=np.int64)
    scores = pairwise[which, labels[i], labels[j]]
    return float(np.sum(unary[np.arange(len(unary)), labels])) + float(np.sum(scores))


def check_potentials(
    unary: ArrayLike, edges: ArrayLike, pairwise: ArrayLike
) -> tuple[Vector, NDArray[np.int64], Vector]:
    """Return unary scores, edges, and pairwise scores of three dimensions; or raise a ValueError.

    Pairwise scores that all edges share keep a first axis of length 1.
    """
    unary = finite_potentials(unary, "unary")
    if unary.ndim != 2 or unary.shape[1] < 1:
        raise ValueError(f"unary has shape {unary.shape}: expected (n_nodes, n_states)")
    n_nodes, n_states = unary.shape
    edges = check_edges(edges, n_nodes)
    pairwise = finite_potentials(pairwise, "pairwise")
    if pairwise.ndim == 2:
        pairwise = pairwise[np.newaxis]
    if pairwise.shape[1:] != (n_states, n_states) or len(pairwise) not in (1, len(edges)):
        raise ValueError(
            f"pairwise has shape {pairwise.shape}: expected ({n_states}, {n_states}) or "
            f"({len(edges)}, {n_states}, {n_states})"
        )
    return unary, edges, pairwise


def finite_potentials(values: ArrayLike, name: str) -> Vector:
    """Return contiguous finite scores, or raise a ValueError that names the first bad one."""
    values = np.ascontiguousarray(real_array(values, name))
    bad = ~(np.abs(values) <= LARGEST_POTENTIAL)
    if bad.any():
        place = tuple(int(index) for index in np.argwhere(bad)[0])
        raise ValueError(
            f"{name} is {values[place]} at {place}: expected finite scores up to {LARGEST_POTENTIAL:.3g}"
        )
    return values


def check_edges(edges: ArrayLike, n_nodes: int) -> NDArray[np.int64]:
    """Return edges as pairs of different nodes that exist, or raise a ValueError."""
    edges = np.asarray(edges)
    if edges.size == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(
            f"edges of type {edges.dtype}, shape {edges.shape}: expected integers of shape (n_edges, 2)"
        )
    i, j = edges.T
    if edges.min() < 0 or edges.max() >= n_nodes or (i == j).any():
        e = int(np.argmax((edges < 0).any(axis=1) | (edges >= n_nodes).any(axis=1) | (i == j)))
        raise ValueError(
            f"edge {e} joins nodes {edges[e, 0]} and {edges[e, 1]}: expected two different nodes from 0 to "
            f"{n_nodes - 1}"
        )
    return np.ascontiguousarray(edges, dtype=np.int64)


def check_labels(labels: ArrayLike, n_nodes: int, n_states: int) -> NDArray[np.int64]:
    """Return one label from 0 to ``n_states - 1`` per node, or raise a ValueError."""
    labels = np.asarray(labels)
    if labels.shape != (n_nodes,) or labels.dtype.kind not in "iub":
        raise ValueError(f"labels of type {labels.dtype}, shape {labels.shape}: expected {n_nodes} integers")
    bad = (labels < 0) | (labels >= n_states)
    if bad.any():
        node = int(np.argmax(bad))
        raise ValueError(f"label {labels[node]} of node {node}: expected 0 to {n_states - 1}")
    return labels.astype(np.int64)
