"""Tight upper bound of sums of weights in the cells of spatial pyramids over sets of boxes.

All levels are merged into one grid, whose edges are those of all levels: a pixel of a box belongs to one cell
of the merged grid, and its weight there is the sum of its weights in the cells of all levels, so that weights
of different signs cancel before they are bounded.

For given left and right sides all vertical edges are known. A row of pixels lies in one of several rows of
cells, or outside of the box, and the best of these possibilities bounds its contribution for each column of
cells. The bound is a sum of one function of each vertical edge, whose maximum over left and right sides is
found block by block; likewise for top and bottom. As for sums of weights without cells, rows that are in the
same row of cells for all boxes of the set can be added exactly, with a bound for the other rows.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ermlab.detection._bounds_numba import bound_of, cell_edge

# The intervals of two opposite sides are divided into at most this many blocks; single values are exact.
BLOCKS = 8


class Pyramid(NamedTuple):
    """Sums of weights in the K x K cells of a merged grid.

    ``edges`` has a row (i, g) for each of the K + 1 edges, at i / g of the side. Integral images of
    ``columns`` are indexed by a column of cells, a set of rows of cells (`set_index`), 0 or 1 if pixels may
    also be outside of the box, row and column; at each pixel they sum the largest weight over the set, or 0
    if that is larger and allowed. ``rows`` has the same for a row of cells and sets of columns, transposed.
    Only rows and columns with points are stored; ``row_ranks`` and ``column_ranks`` count those before each
    coordinate.
    """

    edges: np.ndarray
    columns: np.ndarray
    rows: np.ndarray
    column_ranks: np.ndarray
    row_ranks: np.ndarray


@njit(cache=True)
def set_index(begin, end, n_cells):
    """Return the index of the set of cells ``begin .. end``: single cells, pairs, then all cells."""
    if end == begin:
        return begin
    return n_cells + begin if end == begin + 1 else 2 * n_cells - 1


@bound_of(Pyramid)
def _pyramid(quality, boxes):
    l1, l2, t1, t2, r1, r2, b1, b2 = boxes
    edges = quality.edges
    x, y = _edge_ranges(edges, l1, l2, r1, r2), _edge_ranges(edges, t1, t2, b1, b2)
    columns, left_and_right, core_columns = _along(
        quality.columns, edges, quality.column_ranks, x, _segments(y, quality.row_ranks), (l1, l2, r1, r2)
    )
    rows, top_and_bottom, core_rows = _along(
        quality.rows, edges, quality.row_ranks, y, _segments(x, quality.column_ranks), (t1, t2, b1, b2)
    )
    return min(columns, rows, core_columns + top_and_bottom, core_rows + left_and_right)


@njit(cache=True)
def _edge_ranges(edges, low1, low2, high1, high2):
    """Return the smallest and the largest value of each edge."""
    ranges = np.empty((2, len(edges)), np.int64)
    for k in range(len(edges)):
        ranges[0, k] = cell_edge(low1, high1, edges[k, 0], edges[k, 1])
        ranges[1, k] = cell_edge(low2, high2, edges[k, 0], edges[k, 1])
    return ranges


@njit(cache=True)
def _segments(ranges, ranks):
    """Return runs of coordinates with the same possible cells: first and last rank, set of cells, outside."""
    smallest, largest = ranges
    n_cells = len(smallest) - 1
    segments, size = np.empty((2 * n_cells + 2, 4), np.int64), 0
    begin, end, at = 0, 0, smallest[0]
    while at < largest[n_cells]:
        while end + 1 < n_cells and smallest[end + 1] <= at:
            end += 1
        while largest[begin + 1] <= at:
            begin += 1
        until = largest[begin + 1]
        if end + 1 < n_cells:
            until = min(until, smallest[end + 1])
        if at < largest[0]:
            until = min(until, largest[0])
        if at < smallest[n_cells]:
            until = min(until, smallest[n_cells])
        if ranks[until] > ranks[at]:
            segments[size, 0], segments[size, 1] = ranks[at], ranks[until]
            segments[size, 2] = set_index(begin, end, n_cells)
            segments[size, 3] = at < largest[0] or at >= smallest[n_cells]
            size += 1
        at = until
    return segments[:size]


@njit(cache=True)
def _along(tables, edges, ranks, ranges, segments, sides):
    """Return three maxima over two opposite sides.

    They are those of the sum as bounded by the segments across, of its part outside of the pixels whose cell
    is the same for all boxes, and of the exact sum over the segments in one cell.
    """
    smallest, largest = ranges
    n_cells, longest = len(edges) - 1, 0
    for k in range(n_cells + 1):
        longest = max(longest, ranks[largest[k]] - ranks[smallest[k]] + 1)
    values, exact = np.zeros((n_cells + 1, longest)), np.zeros((n_cells + 1, longest))
    certain = 0.0
    for cell in range(n_cells):
        for edge in (cell, cell + 1):
            sign = 1.0 if edge > cell else -1.0
            first, last = ranks[smallest[edge]], ranks[largest[edge]]
            _add_sums(tables[cell], segments, n_cells, first, last, sign, values[edge], exact[edge])
        if largest[cell] < smallest[cell + 1]:
            begin, end = ranks[largest[cell]], ranks[smallest[cell + 1]]
            for first, last, cells, outside in segments:
                table = tables[cell, cells, outside]
                certain += (table[last, end] - table[first, end]) - (table[last, begin] - table[first, begin])
    best, best_exact = _best_sides(values, exact, edges, ranks, smallest, sides)
    return best, best - certain, best_exact


@njit(cache=True)
def _add_sums(tables, segments, n_cells, first_rank, last_rank, sign, values, exact):
    """Add or subtract the sums before each rank, those of single cells also to ``exact``."""
    for first, last, cells, outside in segments:
        table = tables[cells, outside]
        single = cells < n_cells and not outside
        for rank in range(first_rank, last_rank + 1):
            change = sign * (table[last, rank] - table[first, rank])
            values[rank - first_rank] += change
            if single:
                exact[rank - first_rank] += change


@njit(cache=True)
def _best_sides(values, exact, edges, ranks, smallest, sides):
    """Return the largest sums of values of the edges over blocks of the two sides."""
    low1, low2, high1, high2 = sides
    low_step, high_step = (low2 - low1) // BLOCKS + 1, (high2 - high1) // BLOCKS + 1
    best, best_exact = -np.inf, -np.inf
    for low in range(low1, low2 + 1, low_step):
        last_low = min(low + low_step - 1, low2)
        for high in range(high1, high2 + 1, high_step):
            last_high = min(high + high_step - 1, high2)
            if last_high < low:
                continue
            total, total_exact = 0.0, 0.0
            for k in range(len(edges)):
                base = ranks[smallest[k]]
                begin = ranks[cell_edge(low, high, edges[k, 0], edges[k, 1])] - base
                end = ranks[cell_edge(last_low, last_high, edges[k, 0], edges[k, 1])] - base
                most, most_exact = values[k, begin], exact[k, begin]
                for rank in range(begin + 1, end + 1):
                    most = max(most, values[k, rank])
                    most_exact = max(most_exact, exact[k, rank])
                total += most
                total_exact += most_exact
            best, best_exact = max(best, total), max(best_exact, total_exact)
    return best, best_exact
