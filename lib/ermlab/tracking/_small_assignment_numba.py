"""The best assignments between few cells, by depth-first search with bounds.

Sets of cells are the bits of a number. Each cell has a price; what an event is worth is its score minus the
prices of its cells, at most 0 by the choice of the prices. So an assignment scores the sum of all prices plus
what its events are worth, and a part of one no more than that of the events it has.
"""

import numpy as np
from numba import njit

#: What counts as better, as a share of the largest score.
_PRECISION = 1e-13
_NOTHING, _ONE = np.uint64(0), np.uint64(1)


@njit(cache=True, nogil=True)
def search_all(numbers, starts, n_cells, taken, scores, limit, values):
    """Fill ``values[k]`` with the scores of the best assignments of problem ``numbers[k]``, as in `search`.

    The events of problem i are those from ``starts[i]`` to ``starts[i + 1] - 1``. A problem that takes more
    than ``limit`` steps gets NaN.
    """
    for k in range(len(numbers)):
        i = numbers[k]
        here = slice(starts[i], starts[i + 1])
        found = np.empty((values.shape[1], n_cells[i]), dtype=np.int64)
        if not search(taken[here], scores[here], n_cells[i], _NOTHING, limit, values[k], found):
            values[k] = np.nan


@njit(cache=True, nogil=True)
def choose_all(numbers, starts, n_cells, taken, scores, including, limit, chosen, solved):
    """Mark in ``chosen`` the events of the best assignment of each problem ``numbers[k]``.

    Those marked in ``including`` are events of it. ``solved[k]`` tells whether ``limit`` steps sufficed, and
    no two of the events to be included take the same cell; if not, no event is marked.
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
            taken[first:last], scores[first:last], n_cells[numbers[k]], covered, limit, value, found
        )
        if solved[k]:
            # A loop here and below: with the copy of a slice numba compiles its error messages, for seconds.
            for e in range(first, last):
                chosen[e] = including[e]
            for e in found[0]:
                if e < 0:
                    break
                chosen[first + e] = True


@njit(cache=True, nogil=True)
def search(taken, scores, n_cells, covered, limit, values, found):
    """Find the best assignments, as many as ``values`` has places; return whether ``limit`` steps sufficed.

    Parameters
    ----------
    taken
        The cells of each event.
    covered
        Cells that need no event and whose events are left out.
    values, found
        Filled with the scores, -inf where there is no assignment left, and the events of each, then -1.
    """
    values[:] = -np.inf
    found[:] = -1
    prices = _prices(taken, scores, n_cells, covered)
    worth = np.empty(len(taken))
    for e in range(len(taken)):
        worth[e] = -np.inf if taken[e] & covered else scores[e] - _sum(prices, taken[e])
    starts, events = _events_of_cells(taken, np.argsort(-worth, kind="mergesort"), n_cells)
    tolerance = _PRECISION * np.abs(scores).max() if len(scores) else 0.0
    return _descend(
        taken, scores, worth, starts, events, prices.sum(), covered, tolerance, limit, values, found
    )


@njit(cache=True, nogil=True)
def _prices(taken, scores, n_cells, covered):
    """Return prices with which no event is worth more than 0, and none of which could be lower alone.

    A cell's price is first the best share that an event would pay for it; then each in turn is lowered. When
    its turn has passed, an event of the cell is worth 0 and stays so.
    """
    prices = np.full(n_cells, -np.inf)
    for e in range(len(taken)):
        if not taken[e] & covered:
            share = scores[e] / _size(taken[e])
            for c in range(n_cells):
                if _has(taken[e], c):
                    prices[c] = max(prices[c], share)
    for c in range(n_cells):
        if _has(covered, c):
            prices[c] = 0.0
            continue
        most = -np.inf
        for e in range(len(taken)):
            if _has(taken[e], c) and not taken[e] & covered:
                most = max(most, scores[e] - _sum(prices, taken[e]))
        prices[c] += most
    return prices


@njit(cache=True, nogil=True)
def _events_of_cells(taken, order, n_cells):
    """Return the events of each cell in the given order: those of c from ``starts[c]`` on."""
    starts = np.zeros(n_cells + 1, dtype=np.int64)
    for e in order:
        for c in range(n_cells):
            starts[c + 1] += _has(taken[e], c)
    starts = np.cumsum(starts)
    events, filled = np.empty(starts[-1], dtype=np.int64), starts[:-1].copy()
    for e in order:
        for c in range(n_cells):
            if _has(taken[e], c):
                events[filled[c]] = e
                filled[c] += 1
    return starts, events


@njit(cache=True, nogil=True)
def _descend(taken, scores, worth, starts, events, bound, covered, tolerance, limit, values, found):
    """Give one cell after the other its events in turn, those of most worth first."""
    n_cells = len(starts) - 1
    bounds, masks = np.empty(n_cells + 1), np.empty(n_cells + 1, dtype=np.uint64)
    chosen, ends, places = np.empty((3, n_cells + 1), dtype=np.int64)
    bounds[0], masks[0], depth, entered = bound, covered, 0, True
    for _ in range(limit):
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
                break  # the events that follow are worth no more
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
    """Return the free cell with the fewest events that fit and are worth more than ``room``, else -1."""
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
    """Put an assignment at its place among the best."""
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
        size += 1 if cells & _ONE else 0
        cells >>= _ONE
    return size


@njit(cache=True, nogil=True)
def _sum(prices, cells):
    total, c = 0.0, 0
    while cells:
        if cells & _ONE:
            total += prices[c]
        cells >>= _ONE
        c += 1
    return total
