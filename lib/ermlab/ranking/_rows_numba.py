"""Kernels that prepare the rows for `_passes_numba` from losses and scores."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def sort_by_group(order, keys, group, starts):
    """Return order and keys sorted by group, stably."""
    cursor = starts[:-1].copy()
    grouped, grouped_keys = np.empty_like(order), np.empty_like(keys)
    for k in range(order.size):
        place = cursor[group[order[k]]]
        cursor[group[order[k]]] += 1
        grouped[place], grouped_keys[place] = order[k], keys[k]
    return grouped, grouped_keys


@njit(cache=True, nogil=True)
def rank_losses(order, losses, starts, thresholds):
    """Rank losses that are sorted within groups; with thresholds there are only two ranks, below and above.

    Return the rank of each sample within its group, the first row of each rank, group by group, and the
    first of these entries of each group.
    """
    n, groups = order.size, starts.size - 1
    rank = np.empty(n, np.int32)
    first = np.empty(n + 1, np.int32)
    group_first = np.empty(groups + 1, np.int64)
    ranks = 0
    for g in range(groups):
        group_first[g] = ranks
        for k in range(starts[g], starts[g + 1]):
            if k == starts[g]:
                new = True
            elif thresholds.size > 0:
                new = losses[k - 1] <= thresholds[g] < losses[k]
            else:
                new = losses[k] > losses[k - 1]
            if new:
                first[ranks] = k
                ranks += 1
            rank[order[k]] = ranks - 1 - group_first[g]
    first[ranks] = n
    group_first[groups] = ranks
    return rank, first[: ranks + 1].copy(), group_first


@njit(cache=True, nogil=True)
def _search(keys, low, high, margin, key, closed):
    """Return the first row in ``[low, high)`` that leaves after an arrival at ``key``."""
    while low < high:
        middle = (low + high) // 2
        if keys[middle] + margin < key or (not closed and keys[middle] + margin == key):
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def fill_rows(order, rank, losses, row_rank, row_losses, low, high):
    """Write rank and loss of each row."""
    for k in range(low, high):
        row_rank[k] = rank[order[k]]
        row_losses[k] = losses[order[k]]


@njit(cache=True, nogil=True)
def count_gone(keys, starts, margin, closed, gone, low, high):
    """Write the number of samples of the group that leave before each row arrives.

    A sample leaves at its key plus ``margin``, before arrivals at the same key unless ``closed``.
    """
    group, last = 0, starts.size - 2  # the group of row `low`
    while group < last:
        middle = (group + last + 1) // 2
        if starts[middle] <= low:
            group = middle
        else:
            last = middle - 1
    start, end = starts[group], starts[group + 1]
    j = _search(keys, start, end, margin, keys[low], closed)
    for k in range(low, high):
        if k == end:
            group += 1
            start, end = starts[group], starts[group + 1]
            j = start
        while j < end and (keys[j] + margin < keys[k] or (not closed and keys[j] + margin == keys[k])):
            j += 1
        gone[k] = j - start


@njit(cache=True, nogil=True)
def move(source, place, target, low, high):
    """Move each row to its place."""
    for k in range(low, high):
        target[place[k]] = source[k]


@njit(cache=True, nogil=True)
def widen(X, extent):
    """Raise the extent of each column to its largest absolute value; NaN counts as the largest."""
    for r in range(X.shape[0]):
        for k in range(X.shape[1]):
            size = abs(X[r, k])
            extent[k] = size if size > extent[k] or size != size else extent[k]
