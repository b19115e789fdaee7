"""From losses and scores to the rows that `_oracle_numba` works on."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def sort_by_group(order, keys, group, starts):
    """Gather the samples of each group, in the same order; return order and keys."""
    cursor = starts[:-1].copy()
    grouped, grouped_keys = np.empty_like(order), np.empty_like(keys)
    for k in range(order.size):
        place = cursor[group[order[k]]]
        cursor[group[order[k]]] += 1
        grouped[place], grouped_keys[place] = order[k], keys[k]
    return grouped, grouped_keys


@njit(cache=True, nogil=True)
def rank_losses(order, losses, starts, thresholds):
    """Rank the losses, sorted within groups; with thresholds there are but the two ranks below and above.

    Returns the rank of each sample within its group, the row at which each rank begins, group after group,
    and at which of these entries each group begins.
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
    """Return the first row in ``[low, high)`` that leaves only after an arrival at ``key``."""
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
    """Write how many samples of its group leave before each row arrives.

    A sample leaves at its key plus ``margin``, before who arrives at the same moment unless ``closed``.
    """
    group = np.searchsorted(starts, low, side="right") - 1
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
    """Put each row where it belongs."""
    for k in range(low, high):
        target[place[k]] = source[k]


@njit(cache=True, nogil=True)
def widen(X, extent):
    """Raise the extent of each column to its largest absolute value; NaN is the largest of all."""
    for r in range(X.shape[0]):
        for k in range(X.shape[1]):
            size = abs(X[r, k])
            extent[k] = size if size > extent[k] or size != size else extent[k]
