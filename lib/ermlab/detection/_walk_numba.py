"""Numbers of states that each queue of `ermlab.detection.strategy` processes, from one tree traversal.

The splits of a set do not depend on the detections, so that all searches visit parts of one tree. For known
detections, three numbers of a set of boxes determine which searches visit it:

- its round, the first detection whose search processes the set before it ends;
- the round of its parent, in which it is added to the queue;
- the first detection that suppresses it (thesis, eq. 5.14).
"""

import numpy as np
from numba import njit

from ermlab.detection._bounds_numba import area, least_overlap, upper_bound
from ermlab.detection._depth_first_numba import DEEPEST
from ermlab.detection._queue_numba import inner_box
from ermlab.detection._search_numba import halves


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
    ends = _inner_boxes(found)
    waiting = np.empty((DEEPEST, 8), np.int64)
    rounds = np.empty((DEEPEST, n_gammas, 2), np.int64)  # round and first suppressor of the parent
    waiting[0] = (0, width - 1, 0, height - 1, 0, width - 1, 0, height - 1)
    rounds[0, :, 0], rounds[0, :, 1] = 0, n
    size = 1
    while size > 0:
        size -= 1
        l1, l2, t1, t2, r1, r2, b1, b2 = waiting[size]
        boxes = (l1, l2, t1, t2, r1, r2, b1, b2)
        bound, splits = upper_bound(quality, boxes), False
        for g in range(n_gammas):
            pushed, limit = rounds[size, g]
            taken = _round(bound, boxes, scores[g], ends[g], pushed)
            rounds[size, g, 0] = n
            if taken == n:
                continue
            suppressor = _first_suppressor(boxes, gammas[g], found[g], limit)
            if suppressor < pushed:
                continue
            counts[g, taken, pushed, suppressor] += 1
            if suppressor >= taken:
                rounds[size, g, 0], rounds[size, g, 1], splits = taken, suppressor, True
        if splits and not _single(boxes):
            waiting[size], waiting[size + 1] = halves(boxes)
            rounds[size + 1] = rounds[size]
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
def _first_suppressor(boxes, gamma, found, limit):
    """Return the first detection that every box overlaps by gamma, or ``limit``, that of the parent."""
    l1, l2, t1, t2, r1, r2, b1, b2 = boxes
    if area(l2, t2, r1, b1) / area(l1, t1, r2, b2) < gamma:  # an upper bound of all overlaps
        return limit
    for k in range(limit):
        other = (found[k, 0], found[k, 1], found[k, 2], found[k, 3])
        if least_overlap(boxes, other) >= gamma:
            return k
    return limit


@njit(cache=True)
def _single(boxes):
    l1, l2, t1, t2, r1, r2, b1, b2 = boxes
    return l1 == l2 and t1 == t2 and r1 == r2 and b1 == b2
