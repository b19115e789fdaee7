"""Depth-first search for the best box of a linear quality, without a queue.

Best-first search visits all sets of boxes with a bound above the best score, and needs a queue because that
score is not known in advance. For sums of weights a good lower bound is: with two opposite sides of a box
fixed, the best choice of the other two takes one pass over the image (Kadane's algorithm), and a few
coordinate ascents by such passes usually end at the best box. Sets with bounds above their score may be
visited in any order; depth first, only one set per split is stored.
"""

import numpy as np
from numba import njit

from ermlab.detection._bounds_numba import upper_bound
from ermlab.detection._queue_numba import inner_box, unpack
from ermlab.detection._search_numba import halves

# Maximum number of stored sets, one per split: four sides of 15 bits.
DEEPEST = 64
# Ascents start from strips of the full, half and quarter height, half a strip apart.
FINENESS = 3


@njit(cache=True, nogil=True)
def search_depth_first(quality, width, height):
    """Return the first of the best boxes, its score, and the number of sets that were split."""
    waiting, bounds = np.empty((DEEPEST, 8), np.int64), np.empty(DEEPEST)
    all_boxes = (0, width - 1, 0, height - 1, 0, width - 1, 0, height - 1)
    waiting[0], bounds[0] = all_boxes, upper_bound(quality, all_boxes)
    best, best_box = reached_score(quality.positive, quality.negative), np.iinfo(np.int64).max
    size, splits = 1, 0
    while size > 0:
        size -= 1
        l1, l2, t1, t2, r1, r2, b1, b2 = waiting[size]
        boxes, bound = (l1, l2, t1, t2, r1, r2, b1, b2), bounds[size]
        inner = inner_box(boxes)
        if bound < best or (bound == best and inner > best_box):
            continue
        if l1 == l2 and t1 == t2 and r1 == r2 and b1 == b2:
            best, best_box = bound, inner
            continue
        splits += 1
        for half in _worse_first(quality, *halves(boxes)):
            if half[0] >= best:
                bounds[size], waiting[size] = half
                size += 1
    return unpack(best_box), best, splits


@njit(cache=True)
def _worse_first(quality, one, other):
    """Return two sets with their bounds, the worse first, as the last one is visited next."""
    bound, other_bound = upper_bound(quality, one), upper_bound(quality, other)
    if bound > other_bound:
        return (other_bound, other), (bound, one)
    return (bound, one), (other_bound, other)


@njit(cache=True)
def reached_score(P, N):
    """Return the best result of several ascents; as sums are exact, it is exactly the score of a box."""
    best, height = -np.inf, P.shape[0] - 1
    for level in range(FINENESS):
        strip = max(height >> level, 1)
        for top in range(0, height - strip + 1, max(strip // 2, 1)):
            best = max(best, _ascent(P, N, top, top + strip - 1))
    return best


@njit(cache=True)
def _ascent(P, N, first, last):
    """Optimize left and right, then top and bottom, and so on; return the score without further gain."""
    reached, transposed = -np.inf, False
    while True:
        first, last, score = _best_sides(P, N, first, last, transposed)
        if score <= reached:
            return reached
        reached, transposed = score, not transposed


@njit(cache=True)
def _best_sides(P, N, first, last, transposed):
    """Return the best two sides across the rows, or the columns, ``first`` to ``last``, and their score."""
    P, N = (P.T, N.T) if transposed else (P, N)
    before, least, begin = 0.0, np.inf, 0
    best, best_begin, best_end = -np.inf, 0, 0
    for x in range(P.shape[1] - 1):
        if before < least:
            least, begin = before, x
        before = (P[last + 1, x + 1] - P[first, x + 1]) + (N[last + 1, x + 1] - N[first, x + 1])
        if before - least > best:
            best, best_begin, best_end = before - least, begin, x
    return best_begin, best_end, best
