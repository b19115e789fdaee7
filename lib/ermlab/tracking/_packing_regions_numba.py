"""Where a choice of disjoint sets could be better, and the search there (kernels of `packing.py`).

Prices cover all sets: no set gains more than its cells cost. The value of a choice is the sum of all prices
minus what it loses: the excess of its sets (price minus gain), and the prices of the cells that it leaves. A
better choice differs from the given one in connected components, and in each of them its sets lose less than
the given choice does.
"""

import numpy as np
from numba import njit

from ermlab._utils.sorting_numba import descending_order
from ermlab.tracking._packing_numba import surplus
from ermlab.tracking._small_assignment_numba import descend, events_of_cells

#: Number of cells that fit into the bits of an integer.
MAX_CELLS = 64
_NOTHING, _ONE = np.uint64(0), np.uint64(1)


@njit(cache=True, nogil=True)
def regions(cells, first_set, sets_of, gain, chosen, price, tiny):
    """Return the region of each set, -1 if no better choice adds or removes it, and the number of regions.

    Around each place where the given choice loses something, a ball contains the sets that can be reached by
    new sets whose excess is at most the loss. Balls that touch are united to one ball, whose radius is the
    sum of both, until all are disjoint. A connected component with the losses of several balls would have to
    cross each of them from the inside to its surface, and so lose at least as much: each component is within
    one ball. The sets of a ball make up a region; different regions have no cell in common.

    Losses of at most ``tiny`` are ignored. What is left of the radius at each cell is found by label
    correction with a first-in, first-out queue, so that there are at most ``n_cells`` passes over all sets
    for each union; last in, first out may take exponential time.
    """
    n_cells = len(price)
    excess = np.empty(len(cells))
    left = np.full(n_cells, -1.0)  # of the radius, at each cell within a ball
    ball = np.full(n_cells, -1, dtype=np.int64)
    center, radius = np.empty(n_cells, dtype=np.int64), np.empty(n_cells)
    is_open = price > tiny
    n = 0
    for s in range(len(cells)):
        excess[s] = max(-surplus(cells, s, gain, price), 0.0)
        if not chosen[s]:
            continue
        is_open[cells[s, 0]] = is_open[cells[s, 1]] = False
        if cells[s, 2] >= 0:
            is_open[cells[s, 2]] = False
        if excess[s] > tiny:
            center[n], radius[n] = cells[s, 0], excess[s]
            n += 1
        excess[s] = 0.0  # to remove a set costs nothing
    for c in range(n_cells):
        if is_open[c]:
            center[n], radius[n] = c, price[c]
            n += 1
    # Balls are united as in union-find; the centers of a ball are a circular list.
    parent, following = np.arange(n), np.arange(n)
    # A ring buffer: no cell is in the queue twice, so there is room for all.
    queue, first, n_waiting = np.empty(n_cells, dtype=np.int64), 0, n
    waiting = np.zeros(n_cells, dtype=np.bool_)
    for b in range(n):
        c = center[b]
        left[c], ball[c], queue[b], waiting[c] = radius[b], b, c, True
    while n_waiting:
        c = queue[first]
        first = first + 1 if first + 1 < n_cells else 0
        n_waiting -= 1
        waiting[c] = False
        b = _root(parent, ball[c])
        for k in range(first_set[c], first_set[c + 1]):
            s = sets_of[k]
            for m in range(3):
                d = cells[s, m]
                if d < 0 or d == c:
                    continue
                if ball[d] >= 0 and left[c] + left[d] >= excess[s]:
                    other = _root(parent, ball[d])
                    if other != b:
                        parent[other] = b
                        radius[b] += radius[other]
                        following[b], following[other] = following[other], following[b]
                        member = b
                        while True:
                            left[center[member]] = radius[b]
                            n_waiting = _enter(queue, first, n_waiting, waiting, center[member])
                            member = following[member]
                            if member == b:
                                break
                if left[c] - excess[s] > left[d] and left[c] >= excess[s]:
                    left[d], ball[d] = left[c] - excess[s], b
                    n_waiting = _enter(queue, first, n_waiting, waiting, d)
    return _number(cells, excess, left, ball, parent)


@njit(cache=True, nogil=True)
def _root(parent, b):
    while parent[b] != b:
        parent[b] = parent[parent[b]]
        b = parent[b]
    return b


@njit(cache=True, nogil=True)
def _enter(queue, first, n_waiting, waiting, c):
    """Add a cell to the queue unless it is there; return the length of the queue."""
    if waiting[c]:
        return n_waiting
    waiting[c] = True
    last = first + n_waiting
    queue[last if last < len(queue) else last - len(queue)] = c
    return n_waiting + 1


@njit(cache=True, nogil=True)
def _number(cells, excess, left, ball, parent):
    """Number the regions in the order of their first sets."""
    region, n = np.full(len(cells), -1, dtype=np.int64), 0
    number = np.full(len(parent), -1, dtype=np.int64)
    for s in range(len(cells)):
        for m in range(3):
            c = cells[s, m]
            if c >= 0 and ball[c] >= 0 and left[c] >= excess[s]:
                b = _root(parent, ball[c])
                if number[b] < 0:
                    number[b] = n
                    n += 1
                region[s] = number[b]
                break
    return region, n


@njit(cache=True, nogil=True)
def search_region(cells, gain, price, sets, local, tiny, max_steps, chosen):
    """Improve ``chosen`` among the sets of a region; return whether it was proved to be the best.

    The search goes depth first and is bounded by the prices. It is left undone if there are too many cells or
    if it takes more than ``max_steps`` steps.

    All elements of ``local`` are -1 before, and for the cells of these sets afterwards, too.
    """
    names, n_cells = np.empty(3 * len(sets), dtype=np.int64), np.int64(0)  # typed: not compiled twice
    for s in sets:
        for m in range(3):
            c = cells[s, m]
            if c >= 0 and local[c] < 0:
                local[c] = n_cells
                names[n_cells] = c
                n_cells += 1
    solved = n_cells <= MAX_CELLS
    if solved:
        n_events = len(sets) + n_cells  # the sets, then to leave a cell
        taken, scores = np.zeros(n_events, dtype=np.uint64), np.zeros(n_events)
        worth, value = np.empty(n_events), 0.0
        for e in range(len(sets)):
            s = sets[e]
            scores[e], worth[e] = gain[s], surplus(cells, s, gain, price)
            if chosen[s]:
                value += gain[s]
            for m in range(3):
                if cells[s, m] >= 0:
                    taken[e] |= _ONE << np.uint64(local[cells[s, m]])
        bound = 0.0
        for c in range(n_cells):
            e = len(sets) + c
            taken[e], worth[e] = _ONE << np.uint64(c), -price[names[c]]
            bound += price[names[c]]
        starts, events = events_of_cells(taken, descending_order(worth), n_cells)
        values, found = np.full(1, value), np.full((1, n_cells), -1, dtype=np.int64)
        solved = descend(
            taken, scores, worth, starts, events, bound, _NOTHING, tiny, max_steps, values, found
        )
        if solved and found[0, 0] >= 0:
            for s in sets:
                chosen[s] = False
            for e in found[0]:
                if 0 <= e < len(sets):
                    chosen[sets[e]] = True
    for k in range(n_cells):
        local[names[k]] = -1
    return solved
