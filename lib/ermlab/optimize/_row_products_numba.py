"""Scores of the rows of a matrix in single precision, summed in double precision without a converted copy."""

from numba import njit


@njit(cache=True, nogil=True)
def dot(x, w):
    """Return ``<x, w>``, in eight sums side by side (which the processor adds at once)."""
    d = len(x)
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(0, d - 7, 8):
        s0 += x[k] * w[k]
        s1 += x[k + 1] * w[k + 1]
        s2 += x[k + 2] * w[k + 2]
        s3 += x[k + 3] * w[k + 3]
        s4 += x[k + 4] * w[k + 4]
        s5 += x[k + 5] * w[k + 5]
        s6 += x[k + 6] * w[k + 6]
        s7 += x[k + 7] * w[k + 7]
    rest = 0.0
    for k in range(d - d % 8, d):
        rest += x[k] * w[k]
    return ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7)) + rest


@njit(cache=True, nogil=True)
def row_scores(X, w, scores, start, stop):
    """Write ``<x, w>`` for a range of rows."""
    for r in range(start, stop):
        scores[r] = dot(X[r], w)
