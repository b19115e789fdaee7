"""Maximum flows and minimum cuts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.segmentation._flow_graph import flow_graph
from ermlab.segmentation._max_flow_numba import cut_capacity
from ermlab.segmentation.potentials import check_edges, finite_potentials

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class MaxFlow:
    """A maximum flow and a minimum cut.

    Attributes
    ----------
    value : float
        The maximum flow, which is the capacity of the minimum cut; both agree up to rounding.
    source_side : ndarray of bool, shape (n_nodes,)
        Whether each node is on the side of the source.
    edge_flow : ndarray of shape (n_edges,)
        Flow from ``i`` to ``j`` along each edge ``(i, j)``, negative in the opposite direction.
    """

    value: float
    source_side: NDArray[np.bool_]
    edge_flow: Vector


def max_flow(
    source: ArrayLike,
    sink: ArrayLike,
    edges: ArrayLike,
    forward: ArrayLike,
    backward: ArrayLike | None = None,
) -> MaxFlow:
    """Return a maximum flow from a source to a sink, and a minimum cut between them.

    Incremental breadth-first search, whose number of steps has a bound that does not depend on the
    capacities.

    Parameters
    ----------
    source, sink : array-like of shape (n_nodes,)
        Capacities from the source to each node, and from each node to the sink.
    edges : array-like of shape (n_edges, 2)
        Nodes ``(i, j)`` of each edge.
    forward : array-like of shape (n_edges,)
        Capacities from ``i`` to ``j``.
    backward : array-like of shape (n_edges,), optional
        Capacities from ``j`` to ``i``, by default 0.

    Returns
    -------
    MaxFlow
        Value, side of the cut of each node, and flow of each edge. The cut is one of the minimal ones, the
        same in each run.

    Examples
    --------
    >>> from ermlab.segmentation import max_flow
    >>> found = max_flow([3.0, 0.0], [0.0, 2.0], [[0, 1]], [1.0])
    >>> found.value, found.source_side
    (1.0, array([ True, False]))
    """
    source = _capacities(source, "source")
    n_nodes = len(source)
    sink = _capacities(sink, "sink", n_nodes)
    edges = check_edges(edges, n_nodes)
    forward = _capacities(forward, "forward", len(edges))
    backward = np.zeros(len(edges)) if backward is None else _capacities(backward, "backward", len(edges))
    side, ahead, back = flow_graph(edges, n_nodes).flow(source - sink, forward, backward)
    # The smaller capacity has lost less of the flow by rounding.
    flow = np.where(forward < backward, forward - ahead, back - backward)
    value = cut_capacity(source, sink, edges, forward, backward, side)
    return MaxFlow(value, side, np.clip(flow, -backward, forward))


def _capacities(values: ArrayLike, name: str, n: int | None = None) -> Vector:
    """Return ``n`` non-negative capacities, or raise a ValueError."""
    values = finite_potentials(values, name)
    if values.ndim != 1 or (n is not None and len(values) != n):
        raise ValueError(f"{name} has shape {values.shape}: expected ({'n_nodes' if n is None else n},)")
    if (values < 0).any():
        place = int(np.argmax(values < 0))
        raise ValueError(f"{name} is {values[place]} at {place}: expected capacities of at least 0")
    return values
