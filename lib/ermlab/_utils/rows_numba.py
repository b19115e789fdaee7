"""Kernels for the rows of a matrix: scores in double precision, and the lowest row of each group."""

from numba import njit


# The terms may be added in any order, so that the processor adds several at once. The order is fixed when
# this is compiled: equal rows have equal sums at any position, and in any number of threads.
@njit(cache=True, nogil=True, fastmath={"reassoc"})
def dot(x, w):
    """Return ``<x, w>``; ``x`` may be in single precision and is not converted as a whole."""
    total = 0.0
    for k in range(len(x)):
        total += x[k] * w[k]
    return total


@njit(cache=True, nogil=True)
def row_scores(X, w, scores, start, stop):
    """Write ``<x, w>`` for a range of rows."""
    for r in range(start, stop):
        scores[r] = dot(X[r], w)


@njit(cache=True)
def lowest_rows(values, rows, starts, lowest):
    """Write the lowest row, the first of equals, of each group ``rows[starts[g]:starts[g + 1]]``."""
    for g in range(len(starts) - 1):
        best = rows[starts[g]]
        for place in range(starts[g] + 1, starts[g + 1]):
            if values[rows[place]] < values[best]:
                best = rows[place]
        lowest[g] = best
