"""Numbers of states that each queue of `ermlab.detection.strategy` processes, from one tree traversal.

The splits of a set do not depend on the detections, so that all searches visit parts of one tree. For known
detections, three numbers of a set of boxes determine which searches visit it:

- its round, the first detection whose search processes the set before it ends;
- the round of its parent, in which it is added to the queue;
- the first detection that suppresses it (thesis, eq. 5.14).
"""

import numpy as np
from numba import njit

from ermlab.detection._bounds_numba import area, intersection, upper_bound
from ermlab.detection._depth_first_numba import DEEPEST
from ermlab.detection._queue_numba import inner_box
from ermlab.detection._search_numba import halves

# Overlaps are clearly below a threshold if they are below this fraction of it, whatever the rounding.
CLEARLY = 1.0 - 1e-9
# Bits of an integer, without its sign, that mark detections.
LAST_BIT = 61


@njit(cache=True, nogil=True)
def walk(quality, gammas, found, scores, width, height):
    """Count the sets with each round, round of the parent and first suppressing detection.

    Parameters
    ----------
    gammas : array of shape (n_gammas,)
        Thresholds of the overlap; the tree is the same for all of them.
    found : array of shape (n_gammas, n, 4)
        Boxes of the detections in order.
    scores : array of shape (n_gammas, n)
        Scores of the detections.

    Returns
    -------
    counts : array of shape (n_gammas, n, n, n + 1)
        Index n of the last axis means no detection. Sets that no queue processes are left out.
    """
    n_gammas, n = scores.shape
    counts = np.zeros((n_gammas, n, n, n + 1), np.int64)
    ends, areas = _inner_boxes(found), _areas(found)
    waiting = np.empty((DEEPEST, 8), np.int64)
    # Round and first suppressor of the parent, and bits of the detections that may suppress a part of it.
    rounds = np.empty((DEEPEST, n_gammas, 3), np.int64)
    waiting[0] = (0, width - 1, 0, height - 1, 0, width - 1, 0, height - 1)
    rounds[0, :, 0], rounds[0, :, 1], rounds[0, :, 2] = 0, n, _bit(min(n, LAST_BIT) + 1) - 1
    size, lowest = 1, scores.min()
    while size > 0:
        size -= 1
        l1, l2, t1, t2, r1, r2, b1, b2 = waiting[size]
        boxes = (l1, l2, t1, t2, r1, r2, b1, b2)
        bound, splits = upper_bound(quality, boxes), False
        if bound < lowest:
            continue
        for g in range(n_gammas):
            pushed, limit, near = rounds[size, g, 0], rounds[size, g, 1], rounds[size, g, 2]
            taken = _round(bound, boxes, scores[g], ends[g], pushed)
            rounds[size, g, 0] = n
            if taken == n:
                continue
            suppressor, near = _first_suppressor(boxes, gammas[g], found[g], areas[g], limit, near)
            if suppressor < pushed:
                continue
            counts[g, taken, pushed, suppressor] += 1
            if suppressor >= taken:
                rounds[size, g, 0], rounds[size, g, 1], rounds[size, g, 2] = taken, suppressor, near
                splits = True
        if splits and not _single(boxes):
            waiting[size], waiting[size + 1] = halves(boxes)
            for g in range(n_gammas):
                for k in range(3):
                    rounds[size + 1, g, k] = rounds[size, g, k]
            size += 2
    return counts


@njit(cache=True)
def _inner_boxes(found):
    """Return each detection as the number by which the queue orders it among equal bounds."""
    packed = np.empty(found.shape[:2], np.int64)
    for g in range(found.shape[0]):
        for j in range(found.shape[1]):
            left, top, right, bottom = found[g, j]
            packed[g, j] = inner_box((left, left, top, top, right, right, bottom, bottom))
    return packed


@njit(cache=True)
def _round(bound, boxes, scores, ends, pushed):
    """Return the first detection, from ``pushed`` on, whose search processes the set, or their number.

    A search ends with its box at the top of the queue; the box itself is processed in the next one.
    """
    if bound < scores[-1]:
        return len(scores)
    for j in range(pushed, len(scores)):
        if bound > scores[j]:
            return j
        if bound == scores[j]:
            inner = inner_box(boxes)
            if inner <= ends[j]:
                return j + 1 if inner == ends[j] and _single(boxes) else j
    return len(scores)


@njit(cache=True)
def _first_suppressor(boxes, gamma, found, areas, limit, near):
    """Return the first detection that every box overlaps by gamma, or ``limit``, that of the parent.

    Also return the bits ``near`` of the detections that some box of the set may overlap by gamma: for the
    parts of the set only these are compared. Products with gamma decide unless rounding could matter; the
    quotient is that of `least_overlap`.
    """
    l1, l2, t1, t2, r1, r2, b1, b2 = boxes
    inner, outer, clearly = area(l2, t2, r1, b1), area(l1, t1, r2, b2), gamma * CLEARLY
    if inner < clearly * outer:  # the quotient is an upper bound of the least overlap with any box
        return limit, near
    for k in range(limit):
        bit = _bit(k)
        if not near & bit:
            continue
        other = (found[k, 0], found[k, 1], found[k, 2], found[k, 3])
        within, around = intersection(l2, t2, r1, b1, other), intersection(l1, t1, r2, b2, other)
        union = outer + areas[k] - around
        if within >= clearly * union and within / union >= gamma:
            return k, near
        if around < clearly * (inner + areas[k] - within) and k < LAST_BIT:
            near ^= bit
    return limit, near


@njit(cache=True)
def _bit(k):
    """Return the bit of a detection; the last one stands for all further detections."""
    return np.int64(1) << min(k, LAST_BIT)


@njit(cache=True)
def _areas(found):
    """Return the number of pixels of each detection."""
    areas = np.empty(found.shape[:2], np.int64)
    for g in range(found.shape[0]):
        for j in range(found.shape[1]):
            left, top, right, bottom = found[g, j]
            areas[g, j] = area(left, top, right, bottom)
    return areas


@njit(cache=True)
def _single(boxes):
    l1, l2, t1, t2, r1, r2, b1, b2 = boxes
    return l1 == l2 and t1 == t2 and r1 == r2 and b1 == b2
