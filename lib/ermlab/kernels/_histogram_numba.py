"""Compiled loops of `ermlab.kernels.histogram`.

A matrix of histograms is given by its non-empty bins: ``(starts, bins, values)``, row after row. A row of
``X`` is written out so that bins of ``Y`` can be looked up in it. With ``symmetric``, ``Y`` is ``X`` and the
lower triangle is left out.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def fill_chi2(X, Y, n_bins, symmetric, out, start, stop):
    """Write ``sum 2 x y / (x + y)`` for the rows from ``start`` to ``stop``."""
    starts, bins, values = Y
    row = np.zeros(n_bins)
    for i in range(start, stop):
        _spread(X, i, row)
        for j in range(i if symmetric else 0, starts.size - 1):
            total = 0.0
            for k in range(starts[j], starts[j + 1]):
                x, y = row[bins[k]], values[k]
                # The quotient first: no product of large or small numbers.
                total += 2.0 * (x / (x + y)) * y
            out[i, j] = total
        _clear(X, i, row)


@njit(cache=True, nogil=True)
def fill_intersection(X, Y, n_bins, symmetric, out, start, stop):
    """Write ``sum min(x, y)`` for the rows from ``start`` to ``stop``."""
    starts, bins, values = Y
    row = np.zeros(n_bins)
    for i in range(start, stop):
        _spread(X, i, row)
        for j in range(i if symmetric else 0, starts.size - 1):
            total = 0.0
            for k in range(starts[j], starts[j + 1]):
                total += min(row[bins[k]], values[k])
            out[i, j] = total
        _clear(X, i, row)


@njit(cache=True, nogil=True)
def fill_chi2_distances(X, Y, n_bins, symmetric, out, start, stop):
    """Write ``sum (x - y)^2 / (x + y)`` for the rows from ``start`` to ``stop``."""
    for i in range(start, stop):
        for j in range(i if symmetric else 0, Y[0].size - 1):
            out[i, j] = _chi2_distance(X, i, Y, j)


@njit(cache=True, nogil=True)
def _chi2_distance(X, i, Y, j):
    """Merge the sorted bins of two rows; where one is empty, the term is the value of the other."""
    X_starts, X_bins, X_values = X
    Y_starts, Y_bins, Y_values = Y
    a, b = X_starts[i], Y_starts[j]
    total = 0.0
    while a < X_starts[i + 1] and b < Y_starts[j + 1]:
        x, y = X_values[a], Y_values[b]
        if X_bins[a] == Y_bins[b]:
            total += (x - y) * ((x - y) / (x + y))
            a += 1
            b += 1
        elif X_bins[a] < Y_bins[b]:
            total += x
            a += 1
        else:
            total += y
            b += 1
    for k in range(a, X_starts[i + 1]):
        total += X_values[k]
    for k in range(b, Y_starts[j + 1]):
        total += Y_values[k]
    return total


@njit(cache=True, nogil=True)
def _spread(X, i, row):
    starts, bins, values = X
    for k in range(starts[i], starts[i + 1]):
        row[bins[k]] = values[k]


@njit(cache=True, nogil=True)
def _clear(X, i, row):
    starts, bins, _ = X
    for k in range(starts[i], starts[i + 1]):
        row[bins[k]] = 0.0
