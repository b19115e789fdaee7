"""Compiled kernels of `algorithms`."""

import numpy as np
from numba import njit


@njit(cache=True)
def split_order(order, t, spare):
    """Move the samples below ``t`` to the front of ``order``, keeping their order (complexity, item i)."""
    low, high = 0, 0
    for k in range(order.size):
        sample = order[k]
        if sample < t:
            order[low] = sample
            low += 1
        else:
            spare[high] = sample
            high += 1
    order[low:] = spare[:high]
    return low


@njit(cache=True)
def bipartite_constraint(losses, scores, positive, negative, alpha):
    """Add the constraint of a bipartite graph to ``alpha`` and return its delta (thesis, Algorithm 1).

    ``positive`` and ``negative`` are sorted by score. Corrected: the number of positives passed is counted by
    ``i`` (lines 12 and 13 have j), and the guard of line 8 stops at the last positive.
    """
    remaining = 0.0
    for v in negative:
        remaining += losses[v]
    i, passed, delta = 0, 0.0, 0.0
    for j in range(negative.size):
        v = negative[j]
        while i < positive.size and scores[positive[i]] < scores[v] + 1:
            u = positive[i]
            alpha[u] += remaining - (negative.size - j) * losses[u]
            passed += losses[u]
            i += 1
        violation = i * losses[v] - passed
        alpha[v] -= violation
        delta += violation
        remaining -= losses[v]
    return delta


@njit(cache=True)
def _split_place(losses, start, end):
    """Return the first row of the upper half: the change of loss nearest to the middle."""
    middle = (start + end) // 2
    for distance in range(end - start):
        for place in (middle - distance, middle + distance):
            if start < place < end and losses[place - 1] < losses[place]:
                return place
    return start


@njit(cache=True)
def process_level(losses, scores, order, nodes, alpha, spare):
    """Process one level of Algorithm 2; return its unfinished nodes, their halves, and the sum of the deltas.

    On entry ``order[start:end]`` holds the samples of the node ``[start, end)`` by score; on exit, those of
    its two halves.
    """
    active = np.empty_like(nodes)
    halves = np.empty((2 * len(nodes), 2), nodes.dtype)
    count, delta = 0, 0.0
    for k in range(len(nodes)):
        start, end = nodes[k, 0], nodes[k, 1]
        place = _split_place(losses, start, end)
        if place == start:
            continue
        split_order(order[start:end], place, spare)
        delta += bipartite_constraint(losses, scores, order[start:place], order[place:end], alpha)
        active[count, 0], active[count, 1] = start, end
        halves[2 * count, 0], halves[2 * count, 1] = start, place
        halves[2 * count + 1, 0], halves[2 * count + 1, 1] = place, end
        count += 1
    return active[:count], halves[: 2 * count], delta
