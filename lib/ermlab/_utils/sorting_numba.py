"""A stable sort for compiled functions, where `np.sort` and `np.argsort` take seconds to compile."""

import numpy as np
from numba import njit

INSERTION_RUN = 24


@njit(cache=True, nogil=True)
def _merge(order, values, start, middle, end, spare_order, spare_values):
    """Merge two sorted ranges side by side; stable."""
    for k in range(middle - start):
        spare_order[k], spare_values[k] = order[start + k], values[start + k]
    left, right, place = 0, middle, start
    while left < middle - start:
        if right < end and values[right] < spare_values[left]:
            order[place], values[place] = order[right], values[right]
            right += 1
        else:
            order[place], values[place] = spare_order[left], spare_values[left]
            left += 1
        place += 1


@njit(cache=True, nogil=True)
def sort_range(order, values, start, end):
    """Sort ``values[start:end]`` in place, and ``order`` along with them: parts by insertion, then merged."""
    for part in range(start, end, INSERTION_RUN):
        for k in range(part + 1, min(part + INSERTION_RUN, end)):
            value, index = values[k], order[k]
            place = k
            while place > part and values[place - 1] > value:
                values[place], order[place] = values[place - 1], order[place - 1]
                place -= 1
            values[place], order[place] = value, index
    if end - start <= INSERTION_RUN:
        return
    spare_order, spare_values = np.empty(end - start, order.dtype), np.empty(end - start)
    width = INSERTION_RUN
    while width < end - start:
        for middle in range(start + width, end, 2 * width):
            if values[middle] < values[middle - 1]:
                last = min(middle + width, end)
                _merge(order, values, middle - width, middle, last, spare_order, spare_values)
        width *= 2


@njit(cache=True, nogil=True)
def descending_order(values):
    """Return the stable order of numbers from the largest on."""
    order, negative = np.empty(values.size, np.int64), np.empty(values.size)
    for k in range(values.size):
        order[k], negative[k] = k, -values[k]
    sort_range(order, negative, 0, values.size)
    return order
