"""Maximum flows and minimum cuts."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.segmentation._max_flow_numba import arrange_arcs, cut_capacity, push_flow
from ermlab.segmentation._trees_numba import forest_order
from ermlab.segmentation.potentials import check_edges, finite_potentials

Vector = NDArray[np.float64]
# Nodes and arcs are numbered by 32 bits.
MOST_ARCS = 2**31 - 1


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


class FlowGraph:
    """Edges in the order in which flow is pushed; it can be used for many capacities.

    Parameters
    ----------
    edges : ndarray of shape (n_edges, 2)
        Checked edges.
    n_nodes : int
        Number of nodes.

    Attributes
    ----------
    arcs : tuple of ndarray
        The first arc of each node, the head of each arc, and the arc in the opposite direction.
    place, opposite : ndarray of shape (n_edges,)
        The arcs from ``i`` to ``j`` and from ``j`` to ``i``.
    """

    def __init__(self, edges: NDArray[np.int64], n_nodes: int):
        if max(2 * len(edges), n_nodes) > MOST_ARCS:
            raise ValueError(
                f"{n_nodes} nodes, {len(edges)} edges: expected at most {MOST_ARCS} nodes and "
                f"{MOST_ARCS // 2} edges"
            )
        self.edges, self.n_nodes = edges, n_nodes
        first, head, reverse, self.place = arrange_arcs(edges, n_nodes)
        self.arcs = first, head, reverse
        self.opposite = reverse[self.place]

    @cached_property
    def edge(self) -> NDArray[np.int64]:
        """The edge of each arc."""
        edge = np.empty(2 * len(self.edges), dtype=np.int64)
        edge[self.place] = edge[self.opposite] = np.arange(len(self.edges))
        return edge

    @cached_property
    def forest(self) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """Order of the nodes and edge to the parent as of `check_forest`, None if there is a cycle."""
        if len(self.edges) >= max(self.n_nodes, 1):
            return None
        order, link = np.empty(self.n_nodes, dtype=np.int64), np.empty(self.n_nodes, dtype=np.int64)
        return (order, link) if forest_order(self.n_nodes, self.edges, order, link) < 0 else None

    def push(
        self, terminal: Vector, forward: Vector, backward: Vector
    ) -> tuple[NDArray[np.bool_], Vector, Vector]:
        """Return the side of the source, and the residual capacities of each edge in both directions.

        ``terminal`` is the capacity from the source of each node, or minus that to the sink; it is changed.
        """
        residual = np.empty(2 * len(self.edges))
        residual[self.place] = forward
        residual[self.opposite] = backward
        side = push_flow(*self.arcs, residual, terminal)
        return side, residual[self.place], residual[self.opposite]


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
    side, ahead, back = FlowGraph(edges, n_nodes).push(source - sink, forward, backward)
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
