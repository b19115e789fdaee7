"""Scores of the rows of a matrix in single precision, summed in double precision without a converted copy."""

from numba import njit


# The terms may be added in any order, so that the processor adds several at once. The order is fixed when
# this is compiled: equal rows have equal sums wherever they stand, and in any number of threads.
@njit(cache=True, nogil=True, fastmath={"reassoc"})
def dot(x, w):
    """Return ``<x, w>``."""
    total = 0.0
    for k in range(len(x)):
        total += x[k] * w[k]
    return total


@njit(cache=True, nogil=True)
def row_scores(X, w, scores, start, stop):
    """Write ``<x, w>`` for a range of rows."""
    for r in range(start, stop):
        scores[r] = dot(X[r], w)
