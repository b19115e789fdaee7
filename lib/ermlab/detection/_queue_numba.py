"""Priority queue of `ermlab.detection`: a heap of sets of boxes in one flat array of records.

A set of boxes is given by eight integers ``(l1, l2, t1, t2, r1, r2, b1, b2)``: all boxes whose left side is
in ``l1 .. l2``, top in ``t1 .. t2``, right in ``r1 .. r2`` and bottom in ``b1 .. b2``. Sets are kept proper,
``l1 <= r1``, ``l2 <= r2`` and so on, so that each value of each side belongs to a box of the set.

Sets are ordered by decreasing bound, and for equal bounds by their inner box ``(l2, t2, r1, b1)``: larger
left, then larger top, then smaller right, then smaller bottom first. No box of a set precedes its inner box
in this order, so that the first single box to reach the top is the first of the best boxes, independent of
the history of the queue.
"""

import numpy as np
from numba import njit

SIDE_BITS = 15
LARGEST_COORDINATE = (1 << SIDE_BITS) - 1
STATE = np.dtype(
    [
        ("bound", np.float64),
        ("inner", np.int64),  # the inner box, packed into a number by which it is ordered
        ("outer", np.int64),  # the outer box (l1, t1, r2, b2), packed likewise
        ("seen", np.int64),  # the number of detections included in the bound
    ]
)
# Maximum number of states in a queue: 2 GiB. With a loose bound it could grow to all boxes of an image, about
# 10 ** 10 in a photograph.
MOST_STATES = 1 << 26
ARITY = 4  # children of a node, which occupy 128 bytes


@njit(cache=True)
def pack(left, top, right, bottom):
    """Return a box as one number, smaller for boxes that precede others."""
    return (
        ((LARGEST_COORDINATE - left) << (3 * SIDE_BITS))
        | ((LARGEST_COORDINATE - top) << (2 * SIDE_BITS))
        | (right << SIDE_BITS)
        | bottom
    )


@njit(cache=True)
def unpack(packed):
    """Return the box of a packed number."""
    return (
        LARGEST_COORDINATE - (packed >> (3 * SIDE_BITS)),
        LARGEST_COORDINATE - ((packed >> (2 * SIDE_BITS)) & LARGEST_COORDINATE),
        (packed >> SIDE_BITS) & LARGEST_COORDINATE,
        packed & LARGEST_COORDINATE,
    )


@njit(cache=True)
def inner_box(boxes):
    """Return the packed inner box of a set."""
    _, l2, _, t2, r1, _, b1, _ = boxes
    return pack(l2, t2, r1, b1)


@njit(cache=True)
def outer_box(boxes):
    """Return the packed outer box of a set."""
    l1, _, t1, _, _, r2, _, b2 = boxes
    return pack(l1, t1, r2, b2)


@njit(cache=True)
def boxes_between(inner, outer):
    """Return the set of boxes between two packed boxes."""
    l2, t2, r1, b1 = unpack(inner)
    l1, t1, r2, b2 = unpack(outer)
    return l1, l2, t1, t2, r1, r2, b1, b2


@njit(cache=True)
def first(queue):
    """Return bound, inner box, outer box and number of detections of the first state.

    A record would not keep its queue alive when that is reallocated.
    """
    state = queue[0]
    return state.bound, state.inner, state.outer, state.seen


@njit(cache=True)
def push(queue, size, boxes, bound, seen):
    """Add a state to a queue with free space; return the new size."""
    i, inner = size, inner_box(boxes)
    while i > 0:
        parent = queue[(i - 1) // ARITY]
        if bound < parent.bound or (bound == parent.bound and inner >= parent.inner):
            break
        queue[i] = parent
        i = (i - 1) // ARITY
    _write(queue[i], bound, inner, outer_box(boxes), seen)
    return size + 1


@njit(cache=True)
def replace_first(queue, size, boxes, bound, seen):
    """Replace the first state by another one."""
    _place_downwards(queue, size, bound, inner_box(boxes), outer_box(boxes), seen)


@njit(cache=True)
def remove_first(queue, size):
    """Remove the first state; return the new size."""
    last = queue[size - 1]
    _place_downwards(queue, size - 1, last.bound, last.inner, last.outer, last.seen)
    return size - 1


@njit(cache=True)
def with_room(queue, size):
    """Return the queue, reallocated with twice the size if it is full, or raise a ValueError."""
    if size < len(queue):
        return queue
    if len(queue) >= MOST_STATES:
        raise ValueError(
            "the queue of the search is full with 67,108,864 sets of boxes: expected a smaller image, fewer "
            "points, or a tighter bound"
        )
    larger = np.empty(2 * len(queue), STATE)
    larger[:size] = queue
    return larger


@njit(cache=True)
def _place_downwards(queue, size, bound, inner, outer, seen):
    """Write a state to the free place 0, or to that of a descendant if descendants precede it."""
    i = 0
    while ARITY * i + 1 < size:
        best = ARITY * i + 1
        best_bound, best_inner = queue[best].bound, queue[best].inner
        for child in range(best + 1, min(ARITY * (i + 1) + 1, size)):
            state = queue[child]
            if state.bound > best_bound or (state.bound == best_bound and state.inner < best_inner):
                best, best_bound, best_inner = child, state.bound, state.inner
        if bound > best_bound or (bound == best_bound and inner <= best_inner):
            break
        queue[i] = queue[best]
        i = best
    _write(queue[i], bound, inner, outer, seen)


@njit(cache=True)
def _write(state, bound, inner, outer, seen):
    state.bound, state.inner, state.outer, state.seen = bound, inner, outer, seen
