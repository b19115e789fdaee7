"""A stable, parallel argsort of finite numbers, several times as fast as numpy's.

Three passes of a radix sort order the numbers by a coarse integer key that never decreases with the number;
numbers with the same key are then sorted by value. How well the key separates the numbers affects the time
only.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.parallel import over_ranges
from ermlab.ranking import _sort_numba

PASSES = 3
MAX_DIGIT_BITS = 10  # three digits and an index of 32 bits fit into one word
SPARE_BITS = 4  # about 16 keys per number, so that few share one
PART = 1 << 15  # smallest number of elements per thread
SAMPLE = 1024  # numbers from which the range of the keys is estimated


def argsort(values: NDArray[np.float64], n_threads: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the stable ascending order of less than 2^31 finite numbers, and the sorted numbers."""
    n = values.size
    digit_bits = min(MAX_DIGIT_BITS, math.ceil((math.log2(max(n, 2)) + SPARE_BITS) / PASSES))
    keys = 2.0 ** (PASSES * digit_bits)
    low, width = _key_range(values)
    # Without a usable range all numbers get the same key.
    scale = keys / width if 0 < width < math.inf and math.isfinite(keys / width) else 0.0
    words, spare = np.empty(n, np.uint64), np.empty(n, np.uint64)
    over_ranges(
        lambda start, end: _sort_numba.fill_words(values, low, scale, keys - 1, words, start, end),
        n,
        n_threads,
        PART,
    )
    for digit in range(PASSES):
        _radix_pass(words, spare, digit * digit_bits, digit_bits, n_threads)
        words, spare = spare, words
    order, ordered = np.empty(n, np.int32), spare.view(np.float64)
    over_ranges(
        lambda start, end: _sort_numba.gather(words, values, order, ordered, start, end), n, n_threads, PART
    )
    over_ranges(
        lambda start, end: _sort_numba.sort_runs(words, order, ordered, start, end), n, n_threads, PART
    )
    return order, ordered


def _key_range(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the lower end and the width of a range with most of the numbers, ignoring outliers."""
    sample = np.sort(values[:: max(1, values.size // SAMPLE)])
    tail = sample.size // 256
    low, high = float(sample[tail]), float(sample[sample.size - 1 - tail])
    if low == high:
        low, high = float(values.min()), float(values.max())
    margin = 0.5 * (high - low)
    return low - margin, (high - low) + 2 * margin


def _radix_pass(
    words: NDArray[np.uint64], target: NDArray[np.uint64], offset: int, bits: int, n_threads: int
) -> None:
    """Move the words to ``target``, ordered by one digit of the key."""
    parts = min(n_threads, -(-words.size // PART))
    bounds = [part * words.size // parts for part in range(parts + 1)]
    shift, mask = np.uint64(32 + offset), np.uint64((1 << bits) - 1)
    places = np.empty((parts, 1 << bits), np.int64)

    def count(first: int, last: int) -> None:
        for part in range(first, last):
            _sort_numba.count_digits(words, shift, mask, places[part], bounds[part], bounds[part + 1])

    def scatter(first: int, last: int) -> None:
        for part in range(first, last):
            _sort_numba.scatter(words, shift, mask, places[part], target, bounds[part], bounds[part + 1])

    over_ranges(count, parts, n_threads)
    _sort_numba.counts_to_places(places)
    over_ranges(scatter, parts, n_threads)
