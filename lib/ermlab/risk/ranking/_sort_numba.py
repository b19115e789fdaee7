"""A stable, parallel argsort of finite numbers, several times as fast as numpy's.

Three passes of a radix sort order the numbers by a coarse integer key that never decreases with the number; what
shares a key is then sorted by the numbers themselves. Only the time depends on how well the key tells them apart.
"""

import numpy as np
from numba import njit, prange

PASSES = 3
MAX_DIGIT_BITS = 10  # three digits and an index of 32 bits fit into one word
SPARE_BITS = 4  # about 16 keys for each number: few share one
SAMPLE = 1024
INSERTION_RUN = 24
INDEX_MASK = np.uint64(0xFFFFFFFF)
INDEX_BITS = np.uint64(32)


@njit(cache=True)
def _key_range(values):
    """Return an offset and a width that hold most of the numbers, whatever a few outliers do."""
    sample = np.sort(values[:: max(1, values.size // SAMPLE)])
    tail = sample.size // 256
    low, high = sample[tail], sample[sample.size - 1 - tail]
    if low == high:
        low, high = values.min(), values.max()
    margin = 0.5 * (high - low)
    low, width = low - margin, (high - low) + 2 * margin
    return low, width


@njit(cache=True)
def _scale(width, digit_bits):
    """Return keys a unit of the values; 0, one key for all, where the numbers have no usable range."""
    keys = 2.0 ** (PASSES * digit_bits)
    scale = keys / width if width > 0 else 0.0
    return scale if np.isfinite(width) and np.isfinite(scale) else 0.0


@njit(cache=True)
def _fill_words(values, low, scale, last_key, words, start, end):
    """Write the key and the index of each number into one word."""
    for i in range(start, end):
        key = min(max((values[i] - low) * scale, 0.0), last_key) if scale > 0 else 0.0
        words[i] = (np.uint64(key) << INDEX_BITS) | np.uint64(i)


@njit(cache=True)
def _count_digits(words, shift, mask, counts, start, end):
    counts[:] = 0
    for i in range(start, end):
        counts[(words[i] >> shift) & mask] += 1


@njit(cache=True)
def _scatter(words, shift, mask, cursor, target, start, end):
    for i in range(start, end):
        word = words[i]
        digit = (word >> shift) & mask
        target[np.uint64(cursor[digit])] = word
        cursor[digit] += 1


@njit(cache=True)
def _counts_to_places(counts):
    """Turn the counts of each part and digit into the place of its first element."""
    place = 0
    for digit in range(counts.shape[1]):
        for part in range(counts.shape[0]):
            count = counts[part, digit]
            counts[part, digit] = place
            place += count


@njit(cache=True)
def _sort_run(order, values, start, end):
    """Sort a run of one key, in the order of the input so far, by the numbers themselves; stable."""
    if end - start > INSERTION_RUN:
        for k in range(start + 1, end):
            if values[k] < values[k - 1]:
                break
        else:
            return
        permutation = np.argsort(values[start:end], kind="mergesort")
        values[start:end] = values[start:end][permutation]
        order[start:end] = order[start:end][permutation]
        return
    for k in range(start + 1, end):
        value, index = values[k], order[k]
        place = k
        while place > start and values[place - 1] > value:
            values[place], order[place] = values[place - 1], order[place - 1]
            place -= 1
        values[place], order[place] = value, index


@njit(cache=True)
def _sort_runs(words, order, values, start, end):
    """Sort all runs of one key that begin in ``[start, end)``."""
    n = words.size
    k = start
    while 0 < k < end and words[k] >> INDEX_BITS == words[k - 1] >> INDEX_BITS:
        k += 1  # a run that begins before `start` is not ours
    while k < end:
        key = words[k] >> INDEX_BITS
        run = k + 1
        while run < n and words[run] >> INDEX_BITS == key:
            run += 1
        if run - k > 1:
            _sort_run(order, values, k, run)
        k = run


@njit(cache=True, parallel=True)
def argsort(values, threads):
    """Return the stable ascending order of finite ``values`` as int32, and the sorted values."""
    n = values.size
    parts = max(1, min(threads, n // SAMPLE))
    bounds = np.array([part * n // parts for part in range(parts + 1)])
    digit_bits = min(MAX_DIGIT_BITS, max(1, int(np.ceil((np.log2(max(n, 2)) + SPARE_BITS) / PASSES))))
    low, width = _key_range(values)
    scale = _scale(width, digit_bits)
    last_key = 2.0 ** (PASSES * digit_bits) - 1
    mask = np.uint64((1 << digit_bits) - 1)
    words, spare = np.empty(n, np.uint64), np.empty(n, np.uint64)
    counts = np.empty((parts, 1 << digit_bits), np.int64)
    for part in prange(parts):
        _fill_words(values, low, scale, last_key, words, bounds[part], bounds[part + 1])
    for digit in range(PASSES):
        shift = INDEX_BITS + np.uint64(digit * digit_bits)
        for part in prange(parts):
            _count_digits(words, shift, mask, counts[part], bounds[part], bounds[part + 1])
        _counts_to_places(counts)
        for part in prange(parts):
            _scatter(words, shift, mask, counts[part], spare, bounds[part], bounds[part + 1])
        words, spare = spare, words
    order, ordered = np.empty(n, np.int32), spare.view(np.float64)
    for part in prange(parts):
        for k in range(bounds[part], bounds[part + 1]):
            index = words[k] & INDEX_MASK
            order[k] = index
            ordered[k] = values[index]
    for part in prange(parts):
        _sort_runs(words, order, ordered, bounds[part], bounds[part + 1])
    return order, ordered
