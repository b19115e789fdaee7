"""Kernels of the worst hinge over bags of samples: scores and dual coordinate ascent.

The rows of ``X`` (single or double precision) are virtual samples; ``rows[starts[b]:starts[b + 1]]`` are
those of bag ``b``, with the label ``signs[b]``. If ``bias`` is not 0, ``w`` has one more entry than a row:
the weight of a constant feature of that size. Sums are in double precision, and their order depends on the
row only, so that equal rows have equal scores at any position.
"""

import numpy as np
from numba import njit

from ermlab._utils.rows_numba import dot

# The problem of a bag is solved to this fraction of its gap, in at most this many exchanges per row.
SAMPLE_PRECISION = 0.1
EXCHANGES = 3
# The unused part of a limit counts as 0 below this fraction of the limit, the rounding error of sums.
ROUNDING = 1e-12


@njit(cache=True, nogil=True)
def _score(x, w, bias):
    """Return the score of a row with its constant feature."""
    return dot(x, w) + bias * w[-1]


@njit(cache=True, nogil=True)
def _add_scaled(w, factor, x, bias):
    """Add ``factor`` times a row with its constant feature to ``w``."""
    for k in range(len(x)):
        w[k] += factor * x[k]
    w[-1] += factor * bias


@njit(cache=True, nogil=True)
def squared_norms(X, bias, out, start, stop):
    """Write ``|x|^2 + bias^2`` for a range of rows."""
    for r in range(start, stop):
        total = 0.0
        for k in range(X.shape[1]):
            total += np.float64(X[r, k]) * np.float64(X[r, k])
        out[r] = total + bias * bias


@njit(cache=True, nogil=True)
def margins(X, w, bias, row_signs, out, start, stop):
    """Write ``sign * score`` for a range of rows."""
    for r in range(start, stop):
        out[r] = row_signs[r] * _score(X[r], w, bias)


@njit(cache=True)
def risk_and_subgradient(X, bias, row_margins, worst, signs, weights, dimension):
    """Return ``sum_b weights_b max(0, 1 - margin of the worst row)`` and a subgradient."""
    value, subgradient = 0.0, np.zeros(dimension)
    for b in range(len(worst)):
        hinge = 1.0 - row_margins[worst[b]]
        if hinge > 0.0:
            value += weights[b] * hinge
            _add_scaled(subgradient, -weights[b] * signs[b], X[worst[b]], bias)
    return value, subgradient


@njit(cache=True)
def combine(X, bias, row_signs, beta, dimension):
    """Return ``sum_r beta_r sign_r x_r``."""
    w = np.zeros(dimension)
    for r in range(len(beta)):
        if beta[r] > 0.0:
            _add_scaled(w, beta[r] * row_signs[r], X[r], bias)
    return w


@njit(cache=True)
def _squared_distance(x, z):
    total = 0.0
    for k in range(len(x)):
        difference = np.float64(x[k]) - np.float64(z[k])
        total += difference * difference
    return total


@njit(cache=True)
def _exchange(w, beta, X, norms, bias, sign, limit, members, slopes, count):
    """Move weight from the lowest hinge that has weight to the highest, as far as is best for the dual.

    One of the two may be the constant 0, which holds the unused part of ``limit``.
    """
    high, low, top, bottom, rest = -1, -1, 0.0, np.inf, limit
    for place in range(count):
        weight = beta[members[place]]
        rest -= weight
        if slopes[place] > top:
            high, top = members[place], slopes[place]
        if weight > 0.0 and slopes[place] < bottom:
            low, bottom = members[place], slopes[place]
    if bottom >= 0.0 and rest > ROUNDING * limit:
        low, bottom = -1, 0.0
    if high == low:
        return
    both = high >= 0 and low >= 0
    curvature = _squared_distance(X[high], X[low]) if both else norms[max(high, low)]
    available = beta[low] if low >= 0 else rest
    step = min((top - bottom) / curvature, available) if curvature > 0.0 else available
    if high >= 0:
        beta[high] += step
        _add_scaled(w, step * sign, X[high], bias)
    if low >= 0:
        beta[low] = beta[low] - step if step < available else 0.0
        _add_scaled(w, -step * sign, X[low], bias)


@njit(cache=True)
def _find_slopes(w, beta, X, bias, sign, limit, members, slopes, count):
    """Write the hinges of the members, possibly negative; return the gap of the bag divided by ``alpha``."""
    top, mean = 0.0, 0.0
    for place in range(count):
        slopes[place] = 1.0 - sign * _score(X[members[place]], w, bias)
        top = max(top, slopes[place])
        mean += beta[members[place]] * slopes[place]
    return max(limit * top - mean, 0.0)


@njit(cache=True)
def ascend(w, beta, working, X, norms, bias, rows, starts, signs, limits, order, precision):
    """Solve for the bags in turn over their working rows; return the sum of their previous gaps.

    ``w`` and ``beta`` change in place; ``sum_r beta_r <= limits[b]`` over the rows of bag ``b``.
    """
    largest = 0
    for b in range(len(signs)):
        largest = max(largest, starts[b + 1] - starts[b])
    members, slopes = np.empty(largest, dtype=np.int64), np.empty(largest)
    total_gap = 0.0
    for b in order:
        count = 0
        for place in range(starts[b], starts[b + 1]):
            if working[rows[place]]:
                members[count] = rows[place]
                count += 1
        if count == 0:
            continue
        sign, limit = signs[b], limits[b]
        gap = _find_slopes(w, beta, X, bias, sign, limit, members, slopes, count)
        total_gap += gap
        if gap <= precision:
            continue
        goal = SAMPLE_PRECISION * gap
        _exchange(w, beta, X, norms, bias, sign, limit, members, slopes, count)
        if count > 1:
            for _ in range(EXCHANGES * count):
                if _find_slopes(w, beta, X, bias, sign, limit, members, slopes, count) <= goal:
                    break
                _exchange(w, beta, X, norms, bias, sign, limit, members, slopes, count)
    return total_gap
