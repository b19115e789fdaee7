"""Upper bounds of qualities over sets of boxes, for the search of `ermlab.detection`.

A quality is a named tuple of arrays; its type selects the bound when the search is compiled, so that a new
quality needs a new tuple and a function registered with `bound_of`. Sets of boxes are those of
`_queue_numba`: the outer box ``(l1, t1, r2, b2)`` contains every box of the set, the inner box ``(l2, t2, r1,
b1)`` is contained in every one and may be empty. The bound of a set of one box is its value.

Sums of weights are exact, as the weights are multiples of a power of two (`qualities.on_a_grid`). All other
operations round monotonically, so that rounding cannot make a bound smaller than a value.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit
from numba.extending import overload

_BOUNDS: dict[type, Callable] = {}


def bound_of(quality_type: type) -> Callable:
    """Register a function ``(quality, boxes)`` as the bound of a type of quality."""

    def register(function: Callable) -> Callable:
        _BOUNDS[quality_type] = function
        return function

    return register


def upper_bound(quality, boxes):
    """Return the upper bound of a quality over a set of boxes; for compiled code only."""
    raise TypeError("upper_bound is for compiled code")


@overload(upper_bound)
def _upper_bound(quality, boxes):
    return _BOUNDS.get(getattr(quality, "instance_class", None))


@njit(cache=True)
def area(left, top, right, bottom):
    """Return the number of pixels of a box, 0 if it is empty."""
    return max(right - left + 1, 0) * max(bottom - top + 1, 0)


@njit(cache=True)
def intersection(left, top, right, bottom, other):
    """Return the number of common pixels of two boxes."""
    return area(max(left, other[0]), max(top, other[1]), min(right, other[2]), min(bottom, other[3]))


@njit(cache=True)
def least_overlap(boxes, other):
    """Return the intersection with the inner box over the union with the outer box (thesis, eq. 5.12).

    The union grows with the box, so that the largest one needs no further relaxation (thesis, eq. 5.13).
    """
    l1, l2, t1, t2, r1, r2, b1, b2 = boxes
    union = area(l1, t1, r2, b2) + area(*other) - intersection(l1, t1, r2, b2, other)
    return intersection(l2, t2, r1, b1, other) / union


@njit(cache=True)
def largest_overlap(boxes, other):
    """Return the intersection with the outer box over the union with the inner box, at most 1."""
    l1, l2, t1, t2, r1, r2, b1, b2 = boxes
    union = area(l2, t2, r1, b1) + area(*other) - intersection(l2, t2, r1, b1, other)
    return min(1.0, intersection(l1, t1, r2, b2, other) / union)


@njit(cache=True)
def integral_image(x, y, weights, width, height):
    """Return the sum of the weights of the points to the left of and above each corner of a pixel."""
    table = np.zeros((height + 1, width + 1))
    for i in range(len(weights)):
        table[y[i] + 1, x[i] + 1] += weights[i]
    for row in range(1, height + 1):
        along = 0.0
        for column in range(1, width + 1):
            along += table[row, column]
            table[row, column] = table[row - 1, column] + along
    return table


@njit(cache=True)
def box_sum(table, left, top, right, bottom):
    """Return the sum over a box, 0 if it is empty."""
    if right < left or bottom < top:
        return 0.0
    return (table[bottom + 1, right + 1] - table[top, right + 1]) - (
        table[bottom + 1, left] - table[top, left]
    )


class ClassicalLinear(NamedTuple):
    """Sum of the weights of the points in a box: integral images of positive and negative weights."""

    positive: np.ndarray
    negative: np.ndarray


@bound_of(ClassicalLinear)
def _classical_linear(quality, boxes):
    """Positive weights in the outer box plus negative weights in the inner one: eight reads."""
    l1, l2, t1, t2, r1, r2, b1, b2 = boxes
    return box_sum(quality.positive, l1, t1, r2, b2) + box_sum(quality.negative, l2, t2, r1, b1)


class Linear(NamedTuple):
    """As `ClassicalLinear`, with the integral images of the transposed image for a tighter bound."""

    positive: np.ndarray
    negative: np.ndarray
    positive_transposed: np.ndarray
    negative_transposed: np.ndarray


@bound_of(Linear)
def _linear(quality, boxes):
    """The maximum over two opposite sides with the others relaxed, or over one pair after the other.

    For given left and right sides, the score is at most ``loose(r + 1) - loose(l)``, where ``loose(x)`` sums
    columns before ``x``: positive weights in all rows of the outer box, negative ones in the rows of the
    inner box. Its maximum over l and r is at most the classical bound; likewise for top and bottom.

    If the inner box is not empty, the score is also the sum over the rows of the inner box, a function of l
    and r, plus the rows above and below, bounded as before by functions of t or b.
    """
    l1, l2, t1, t2, r1, r2, b1, b2 = boxes
    P, N, P_T, N_T = (
        quality.positive,
        quality.negative,
        quality.positive_transposed,
        quality.negative_transposed,
    )
    if l2 > r1 or t2 > b1:
        across = _best_interval(P, N, l1, l2, r1, r2, t1, t2, b1, b2)
        return min(across, _best_interval(P_T, N_T, t1, t2, b1, b2, l1, l2, r1, r2))
    columns, left_and_right, core_columns = _sides(P, N, l1, l2, r1, r2, t1, t2, b1, b2)
    rows, top_and_bottom, core_rows = _sides(P_T, N_T, t1, t2, b1, b2, l1, l2, r1, r2)
    return min(columns, rows, core_columns + top_and_bottom, core_rows + left_and_right)


@njit(cache=True)
def _best_interval(P, N, l1, l2, r1, r2, t1, t2, b1, b2):
    """Return the maximum of ``loose(r + 1) - loose(l)`` over ``l <= r``; there may be no inner rows."""
    if b1 < t2:
        t2, b1 = 0, -1
    least, best, x = np.inf, -np.inf, l1
    for r in range(r1, r2 + 1):
        while x <= min(r, l2):
            least = min(least, (P[b2 + 1, x] - P[t1, x]) + (N[b1 + 1, x] - N[t2, x]))
            x += 1
        best = max(best, (P[b2 + 1, r + 1] - P[t1, r + 1]) + (N[b1 + 1, r + 1] - N[t2, r + 1]) - least)
    return best


@njit(cache=True)
def _sides(P, N, l1, l2, r1, r2, t1, t2, b1, b2):
    """Return three maxima over l and r for a set with an inner box.

    They are those of the sum over the columns l to r as bounded by ``loose``, of its part outside of the
    inner columns, and of the exact sum over the rows of the inner box.
    """
    least, least_exact = np.inf, np.inf
    for x in range(l1, l2 + 1):
        hurts = N[b1 + 1, x] - N[t2, x]
        least = min(least, P[b2 + 1, x] - P[t1, x] + hurts)
        least_exact = min(least_exact, P[b1 + 1, x] - P[t2, x] + hurts)
    most, most_exact = -np.inf, -np.inf
    for x in range(r1 + 1, r2 + 2):
        hurts = N[b1 + 1, x] - N[t2, x]
        most = max(most, P[b2 + 1, x] - P[t1, x] + hurts)
        most_exact = max(most_exact, P[b1 + 1, x] - P[t2, x] + hurts)
    core = box_sum(P, l2, t1, r1, b2) + box_sum(N, l2, t2, r1, b1)
    return most - least, most - least - core, most_exact - least_exact


@njit(cache=True)
def cell_edge(low, high, cell, grid):
    """Return the first coordinate of a cell when ``low .. high`` is divided into ``grid`` cells.

    It grows with ``low`` and with ``high``, so that the ends of an interval of boxes give its range.
    """
    return low + (cell * (high - low + 1)) // grid


@njit(cache=True)
def cell_set(boxes, grid, row, column):
    """Return the set of boxes that contains a cell of the grid of each box."""
    l1, l2, t1, t2, r1, r2, b1, b2 = boxes
    return (
        cell_edge(l1, r1, column, grid),
        cell_edge(l2, r2, column, grid),
        cell_edge(t1, b1, row, grid),
        cell_edge(t2, b2, row, grid),
        cell_edge(l1, r1, column + 1, grid) - 1,
        cell_edge(l2, r2, column + 1, grid) - 1,
        cell_edge(t1, b1, row + 1, grid) - 1,
        cell_edge(t2, b2, row + 1, grid) - 1,
    )


class ClassicalPyramid(NamedTuple):
    """Sums of weights in cells: integral images ``(cell, row, column)`` for all cells of all grids."""

    grids: np.ndarray
    positive: np.ndarray
    negative: np.ndarray


@bound_of(ClassicalPyramid)
def _classical_pyramid(quality, boxes):
    """The classical bound for each cell."""
    total, k = 0.0, 0
    for grid in quality.grids:
        for row in range(grid):
            for column in range(grid):
                l1, l2, t1, t2, r1, r2, b1, b2 = cell_set(boxes, grid, row, column)
                total += box_sum(quality.positive[k], l1, t1, r2, b2)
                total += box_sum(quality.negative[k], l2, t2, r1, b1)
                k += 1
    return total


class Histogram(NamedTuple):
    """Sum of a function of the count of each bin (a word in a cell), given by tables of range maxima.

    The points are sorted by word, those of word k from ``begins[k]`` on. Level 0 of ``maxima`` has the
    function at the counts 0, 1, ... of each bin, from ``offsets[bin]`` on; level j has maxima of ``2**j``
    consecutive values.
    """

    grids: np.ndarray
    x: np.ndarray
    y: np.ndarray
    begins: np.ndarray
    maxima: np.ndarray
    offsets: np.ndarray


@bound_of(Histogram)
def _histogram(quality, boxes):
    """The best value of each bin for counts between those in the inner and the outer box of its cell."""
    total, k = 0.0, 0
    for grid in quality.grids:
        for row in range(grid):
            for column in range(grid):
                total += _cell_histogram(quality, cell_set(boxes, grid, row, column), k)
                k += 1
    return total


@njit(cache=True)
def _cell_histogram(quality, cell, k):
    l1, l2, t1, t2, r1, r2, b1, b2 = cell
    n_words = len(quality.begins) - 1
    total = 0.0
    for word in range(n_words):
        least, most = 0, 0
        for i in range(quality.begins[word], quality.begins[word + 1]):
            x, y = quality.x[i], quality.y[i]
            most += (l1 <= x) & (x <= r2) & (t1 <= y) & (y <= b2)
            least += (l2 <= x) & (x <= r1) & (t2 <= y) & (y <= b1)
        total += _range_maximum(quality.maxima, quality.offsets[k * n_words + word], least, most)
    return total


@njit(cache=True)
def _range_maximum(maxima, offset, first, last):
    level = 0
    while (2 << level) <= last - first + 1:
        level += 1
    return max(maxima[level, offset + first], maxima[level, offset + last + 1 - (1 << level)])


class MarginRescaled(NamedTuple):
    """``loss + quality - quality of the true box`` with loss ``1 - overlap`` (thesis, eq. 2.17)."""

    quality: tuple
    truth: tuple
    true_value: float


@bound_of(MarginRescaled)
def _margin_rescaled(quality, boxes):
    margin = upper_bound(quality.quality, boxes) - quality.true_value
    return margin + (1.0 - least_overlap(boxes, quality.truth))


class SlackRescaled(NamedTuple):
    """``loss (1 + quality - quality of the true box)`` with loss ``1 - overlap`` (thesis, eq. 2.18)."""

    quality: tuple
    truth: tuple
    true_value: float


@bound_of(SlackRescaled)
def _slack_rescaled(quality, boxes):
    slack = 1.0 + (upper_bound(quality.quality, boxes) - quality.true_value)
    if slack > 0:
        return (1.0 - least_overlap(boxes, quality.truth)) * slack
    return (1.0 - largest_overlap(boxes, quality.truth)) * slack
