"""Graphs through which flow is pushed, of any form or regular grids."""

from __future__ import annotations

import math
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from ermlab.segmentation._max_flow_numba import arrange_arcs, push_flow
from ermlab.segmentation._trees_numba import forest_order

Vector = NDArray[np.float64]
Edges = NDArray[np.int64]
Side = NDArray[np.bool_]
# Nodes and arcs are numbered by 32 bits.
MOST_ARCS = 2**31 - 1


class FlowGraph:
    """Edges in the order in which flow is pushed; it can be used for many capacities.

    Parameters
    ----------
    edges : ndarray of shape (n_edges, 2)
        Checked edges.
    n_nodes : int
        Number of nodes.
    """

    def __init__(self, edges: Edges, n_nodes: int):
        if max(2 * len(edges), n_nodes) > MOST_ARCS:
            raise ValueError(
                f"{n_nodes} nodes, {len(edges)} edges: expected at most {MOST_ARCS} nodes and "
                f"{MOST_ARCS // 2} edges"
            )
        self.edges, self.n_nodes = edges, n_nodes

    @cached_property
    def _arranged(self) -> tuple[NDArray[np.int32], ...]:
        return arrange_arcs(self.edges, self.n_nodes)

    @property
    def arcs(self) -> tuple[NDArray[np.int32], ...]:
        """The first arc of each node, the head of each arc, and the arc in the opposite direction."""
        return self._arranged[:3]

    @property
    def place(self) -> NDArray[np.int32]:
        """The arc from ``i`` to ``j`` of each edge."""
        return self._arranged[3]

    @cached_property
    def opposite(self) -> NDArray[np.int32]:
        """The arc from ``j`` to ``i`` of each edge."""
        return self.arcs[2][self.place]

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

    def cut(self, terminal: Vector, forward: Vector, backward: Vector) -> Side:
        """Return whether each node is on the side of the source of a minimum cut.

        ``terminal`` is the capacity from the source of each node, or minus that to the sink.
        """
        return self._push(terminal, forward, backward)[0]

    def flow(self, terminal: Vector, forward: Vector, backward: Vector) -> tuple[Side, Vector, Vector]:
        """Return the side of the source, and the residual capacities of each edge in both directions."""
        side, residual = self._push(terminal, forward, backward)
        return side, residual[self.place], residual[self.opposite]

    def _push(self, terminal: Vector, forward: Vector, backward: Vector) -> tuple[Side, Vector]:
        residual = np.empty(2 * len(self.edges))
        residual[self.place] = forward
        residual[self.opposite] = backward
        return push_flow(*self.arcs, residual, terminal.copy()), residual


class GridGraph(FlowGraph):
    """The graph of `grid_edges`, whose arcs are computed and not stored.

    Parameters
    ----------
    height, width : int
        Size of the image.
    connectivity : {4, 8}
        Number of neighbors of a pixel.
    """

    def __init__(self, height: int, width: int, connectivity: int):
        super().__init__(neighboring_pixels(height, width, connectivity), height * width)
        # With a border of pixels without capacities, all pixels have the same number of neighbors.
        if connectivity * (height + 2) * (width + 2) > MOST_ARCS:
            raise ValueError(f"image of {height} x {width} pixels: expected at most {MOST_ARCS} arcs")
        self.shape, self._starts = (height, width), (0,) * connectivity
        across = width + 2
        steps = [1, across] if connectivity == 4 else [1, across, across + 1, across - 1]
        self._steps = np.array(steps + [-step for step in reversed(steps)])

    def flow(self, terminal: Vector, forward: Vector, backward: Vector) -> tuple[Side, Vector, Vector]:
        """Return the side of the source, and the residual capacities of each edge in both directions."""
        side, residual = self._push(terminal, forward, backward)
        ahead, back = (
            np.concatenate([residual[group].ravel() for group in groups]) for groups in self._groups
        )
        return side, ahead, back

    def _push(self, terminal: Vector, forward: Vector, backward: Vector) -> tuple[Side, Vector]:
        height, width = self.shape
        inside = np.zeros((height + 2, width + 2))
        inside[1:-1, 1:-1] = terminal.reshape(self.shape)
        residual = np.zeros((height + 2, width + 2, len(self._steps)))
        for capacities, groups in zip((forward, backward), self._groups, strict=True):
            first = 0
            for group in groups:
                part = residual[group]
                part[...] = capacities[first : first + part.size].reshape(part.shape)
                first += part.size
        side = push_flow(self._starts, self._steps, self._steps, residual.ravel(), inside.ravel())
        return np.ascontiguousarray(side.reshape(inside.shape)[1:-1, 1:-1]).ravel(), residual

    @cached_property
    def _groups(self) -> tuple[list[tuple], list[tuple]]:
        """Where the residual capacities of each group of `grid_edges` are, forward and backward."""
        height, width = self.shape
        ahead, back = [], []
        for d, (down, right) in enumerate(((0, 1), (1, 0), (1, 1), (1, -1))[: len(self._steps) // 2]):
            rows = slice(1, height + 1 - down)
            columns = slice(1 + max(-right, 0), width + 1 - max(right, 0))
            ahead.append((rows, columns, d))
            rows, columns = (
                slice(part.start + step, part.stop + step) for part, step in ((rows, down), (columns, right))
            )
            back.append((rows, columns, len(self._steps) - 1 - d))
        return ahead, back


def flow_graph(edges: Edges, n_nodes: int) -> FlowGraph:
    """Return the graph of checked edges, a `GridGraph` if they are those of `grid_edges`."""
    n_edges = len(edges)
    for connectivity, sides in ((4, 2 * n_nodes - n_edges), (8, (4 * n_nodes + 2 - n_edges) / 3)):
        # A grid of these numbers of nodes and edges has this sum of height and width.
        root = sides * sides - 4 * n_nodes
        if n_edges == 0 or sides != int(sides) or root < 0 or math.isqrt(int(root)) ** 2 != root:
            continue
        larger = (int(sides) + math.isqrt(int(root))) // 2
        for width in {larger, int(sides) - larger}:
            height = n_nodes // max(width, 1)
            if width < 1 or height * width != n_nodes:
                continue
            if np.array_equal(edges, grid_graph(height, width, connectivity).edges):
                return grid_graph(height, width, connectivity)
    return FlowGraph(edges, n_nodes)


@lru_cache(maxsize=8)
def grid_graph(height: int, width: int, connectivity: int) -> GridGraph:
    """Return the graph of all images of a size."""
    return GridGraph(height, width, connectivity)


def neighboring_pixels(height: int, width: int, connectivity: int) -> Edges:
    """Return the edges of `grid_edges`."""
    nodes = np.arange(height * width).reshape(height, width)
    pairs = [(nodes[:, :-1], nodes[:, 1:]), (nodes[:-1], nodes[1:])]
    if connectivity == 8:
        pairs += [(nodes[:-1, :-1], nodes[1:, 1:]), (nodes[:-1, 1:], nodes[1:, :-1])]
    return np.concatenate([np.column_stack([i.ravel(), j.ravel()]) for i, j in pairs])
