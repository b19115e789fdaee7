"""What every queue of `ermlab.detection.strategy` takes out, from one walk over the sets of boxes.

The splits of a set do not depend on the detections, so all searches visit parts of one tree. With the
detections known, each set of boxes has three numbers that say who visits it, and when:

- its round, the first detection whose search takes the set before it ends;
- the round of its parent, in which it comes into the queue;
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
    """Return how many sets have each round, round of the parent and first suppressing detection.

    Parameters
    ----------
    gammas
        Thresholds of the overlap: the tree is the same for all of them.
    found, scores
        Boxes ``(gammas, n, 4)`` and scores ``(gammas, n)`` of the detections in order.

    Returns
    -------
    counts
        ``(gammas, n, n, n + 1)``; n stands for no detection. Sets that no queue takes out are left out.
    """
    n_gammas, n = scores.shape
    counts = np.zeros((n_gammas, n, n, n + 1), np.int64)
    ends = _inner_boxes(found)
    waiting = np.empty((DEEPEST, 8), np.int64)
    rounds = np.empty((DEEPEST, n_gammas, 2), np.int64)  # of the parent: its round, its first suppressor
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
    """Return each detection as the queue orders it among sets of equal bound."""
    packed = np.empty(found.shape[:2], np.int64)
    for g in range(found.shape[0]):
        for j in range(found.shape[1]):
            left, top, right, bottom = found[g, j]
            packed[g, j] = inner_box((left, left, top, top, right, right, bottom, bottom))
    return packed


@njit(cache=True)
def _round(bound, boxes, scores, ends, pushed):
    """Return the first detection, from ``pushed`` on, whose search takes the set; their number if none does.

    A search ends with its box at the top of the queue: the box itself is taken in the next one.
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
    """Return the first detection that every box overlaps by gamma, or the parent's ``limit``."""
    l1, l2, t1, t2, r1, r2, b1, b2 = boxes
    if area(l2, t2, r1, b1) / area(l1, t1, r2, b2) < gamma:  # a detection between the two gives no more
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
