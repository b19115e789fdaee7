"""The arcs of a graph for compiled functions: looked up in arrays, or computed for the pixels of a grid.

A graph has three arguments: the first arc of each node, the head of each arc, and the arc in the opposite
direction. For a grid in which each node has 4 or 8 arcs, the first is a tuple of that length, and the others
are the differences between the numbers of a node and of its neighbors, in an order such that those of
opposite directions are at the same distance from both ends.
"""

from numba import types
from numba.extending import overload


def first_arc(starts, v):
    """Return the first arc of a node."""
    raise NotImplementedError("compiled functions only")


def arc_head(starts, heads, a):
    """Return the node at the end of an arc."""
    raise NotImplementedError("compiled functions only")


def arc_reverse(starts, opposites, a):
    """Return the arc in the opposite direction."""
    raise NotImplementedError("compiled functions only")


@overload(first_arc, inline="always")
def _first_arc(starts, v):
    if isinstance(starts, types.Array):
        return lambda starts, v: starts[v]
    if len(starts) == 4:
        return lambda starts, v: v << 2
    return lambda starts, v: v << 3


@overload(arc_head, inline="always")
def _arc_head(starts, heads, a):
    if isinstance(starts, types.Array):
        return lambda starts, heads, a: heads[a]
    if len(starts) == 4:
        return lambda starts, heads, a: (a >> 2) + heads[a & 3]
    return lambda starts, heads, a: (a >> 3) + heads[a & 7]


@overload(arc_reverse, inline="always")
def _arc_reverse(starts, opposites, a):
    if isinstance(starts, types.Array):
        return lambda starts, opposites, a: opposites[a]
    if len(starts) == 4:
        return lambda starts, opposites, a: (((a >> 2) + opposites[a & 3]) << 2) + 3 - (a & 3)
    return lambda starts, opposites, a: (((a >> 3) + opposites[a & 7]) << 3) + 7 - (a & 7)
