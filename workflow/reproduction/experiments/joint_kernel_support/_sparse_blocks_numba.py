"""Kernels of `sparse_blocks`: planes that are differences of sparse rows.

A list of ``rows`` is three arrays: the start of each row, the columns and the values of the nonzero entries;
a single row is the last two. A plane is ``<row - right, w> + b``, with the row ``right`` of the sample.
"""

import numpy as np
from numba import njit

from ermlab.optimize.simplex_qp_numba import maximize


@njit(cache=True, nogil=True)
def product(row, w):
    """Return ``<row, w>`` as four independent sums, which the processor computes in parallel."""
    columns, values = row
    first = second = third = fourth = 0.0
    rest = columns.size % 4
    for k in range(rest):
        first += values[k] * w[columns[k]]
    for k in range(rest, columns.size, 4):
        first += values[k] * w[columns[k]]
        second += values[k + 1] * w[columns[k + 1]]
        third += values[k + 2] * w[columns[k + 2]]
        fourth += values[k + 3] * w[columns[k + 3]]
    return (first + second) + (third + fourth)


@njit(cache=True, nogil=True)
def add_row(row, factor, out):
    """Add ``factor`` times the row to ``out``."""
    columns, values = row
    for k in range(columns.size):
        out[columns[k]] += factor * values[k]


@njit(cache=True, nogil=True)
def slopes(rows, right, w):
    """Return ``<row - right, w>`` of each row."""
    starts, columns, values = rows
    out = np.empty(starts.size - 1)
    level = product(right, w)
    for i in range(out.size):
        part = slice(starts[i], starts[i + 1])
        out[i] = product((columns[part], values[part]), w) - level
    return out


@njit(cache=True, nogil=True)
def combine(rows, right, alpha, factor, out):
    """Add ``factor * sum_i alpha_i (row_i - right)`` to ``out``."""
    starts, columns, values = rows
    for i in range(alpha.size):
        if alpha[i] != 0.0:
            part = slice(starts[i], starts[i + 1])
            add_row((columns[part], values[part]), factor * alpha[i], out)
    add_row(right, -factor * np.sum(alpha), out)


@njit(cache=True, nogil=True)
def ascend(rows, right, b, gram, alpha, w, scale, precision, qp_precision):
    """Find the best combination of the planes of one sample, all others fixed; return its previous gap.

    ``alpha`` and ``w = - sum alpha_i a_i / scale`` change if the gap is more than ``precision``.
    """
    heights = slopes(rows, right, w) + b
    gap = max(np.max(heights) - np.sum(alpha * heights), 0.0)
    if gap > precision:
        G = gram / scale
        linear = heights.copy()  # without the contribution of the sample to w
        for i in range(alpha.size):
            if alpha[i] != 0.0:
                linear += alpha[i] * G[i]
        best = np.maximum(alpha, 0.0)
        best /= np.sum(best)
        one_part = np.zeros(b.size, dtype=np.int64)
        maximize(G, linear, best, qp_precision * gap, 100 + 20 * b.size, one_part, 1)
        combine(rows, right, alpha - best, 1.0 / scale, w)
        alpha[:] = best
    return gap


@njit(cache=True, nogil=True)
def products_with(row, rows, right, dense):
    """Return ``<row - right, row_i - right>`` for all rows i; ``dense`` holds zeros before and after."""
    add_row(row, 1.0, dense)
    add_row(right, -1.0, dense)
    out = slopes(rows, right, dense)
    for columns, _ in (row, right):
        for k in range(columns.size):
            dense[columns[k]] = 0.0
    return out
