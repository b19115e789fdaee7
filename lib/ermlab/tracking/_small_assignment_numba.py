"""The best assignments between few cells, by depth-first branch and bound.

Sets of cells are bits of an integer. Each cell has a price; the worth of an event is its score minus the
prices of its cells, and the prices are chosen such that it is at most 0. The score of an assignment is the
sum of all prices plus the worth of its events. The events of a partial assignment thus give an upper bound.
"""

import numpy as np
from numba import njit
from numba.cpython.unsafe.numbers import trailing_zeros

from ermlab._utils.sorting_numba import descending_order

#: Smallest improvement that counts, relative to the largest score.
_PRECISION = 1e-13
_NOTHING, _ONE = np.uint64(0), np.uint64(1)


@njit(cache=True, nogil=True)
def search_all(numbers, starts, n_cells, taken, scores, max_steps, values):
    """Fill ``values[k]`` with the scores of the best assignments of problem ``numbers[k]``, as in `search`.

    The events of problem ``i`` are ``starts[i]:starts[i + 1]``. Problems that need more than ``max_steps``
    steps get NaN.
    """
    for k in range(len(numbers)):
        i = numbers[k]
        here = slice(starts[i], starts[i + 1])
        found = np.empty((values.shape[1], n_cells[i]), dtype=np.int64)
        if not search(taken[here], scores[here], n_cells[i], _NOTHING, max_steps, values[k], found):
            for rank in range(values.shape[1]):
                values[k, rank] = np.nan


@njit(cache=True, nogil=True)
def choose_all(numbers, starts, n_cells, taken, scores, including, max_steps, chosen, solved):
    """Mark in ``chosen`` the events of the best assignment of each problem ``numbers[k]``.

    It has the events of the mask ``including``. ``solved[k]`` is False, and no event is marked, if
    ``max_steps`` steps did not suffice or if two of the included events take the same cell.
    """
    value = np.empty(1)
    for k in range(len(numbers)):
        first, last = starts[numbers[k]], starts[numbers[k] + 1]
        covered, disjoint = _NOTHING, True
        for e in range(first, last):
            if including[e]:
                disjoint &= covered & taken[e] == _NOTHING
                covered |= taken[e]
        solved[k] = False
        if not disjoint:
            continue
        found = np.empty((1, n_cells[numbers[k]]), dtype=np.int64)
        solved[k] = search(
            taken[first:last], scores[first:last], n_cells[numbers[k]], covered, max_steps, value, found
        )
        if solved[k]:
            # A loop here and below: to copy a slice, numba compiles error messages, which takes seconds.
            for e in range(first, last):
                chosen[e] = including[e]
            for e in found[0]:
                if e < 0:
                    break
                chosen[first + e] = True


@njit(cache=True, nogil=True)
def search(taken, scores, n_cells, covered, max_steps, values, found):
    """Find the ``len(values)`` best assignments; return whether ``max_steps`` steps sufficed.

    Parameters
    ----------
    taken : ndarray of uint64
        The cells of each event.
    covered : uint64
        Cells that need no event; events that take one of them are ignored.
    values, found : ndarray
        Filled with the scores, -inf where there are no more assignments, and with the events of each, then
        -1.
    """
    for rank in range(len(values)):
        values[rank] = -np.inf
        for c in range(found.shape[1]):
            found[rank, c] = -1
    starts, events = events_of_cells(taken, np.arange(len(taken)), n_cells)
    prices = _prices(taken, scores, starts, events, n_cells, covered)
    worth, largest = np.empty(len(taken)), 0.0
    for e in range(len(taken)):
        largest = max(largest, abs(scores[e]))
        worth[e] = -np.inf if taken[e] & covered else scores[e] - _sum(prices, taken[e])
    starts, events = events_of_cells(taken, descending_order(worth), n_cells)
    bound = 0.0
    for c in range(n_cells):
        bound += prices[c]
    tolerance = _PRECISION * largest
    return descend(taken, scores, worth, starts, events, bound, covered, tolerance, max_steps, values, found)


@njit(cache=True, nogil=True)
def _prices(taken, scores, starts, events, n_cells, covered):
    """Return prices such that no event is worth more than 0, and no single price could be lower.

    The price of a cell is first the largest share of a score among its events; then the prices are lowered
    one after the other. Afterwards an event of each cell is worth exactly 0.
    """
    prices = np.empty(n_cells)
    for c in range(n_cells):
        prices[c] = -np.inf
    for e in range(len(taken)):
        if not taken[e] & covered:
            share = scores[e] / _size(taken[e])
            cells = taken[e]
            while cells:
                c = trailing_zeros(cells)
                prices[c] = max(prices[c], share)
                cells &= cells - _ONE
    for c in range(n_cells):
        if _has(covered, c):
            prices[c] = 0.0
            continue
        most = -np.inf
        for place in range(starts[c], starts[c + 1]):
            e = events[place]
            if not taken[e] & covered:
                most = max(most, scores[e] - _sum(prices, taken[e]))
        prices[c] += most
    return prices


@njit(cache=True, nogil=True)
def events_of_cells(taken, order, n_cells):
    """Return the events of each cell in the given order: those of ``c`` are ``starts[c]:starts[c + 1]``."""
    starts = np.zeros(n_cells + 1, dtype=np.int64)
    for e in order:
        cells = taken[e]
        while cells:
            starts[trailing_zeros(cells) + 1] += 1
            cells &= cells - _ONE
    for c in range(n_cells):  # np.cumsum takes long to compile
        starts[c + 1] += starts[c]
    events, filled = np.empty(starts[-1], dtype=np.int64), starts[:-1].copy()
    for e in order:
        cells = taken[e]
        while cells:
            c = trailing_zeros(cells)
            events[filled[c]] = e
            filled[c] += 1
            cells &= cells - _ONE
    return starts, events


@njit(cache=True, nogil=True)
def descend(taken, scores, worth, starts, events, bound, covered, tolerance, max_steps, values, found):
    """Branch on the events of one cell after the other, those of largest worth first."""
    n_cells = len(starts) - 1
    bounds, masks = np.empty(n_cells + 1), np.empty(n_cells + 1, dtype=np.uint64)
    chosen, ends, places = np.empty((3, n_cells + 1), dtype=np.int64)
    bounds[0], masks[0], depth, entered = bound, covered, 0, True
    for _ in range(max_steps):
        if entered:
            room = values[-1] + tolerance - bounds[depth]
            c = _narrowest(taken, worth, starts, events, masks[depth], room)
            if c < 0:
                _enter(scores, chosen[:depth], values, found)
                places[depth] = ends[depth] = 0
            else:
                places[depth], ends[depth] = starts[c], starts[c + 1]
        entered = False
        while places[depth] < ends[depth]:
            e = events[places[depth]]
            places[depth] += 1
            reached = bounds[depth] + worth[e]
            if reached <= values[-1] + tolerance:
                break  # later events are worth no more
            if not taken[e] & masks[depth]:
                chosen[depth] = e
                depth += 1
                bounds[depth], masks[depth], entered = reached, masks[depth - 1] | taken[e], True
                break
        if not entered:
            depth -= 1
            if depth < 0:
                return True
    return False


@njit(cache=True, nogil=True)
def _narrowest(taken, worth, starts, events, mask, room):
    """Return the free cell with the fewest feasible events that are worth more than ``room``, else -1."""
    best, fewest = -1, len(taken) + 1
    for c in range(len(starts) - 1):
        if _has(mask, c):
            continue
        count = 0
        for place in range(starts[c], starts[c + 1]):
            e = events[place]
            if worth[e] <= room or count >= fewest:
                break
            count += not taken[e] & mask
        if count < fewest:
            best, fewest = c, count
    return best


@njit(cache=True, nogil=True)
def _enter(scores, chosen, values, found):
    """Insert an assignment at its rank among the best."""
    value = 0.0
    for e in chosen:
        value += scores[e]
    k = len(values)
    while k > 0 and value > values[k - 1]:
        k -= 1
    if k == len(values):
        return
    for later in range(len(values) - 1, k, -1):
        values[later] = values[later - 1]
        for i in range(found.shape[1]):
            found[later, i] = found[later - 1, i]
    values[k] = value
    for i in range(found.shape[1]):
        found[k, i] = chosen[i] if i < len(chosen) else -1


@njit(cache=True, nogil=True)
def _has(cells, c):
    return (cells >> np.uint64(c)) & _ONE != _NOTHING


@njit(cache=True, nogil=True)
def _size(cells):
    size = 0
    while cells:
        size += 1
        cells &= cells - _ONE
    return size


@njit(cache=True, nogil=True)
def _sum(prices, cells):
    total = 0.0
    while cells:
        total += prices[trailing_zeros(cells)]
        cells &= cells - _ONE
    return total
