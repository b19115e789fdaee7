"""Compiled loops of the cutting planes of the taxonomic SVM: most violated labels, sums over constraints.

``scores`` has shape (n_samples, n_classes). The true classes of sample ``i`` are
``labels[starts[i]:starts[i + 1]]``. A constraint has for each sample a true class and another one, -1 for
none: ``xi >= sum_i loss - s_i (scores[i, true] - scores[i, other])`` with ``s_i = 1`` (margin) or the loss
(slack rescaling).
"""

import numpy as np
from numba import njit


@njit(cache=True)
def most_violated(scores, starts, labels, loss, slack, true, other):
    """Write the most violated pair of classes of each sample; return the mean violation.

    Other true classes are no mistakes; without a positive violation ``other`` is -1.
    """
    n, k = scores.shape
    own = np.zeros(k, dtype=np.bool_)
    total = 0.0
    for i in range(n):
        for a in range(starts[i], starts[i + 1]):
            own[labels[a]] = True
        worst, true[i], other[i] = 0.0, labels[starts[i]] if starts[i] < starts[i + 1] else 0, -1
        for a in range(starts[i], starts[i + 1]):
            y = labels[a]
            for z in range(k):
                if own[z]:
                    continue
                margin = scores[i, z] - scores[i, y]
                violation = loss[y, z] * (1.0 + margin) if slack else loss[y, z] + margin
                if violation > worst:
                    worst, true[i], other[i] = violation, y, z
        total += worst
        for a in range(starts[i], starts[i + 1]):
            own[labels[a]] = False
    return total / n


@njit(cache=True)
def slope_along(direction, true, other, loss, slack):
    """Return the derivative of the mean violation of the pairs when the scores move along ``direction``."""
    n = true.size
    total = 0.0
    for i in range(n):
        if other[i] >= 0:
            step = direction[i, other[i]] - direction[i, true[i]]
            total += loss[true[i], other[i]] * step if slack else step
    return total / n


@njit(cache=True)
def add_constraint(weight, true, other, loss, slack, alpha):
    """Add ``weight`` times the coefficients of a constraint to ``alpha``; return its offset."""
    n = true.size
    offset = 0.0
    for i in range(n):
        if other[i] >= 0:
            y, z = true[i], other[i]
            share = weight * loss[y, z] / n if slack else weight / n
            alpha[i, y] += share
            alpha[i, z] -= share
            offset += loss[y, z]
    return offset / n


@njit(cache=True)
def constraint_products(scores, true, other, loss, slack, out):
    """Write ``<alpha_j, scores>`` for each constraint j, row j of ``true`` and ``other``."""
    m, n = true.shape
    for j in range(m):
        total = 0.0
        for i in range(n):
            if other[j, i] >= 0:
                y, z = true[j, i], other[j, i]
                margin = scores[i, y] - scores[i, z]
                total += loss[y, z] * margin if slack else margin
        out[j] = total / n
