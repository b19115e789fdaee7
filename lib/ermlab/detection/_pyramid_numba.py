"""Tight upper bound of sums of weights in the cells of spatial pyramids over sets of boxes.

All levels are merged into one grid, whose edges are those of all levels: a pixel of a box is in one cell of
the merged grid, and its weight there is the sum of its weights in the cells of all levels. With integral
images for all cells, the score is a sum of functions of the corners where two edges meet::

    score(left, top, right, bottom) = sum_kj corner_kj(x_k, y_j)

where the vertical edges x_k depend on left and right, and the horizontal edges y_j on top and bottom. For any
coordinates u_k and v_j,

    corner_kj(x, y) = corner_kj(x, v_j) + corner_kj(u_k, y) - corner_kj(u_k, v_j) + rest_kj(x, y).

The rest is a sum over the pixels between (u_k, v_j) and (x, y), which is small if both are in short
intervals. The score without the rests is a function of left and right plus a function of top and bottom, both
of which are maximized. The rests, maximized over y, are added to the first function, or, maximized over x, to
the second one; the bound is the smaller result. Positive and negative weights of neighboring pixels cancel,
unlike in the classical bound, which grows with the number of pixels whose cell is not known.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ermlab.detection._bounds_numba import bound_of, cell_edge

# The intervals of two opposite sides are divided into at most this many blocks, each with its maximum.
BLOCKS = 4


class Pyramid(NamedTuple):
    """Sums of weights in the K x K cells of a merged grid.

    ``edges`` has a row (i, g) for each of the K + 1 edges, at i / g of the side. ``corners`` are the
    functions of the corners, indexed by vertical edge, horizontal edge, row and column. Only rows and columns
    with points are stored; ``row_ranks`` and ``column_ranks`` count those before each coordinate.
    """

    edges: np.ndarray
    corners: np.ndarray
    row_ranks: np.ndarray
    column_ranks: np.ndarray


@bound_of(Pyramid)
def _pyramid(quality, boxes):
    l1, l2, t1, t2, r1, r2, b1, b2 = boxes
    edges, corners = quality.edges, quality.corners
    x = _edge_ranks(edges, quality.column_ranks, l1, l2, r1, r2)
    y = _edge_ranks(edges, quality.row_ranks, t1, t2, b1, b2)
    n_edges, longest = len(edges), 0
    for k in range(n_edges):
        longest = max(longest, x[2, k] - x[0, k] + 1, y[2, k] - y[0, k] + 1)
    work = np.zeros((5, n_edges, longest))
    columns, columns_rest, rows, rows_rest, largest = work[0], work[1], work[2], work[3], work[4, 0]
    middle = 0.0
    for k in range(n_edges):
        for j in range(n_edges):
            middle += corners[k, j, y[1, j], x[1, k]]
            _add_corner(corners, x, y, k, j, columns, columns_rest, rows, rows_rest, largest)
    sides = _best_sides(columns, columns_rest, edges, quality.column_ranks, x[0], l1, l2, r1, r2)
    others = _best_sides(rows, rows_rest, edges, quality.row_ranks, y[0], t1, t2, b1, b2)
    return min(sides[0] + others[1], sides[1] + others[0]) - middle


@njit(cache=True)
def _edge_ranks(edges, ranks, low1, low2, high1, high2):
    """Return the smallest rank, one in the middle and the largest rank of each edge."""
    result = np.empty((3, len(edges)), np.int64)
    for k in range(len(edges)):
        result[0, k] = ranks[cell_edge(low1, high1, edges[k, 0], edges[k, 1])]
        result[2, k] = ranks[cell_edge(low2, high2, edges[k, 0], edges[k, 1])]
        result[1, k] = (result[0, k] + result[2, k]) >> 1
    return result


@njit(cache=True)
def _add_corner(corners, x, y, k, j, columns, columns_rest, rows, rows_rest, largest):
    """Add one corner to the functions of vertical and horizontal edges, without and with its rest.

    Indices into the corners are computed in place: views of arrays would take longer than the sums.
    """
    x1, u, x2 = x[0, k], x[1, k], x[2, k]
    y1, v, y2 = y[0, j], y[1, j], y[2, j]
    middle = corners[k, j, v, u]
    for i in range(x2 - x1 + 1):
        largest[i] = -np.inf
    for row in range(y1, y2 + 1):
        here, largest_in_row = corners[k, j, row, u], -np.inf
        for i in range(x2 - x1 + 1):
            rest = (corners[k, j, row, x1 + i] - corners[k, j, v, x1 + i]) - (here - middle)
            largest[i] = max(largest[i], rest)
            largest_in_row = max(largest_in_row, rest)
        rows[j, row - y1] += here
        rows_rest[j, row - y1] += here + largest_in_row
    for i in range(x2 - x1 + 1):
        columns[k, i] += corners[k, j, v, x1 + i]
        columns_rest[k, i] += corners[k, j, v, x1 + i] + largest[i]


@njit(cache=True)
def _best_sides(values, with_rest, edges, ranks, smallest, low1, low2, high1, high2):
    """Return the largest sums over the edges of two functions, for any two opposite sides."""
    last = len(edges) - 1
    low_step, high_step = (low2 - low1) // BLOCKS + 1, (high2 - high1) // BLOCKS + 1
    best, best_with_rest = -np.inf, -np.inf
    for low in range(low1, low2 + 1, low_step):
        last_low = min(low + low_step - 1, low2)
        at_low = _largest(values, with_rest, 0, ranks[low] - smallest[0], ranks[last_low] - smallest[0])
        for high in range(high1, high2 + 1, high_step):
            last_high = min(high + high_step - 1, high2)
            if last_high < low:
                continue
            begin, end = ranks[high + 1] - smallest[last], ranks[last_high + 1] - smallest[last]
            at_high = _largest(values, with_rest, last, begin, end)
            total, total_with_rest = at_low[0] + at_high[0], at_low[1] + at_high[1]
            for k in range(1, last):
                begin = ranks[cell_edge(low, high, edges[k, 0], edges[k, 1])] - smallest[k]
                end = ranks[cell_edge(last_low, last_high, edges[k, 0], edges[k, 1])] - smallest[k]
                at_edge = _largest(values, with_rest, k, begin, end)
                total += at_edge[0]
                total_with_rest += at_edge[1]
            best, best_with_rest = max(best, total), max(best_with_rest, total_with_rest)
    return best, best_with_rest


@njit(cache=True)
def _largest(values, others, k, first, last):
    """Return the largest of consecutive entries of row k of two arrays."""
    most, most_of_others = values[k, first], others[k, first]
    for i in range(first + 1, last + 1):
        most = max(most, values[k, i])
        most_of_others = max(most_of_others, others[k, i])
    return most, most_of_others
