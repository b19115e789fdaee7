"""Inner products of sparse rows, added to a dense matrix (kernels of `sparse_product.py`).

Columns with a place of 0 or more are left out. The others are added in ascending order, as in scipy's product
of sparse matrices.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def entries_of_columns(indptr, indices, data, place):
    """Return the rows and values of each column, those of ``c`` from ``starts[c]`` to ``starts[c + 1]``."""
    starts = np.zeros(len(place) + 1, dtype=np.int64)
    for k in range(len(indices)):
        if place[indices[k]] < 0:
            starts[indices[k] + 1] += 1
    for c in range(len(place)):
        starts[c + 1] += starts[c]
    rows, values = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1])
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            c = indices[k]
            if place[c] < 0:
                rows[starts[c]], values[starts[c]] = i, data[k]
                starts[c] += 1
    # Each start has moved to the next one.
    for c in range(len(place), 0, -1):
        starts[c] = starts[c - 1]
    starts[0] = 0
    return starts, rows, values


@njit(cache=True, nogil=True)
def add_products(indptr, indices, data, place, starts, rows, values, symmetric, first, last, product):
    """Add to ``product[i, j]`` the inner product of the rows i, from ``first`` to ``last``, and j.

    If both matrices are the same (``symmetric``), only for j up to i.
    """
    for i in range(first, last):
        n = i + 1 if symmetric else product.shape[1]
        for k in range(indptr[i], indptr[i + 1]):
            c, value = indices[k], data[k]
            if place[c] >= 0:
                continue
            for p in range(starts[c], starts[c + 1]):
                if rows[p] >= n:
                    break
                product[i, rows[p]] += value * values[p]


@njit(cache=True, nogil=True)
def spread(indptr, indices, data, place, dense):
    """Add the columns with a place to these columns of a dense matrix."""
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            if place[indices[k]] >= 0:
                dense[i, place[indices[k]]] += data[k]


@njit(cache=True, nogil=True)
def mirror(product):
    """Copy the lower triangle of a square matrix to the upper one, block by block for the sake of caches."""
    n, size = len(product), 32
    for row in range(0, n, size):
        for column in range(0, row + 1, size):
            for i in range(row, min(row + size, n)):
                for j in range(column, min(column + size, i)):
                    product[j, i] = product[i, j]
