"""Compiled loops of `ermlab.kernels.sparse_histogram`, over the bins that two histograms share.

``X`` is given by rows: ``(starts, bins, values)``. ``Y`` is given by bins: ``(starts, rows, values)``, the
rows that have each bin. Pairs of rows without a common bin cost nothing.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_chi2(X, Y, out):
    """Add ``sum 2 x y / (x + y)`` to ``out``."""
    starts, bins, values = X
    Y_starts, rows, Y_values = Y
    for i in range(starts.size - 1):
        for k in range(starts[i], starts[i + 1]):
            x = values[k]
            for at in range(Y_starts[bins[k]], Y_starts[bins[k] + 1]):
                y = Y_values[at]
                # The quotient first: no product of large or small numbers.
                out[i, rows[at]] += 2.0 * (x / (x + y)) * y


@njit(cache=True, nogil=True)
def add_common(X, Y, first_row, n_rows, symmetric, out, start, stop):
    """Add ``4 sum x y / (x + y)`` to ``out[i, j]`` for rows i of ``X`` from ``start`` to ``stop``.

    ``Y`` is the block of ``n_rows`` rows that begins with row ``first_row``; its sums stay in the cache. With
    ``symmetric`` only columns above i are written.
    """
    x_starts, x_bins, x_values = X
    y_starts, y_rows, y_values = Y
    sums = np.empty(n_rows)
    for i in range(start, stop):
        if symmetric and first_row + n_rows <= i + 1:
            continue
        sums[:] = 0.0
        for a in range(x_starts[i], x_starts[i + 1]):
            column, x = x_bins[a], x_values[a]
            for b in range(y_starts[column], y_starts[column + 1]):
                y = y_values[b]
                sums[y_rows[b]] += (x / (x + y)) * y
        for j in range(max(i + 1 - first_row, 0) if symmetric else 0, n_rows):
            out[i, first_row + j] += 4.0 * sums[j]
