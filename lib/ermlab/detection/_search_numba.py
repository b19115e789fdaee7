"""Best-first branch and bound over boxes, the search of `ermlab.detection`."""

import numpy as np
from numba import njit, types
from numba.extending import overload

from ermlab.detection._bounds_numba import least_overlap, upper_bound
from ermlab.detection._queue_numba import (
    STATE,
    boxes_between,
    first,
    push,
    remove_first,
    replace_first,
    unpack,
    with_room,
)

FIRST_ROOM = 1024


def penalty(g, overlap):
    """Return ``g(overlap)`` in compiled code; a number g is the threshold of eq. 5.14.

    A function must not return NaN or a negative number, with which no search would end.
    """
    raise TypeError("penalty is for compiled code")


@overload(penalty)
def _penalty(g, overlap):
    if isinstance(g, types.Float):
        return lambda g, overlap: np.inf if overlap >= g else 0.0

    def checked(g, overlap):
        value = g(overlap)
        if not value >= 0:
            raise ValueError("penalty of an overlap is negative or NaN: expected it to be non-negative")
        return value

    return checked


@njit(cache=True)
def suppressed(bound, boxes, g, found, seen):
    """Subtract the smallest penalties by detections from number ``seen`` on (thesis, eq. 5.12)."""
    for k in range(seen, len(found)):
        other = (found[k, 0], found[k, 1], found[k, 2], found[k, 3])
        bound -= penalty(g, least_overlap(boxes, other))
    return bound


@njit(cache=True)
def halves(boxes):
    """Split a set of boxes along its longest interval, in case of ties the first of l, t, r, b."""
    l1, l2, t1, t2, r1, r2, b1, b2 = boxes
    longest = max(l2 - l1, t2 - t1, r2 - r1, b2 - b1)
    if l2 - l1 == longest:
        m = (l1 + l2) >> 1
        return (l1, m, t1, t2, r1, r2, b1, b2), (m + 1, l2, t1, t2, max(r1, m + 1), r2, b1, b2)
    if t2 - t1 == longest:
        m = (t1 + t2) >> 1
        return (l1, l2, t1, m, r1, r2, b1, b2), (l1, l2, m + 1, t2, r1, r2, max(b1, m + 1), b2)
    if r2 - r1 == longest:
        m = (r1 + r2) >> 1
        return (l1, min(l2, m), t1, t2, r1, m, b1, b2), (l1, l2, t1, t2, m + 1, r2, b1, b2)
    m = (b1 + b2) >> 1
    return (l1, l2, t1, min(t2, m), r1, r2, b1, m), (l1, l2, t1, t2, r1, r2, m + 1, b2)


@njit(cache=True, nogil=True)
def start(quality, g, found, width, height):
    """Return a queue with the set of all boxes, and its size, 0 if all are suppressed."""
    boxes = (0, width - 1, 0, height - 1, 0, width - 1, 0, height - 1)
    queue = np.empty(FIRST_ROOM, STATE)
    bound = suppressed(upper_bound(quality, boxes), boxes, g, found, 0)
    size = push(queue, 0, boxes, bound, len(found)) if bound > -np.inf else 0
    return queue, size


@njit(cache=True, nogil=True)
def advance(quality, g, found, queue, size):
    """Process states of the queue until a single box is first.

    Return the box, its score, the number of states processed before it, the queue and its size. The box stays
    in the queue. If all boxes are suppressed, the score is ``-inf``.
    """
    splits = 0
    while size > 0:
        bound, inner, outer, seen = first(queue)
        boxes = boxes_between(inner, outer)
        renewed = suppressed(bound, boxes, g, found, seen)
        if renewed == bound and inner == outer:
            return unpack(inner), bound, splits, queue, size
        splits += 1
        if renewed == -np.inf:
            size = remove_first(queue, size)
        elif renewed < bound:
            replace_first(queue, size, boxes, renewed, len(found))
        else:
            queue = with_room(queue, size)
            size = _split(quality, g, found, queue, size, boxes)
    return (0, 0, 0, 0), -np.inf, splits, queue, size


@njit(cache=True)
def _split(quality, g, found, queue, size, boxes):
    """Replace the first state by its halves; return the new size."""
    one, other = halves(boxes)
    bound = suppressed(upper_bound(quality, one), one, g, found, 0)
    other_bound = suppressed(upper_bound(quality, other), other, g, found, 0)
    if other_bound > bound:  # the better half stays near the top, where a place is free
        one, bound, other, other_bound = other, other_bound, one, bound
    if bound == -np.inf:
        return remove_first(queue, size)
    replace_first(queue, size, one, bound, len(found))
    return push(queue, size, other, other_bound, len(found)) if other_bound > -np.inf else size
