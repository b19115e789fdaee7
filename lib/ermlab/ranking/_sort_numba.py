"""Kernels of `sorting`; each works on a range of the numbers and releases the global lock."""

import numpy as np
from numba import njit

from ermlab._utils.sorting_numba import sort_range

INDEX_MASK = np.uint64(0xFFFFFFFF)
INDEX_BITS = np.uint64(32)


@njit(cache=True, nogil=True)
def fill_words(values, low, scale, last_key, words, start, end):
    """Write the key and the index of each number into one word."""
    for i in range(start, end):
        key = min(max((values[i] - low) * scale, 0.0), last_key) if scale > 0 else 0.0
        words[i] = (np.uint64(key) << INDEX_BITS) | np.uint64(i)


@njit(cache=True, nogil=True)
def count_digits(words, shift, mask, counts, start, end):
    """Count how often each digit occurs."""
    for digit in range(counts.size):
        counts[digit] = 0
    for i in range(start, end):
        counts[(words[i] >> shift) & mask] += 1


@njit(cache=True, nogil=True)
def scatter(words, shift, mask, cursor, target, start, end):
    """Move each word to the next place of its digit, given by ``cursor``."""
    for i in range(start, end):
        word = words[i]
        digit = (word >> shift) & mask
        target[np.uint64(cursor[digit])] = word
        cursor[digit] += 1


@njit(cache=True, nogil=True)
def counts_to_places(counts):
    """Turn the counts of each part and digit into the place of its first element."""
    place = 0
    for digit in range(counts.shape[1]):
        for part in range(counts.shape[0]):
            count = counts[part, digit]
            counts[part, digit] = place
            place += count


@njit(cache=True, nogil=True)
def gather(words, values, order, ordered, start, end):
    """Write the index in each word, and the number with that index."""
    for k in range(start, end):
        index = words[k] & INDEX_MASK
        order[k] = index
        ordered[k] = values[index]


@njit(cache=True, nogil=True)
def sort_runs(words, order, values, start, end):
    """Sort all runs of equal keys that begin in ``[start, end)``."""
    n = words.size
    k = start
    while 0 < k < end and words[k] >> INDEX_BITS == words[k - 1] >> INDEX_BITS:
        k += 1  # a run that begins before `start` belongs to another range
    while k < end:
        key = words[k] >> INDEX_BITS
        run = k + 1
        while run < n and words[run] >> INDEX_BITS == key:
            run += 1
        if run - k > 1:
            sort_range(order, values, k, run)
        k = run
