"""Kernels of the multi-class dual: exact solutions for one sample, and passes over the samples.

The planes of a sample ``x`` of class ``y`` are ``s_k <w_k - w_y, x> + loss(y, k)``, with ``s_k = 1`` for
margin and ``s_k = loss(y, k)`` for slack rescaling. With ``nu`` in the simplex, ``C = 1 / (alpha n)`` and
``beta_k = C s_k nu_k``, the sample adds ``-beta_k x`` to ``w_k`` and ``sum_k beta_k x`` to ``w_y``.
"""

import numpy as np
from numba import njit

from ermlab.structured._multiclass_numba import add_scaled

# Newton's method on a piecewise linear function ends in a few steps; the limit guards against rounding.
MAX_STEPS = 60
BUDGET_PRECISION = 1e-13


@njit(cache=True)
def _sorted_shares(c, s, mu, q, m, values, order):
    """Write the positive ``(c_k - mu / s_k) / q`` in descending order; return how many there are."""
    count = 0
    for k in range(m):
        if s[k] <= 0.0:
            continue
        value = (c[k] - mu / s[k]) / q
        if value > 0.0:
            place = count
            while place > 0 and values[place - 1] < value:
                values[place], order[place] = values[place - 1], order[place - 1]
                place -= 1
            values[place], order[place] = value, k
            count += 1
    return count


@njit(cache=True)
def _common_part(values, count):
    """Return ``theta = sum_k max(values_k - theta, 0)`` and the number of values above it."""
    total, theta, above = 0.0, 0.0, 0
    while above < count and values[above] > theta:
        total += values[above]
        above += 1
        theta = total / (above + 1)
    return theta, above


@njit(cache=True)
def maximize_sample(c, s, q, C, m, beta, values, order):
    """Write the ``beta >= 0`` that maximizes ``c' beta - q/2 (|beta|^2 + (1' beta)^2)`` within a budget.

    The budget is ``sum_k beta_k / s_k <= C``, with multiplier ``mu``. For fixed ``mu`` sorting gives the
    solution ``beta_k = max((c_k - mu / s_k) / q - theta, 0)``, where ``theta = 1' beta``; its budget is a
    decreasing, piecewise linear function of ``mu``. Only the first ``m`` entries are used.
    """
    top, best, largest = 0.0, -1, 0.0
    for k in range(m):
        beta[k] = 0.0
        largest = max(largest, c[k])
        if s[k] * c[k] > top:
            top, best = s[k] * c[k], k
    if best < 0:
        return
    # If c / q overflows, the quadratic term is below the rounding error of the linear one, as if q were 0.
    if q <= 0.0 or largest / q == np.inf:
        beta[best] = C * s[best]
        return
    low, high, mu = 0.0, top, 0.0
    theta, above, spent = 0.0, 0, 0.0
    for _ in range(MAX_STEPS):
        count = _sorted_shares(c, s, mu, q, m, values, order)
        theta, above = _common_part(values, count)
        spent, inverse, inverse2 = 0.0, 0.0, 0.0
        for place in range(above):
            price = 1.0 / s[order[place]]
            spent += price * (values[place] - theta)
            inverse += price
            inverse2 += price * price
        if (mu == 0.0 and spent <= C) or abs(spent - C) <= BUDGET_PRECISION * C:
            break
        if spent > C:
            low = mu
        else:
            high = mu
        slope = (inverse2 - inverse * inverse / (above + 1)) / q
        mu = mu + (spent - C) / slope if slope > 0.0 else low
        if not low < mu < high:
            mu = 0.5 * (low + high)
        if not low < mu < high:
            # No number lies between: with a small q the sum jumps there from too large to too small. If it is
            # too large, it is scaled below; if too small, the sample would stay where it is.
            mu = low
            if spent > C:
                break
    shrink = min(1.0, C / spent) if spent > 0.0 else 1.0
    for place in range(above):
        beta[order[place]] = shrink * (values[place] - theta)


@njit(cache=True)
def ascend(W, beta, working, X, y, squared_norms, loss, slack, C, order, precision):
    """Solve for the samples in turn over their working classes; return the sum of their previous gaps.

    ``W`` (one row per class) and ``beta`` (one row per sample) change in place.
    """
    K = W.shape[0]
    classes, ranks = np.empty(K, dtype=np.int64), np.empty(K, dtype=np.int64)
    c, s, new, values = np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    total_gap = 0.0
    for i in order:
        x, own, q = X[i], y[i], squared_norms[i]
        m, share = 0, 0.0
        for k in range(K):
            if working[i, k]:
                classes[m] = k
                m += 1
                share += beta[i, k]
        if m == 0:
            continue
        own_score = np.dot(W[own], x)
        highest, mean = 0.0, 0.0
        for place in range(m):
            k = classes[place]
            margin = np.dot(W[k], x) - own_score
            s[place] = loss[own, k] if slack else 1.0
            slope = 1.0 + margin if slack else loss[own, k] + margin
            highest = max(highest, s[place] * slope)
            mean += beta[i, k] * slope
            c[place] = slope + q * (beta[i, k] + share)  # without the contribution of the sample to W
        gap = max(highest - mean / C, 0.0)
        total_gap += gap
        if gap <= precision:
            continue
        maximize_sample(c, s, q, C, m, new, values, ranks)
        new_share = 0.0
        for place in range(m):
            k = classes[place]
            new_share += new[place]
            if new[place] != beta[i, k]:
                add_scaled(W[k], beta[i, k] - new[place], x)
                beta[i, k] = new[place]
        add_scaled(W[own], new_share - share, x)
    return total_gap


@njit(cache=True)
def choose_working(scores, y, loss, slack, beta, working):
    """Mark the classes of each sample that have weight or are violated; return their number.

    ``scores`` has one row per class and one column per sample.
    """
    K, n = scores.shape
    count = 0
    for i in range(n):
        own = y[i]
        for k in range(K):
            delta, margin = loss[own, k], scores[k, i] - scores[own, i]
            violation = delta * (1.0 + margin) if slack else delta + margin
            working[i, k] = k != own and (beta[i, k] > 0.0 or violation > 0.0)
            count += working[i, k]
    return count
