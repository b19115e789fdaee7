"""Compiled loops of the k-support norm: a scalar equation solved by Newton's method on a shrinking set."""

import math

import numpy as np
from numba import njit

# Newton's method needs a few passes; every fourth one halves the bracket, which guarantees progress.
NEWTON_PASSES = 4


@njit(cache=True)
def threshold(w, k, lam):
    """Return ``t`` with ``sum_i clip(|w_i| / t - lam, 0, 1) = k``, or 0 for up to ``k`` non-zero entries.

    The sum decreases with ``t`` and is linear in ``1 / t`` as long as no entry starts or ends being clipped.
    """
    a = np.empty(w.size)
    size, total, least, most = 0, 0.0, np.inf, 0.0
    for x in w:
        x = abs(x)
        a[size] = x
        if x > 0.0:
            size += 1
            total += x
            least = min(least, x)
            most = max(most, x)
    if size <= k:
        return 0.0

    lower, upper = least / (1.0 + lam), total / k
    if lam * upper > most:
        upper = most / lam
    # Entries that are 1, or between 0 and 1, in the whole bracket; they were removed from `a`.
    sure_ones, sure_between, sure_sum = 0, 0, 0.0
    last_ones, last_between = -1, -1
    t = min(total / (k + lam * size), upper)
    passes = 0
    while True:
        ones, between, between_sum = _classify(a, size, t, lam)
        ones, between, between_sum = ones + sure_ones, between + sure_between, between_sum + sure_sum
        if ones == last_ones and between == last_between:
            return t  # t solves the linear piece that it lies on
        wanted = k - ones + lam * between
        if between_sum > wanted * t:
            lower = t
        elif between_sum < wanted * t:
            upper = t
        else:
            return t

        passes += 1
        last_ones, last_between = -1, -1
        proposal = between_sum / wanted if wanted > 0.0 else 0.0
        if lower < proposal < upper and passes % NEWTON_PASSES:
            last_ones, last_between = ones, between
        else:
            proposal = math.sqrt(lower) * math.sqrt(upper)
            if not lower < proposal < upper:
                return upper  # there is no number in between
        t = proposal
        size, ones, between, between_sum = _drop_settled(a, size, lower, upper, lam)
        sure_ones, sure_between, sure_sum = sure_ones + ones, sure_between + between, sure_sum + between_sum


@njit(cache=True)
def _classify(a, size, t, lam):
    """Count the entries whose clipped value is 1 and those between 0 and 1, and sum the latter."""
    low, high = lam * t, (1.0 + lam) * t
    ones, between, between_sum = 0, 0, 0.0
    for i in range(size):
        x = a[i]
        is_one = x >= high
        is_between = (x > low) & (not is_one)
        ones += is_one
        between += is_between
        between_sum += x if is_between else 0.0
    return ones, between, between_sum


@njit(cache=True)
def _drop_settled(a, size, lower, upper, lam):
    """Move the entries that may change within ``lower < t < upper`` to the front; count the others."""
    low_from, low_to = lam * lower, lam * upper
    high_from, high_to = (1.0 + lam) * lower, (1.0 + lam) * upper
    kept, ones, between, between_sum = 0, 0, 0, 0.0
    for i in range(size):
        x = a[i]
        is_one = x >= high_to
        is_between = (x >= low_to) & (x <= high_from) & (not is_one)
        ones += is_one
        between += is_between
        between_sum += x if is_between else 0.0
        a[kept] = x
        kept += (x > low_from) & (not is_one) & (not is_between)
    return kept, ones, between, between_sum


@njit(cache=True)
def shrink(w, t, lam):
    """Return the proximal point for the threshold ``t``."""
    low, high = lam * t, (1.0 + lam) * t
    u = np.empty_like(w)
    for i in range(w.size):
        x = abs(w[i])
        if x >= high:
            u[i] = w[i] / (1.0 + lam)
        else:
            u[i] = math.copysign(x - low, w[i]) if x > low else 0.0
    return u


@njit(cache=True)
def squared_norm(w, k, t):
    """Return the square of the norm, for the threshold ``t`` at ``lam = 0``."""
    ones, squares, rest = 0, 0.0, 0.0
    for x in w:
        x = abs(x)
        if x >= t:
            ones += x > 0.0
            squares += x * x
        else:
            rest += x
    # With k entries at the threshold the rest is due to rounding.
    return squares + rest * rest / (k - ones) if rest > 0.0 and ones < k else squares
