"""Block-coordinate ascent for the taxonomic SVM: the exact solution for one sample after the other.

``mu[i, z]`` is the weight of the wrong class ``z`` in the convex combination of sample ``i``'s constraints;
the rest is the weight of ``xi >= 0``. With ``C = 1 / (lam n)`` the coefficients of the sample are
``alpha[i] = C sum_z mu[i, z] s_z (e_y - e_z)``, ``s_z = 1`` for margin and the loss for slack rescaling.
"""

import numpy as np
from numba import njit

from ermlab.optimize.simplex_qp_numba import maximize

# The QP of a sample is solved to this share of its gap before.
SAMPLE_PRECISION = 0.01


@njit(cache=True)
def _working_set(scores, y, loss, slack, mu, classes, slopes):
    """Write the classes with a weight or a violation, and their violations; return their number."""
    m = 0
    for z in range(scores.size):
        if z == y:
            continue
        margin = scores[z] - scores[y]
        violation = loss[y, z] * (1.0 + margin) if slack else loss[y, z] + margin
        if mu[z] > 0.0 or violation > 0.0:
            classes[m], slopes[m] = z, violation
            m += 1
    return m


@njit(cache=True)
def _solve_sample(y, B, loss, slack, q, classes, slopes, m, mu, tol):
    """Return the optimal weights of the working classes of a sample, that of ``xi >= 0`` first.

    ``q`` is ``C K(x, x)``; the quadratic term is that of ``s_z (e_y - e_z)`` under ``q B``.
    """
    G, b, new = np.zeros((m + 1, m + 1)), np.zeros(m + 1), np.zeros(m + 1)
    new[0] = 1.0
    for a in range(m):
        z = classes[a]
        s = loss[y, z] if slack else 1.0
        for c in range(a + 1):
            x = classes[c]
            t = loss[y, x] if slack else 1.0
            G[a + 1, c + 1] = q * s * t * (B[y, y] - B[y, z] - B[y, x] + B[z, x])
            G[c + 1, a + 1] = G[a + 1, c + 1]
        new[a + 1] = mu[z]
        new[0] -= mu[z]
    new[0] = max(new[0], 0.0)
    for a in range(m):
        b[a + 1] = slopes[a]
        for c in range(m):
            b[a + 1] += G[a + 1, c + 1] * new[c + 1]
    # Typed as elsewhere, or `maximize` is compiled again.
    maximize(G, b, new, tol, 100 + 20 * m, np.zeros(m + 1, dtype=np.int64), np.int64(1))
    return new


@njit(cache=True)
def ascend(K, B, labels, loss, slack, C, mu, alpha, scores, order, precision):
    """Solve for the samples in turn; return the sum of their gaps, each before its solution.

    Samples with a gap of at most ``precision`` are skipped. ``mu``, ``alpha`` and ``scores = K alpha B``
    are updated in place.
    """
    n, k = scores.shape
    classes, slopes, step = np.empty(k, dtype=np.int64), np.empty(k), np.empty(k)
    total = 0.0
    for i in order:
        y = labels[i]
        m = _working_set(scores[i], y, loss, slack, mu[i], classes, slopes)
        highest, mean = 0.0, 0.0
        for a in range(m):
            highest = max(highest, slopes[a])
            mean += mu[i, classes[a]] * slopes[a]
        gap = max(highest - mean, 0.0)
        total += gap
        if gap <= precision:
            continue
        new = _solve_sample(y, B, loss, slack, C * K[i, i], classes, slopes, m, mu[i], SAMPLE_PRECISION * gap)
        for x in range(k):
            step[x] = 0.0
        for a in range(m):
            z = classes[a]
            change = C * (new[a + 1] - mu[i, z]) * (loss[y, z] if slack else 1.0)
            mu[i, z] = new[a + 1]
            alpha[i, y] += change
            alpha[i, z] -= change
            for x in range(k):
                step[x] += change * (B[y, x] - B[z, x])
        for j in range(n):
            weight = K[i, j]
            for x in range(k):
                scores[j, x] += weight * step[x]
    return total
