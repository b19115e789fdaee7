"""The active-set kernel of `ermlab.optimize.qp`, and its Cholesky factor that grows and shrinks.

The factor ``L L' = M_SS`` is kept in the leading ``k`` rows of a work array, where ``S`` is the list of the
``k`` indices that may be positive and ``M = G + sigma 1 1'``. The shift changes nothing on the simplex, where
``1' alpha`` is constant, and makes ``M_SS`` regular for affinely independent columns.
"""

import numpy as np
from numba import njit

# A new column counts as dependent on the others below this share of its own squared length.
DEPENDENT = 1e-11
# One full Newton step reaches the maximum over a support; more of them only remove rounding errors.
FULL_STEPS = 3


@njit(cache=True)
def _append(L, k, G, S, sigma, j):
    """Grow the factor by index ``j``; a dependent column is kept regular by a small pivot."""
    for row in range(k):
        entry = G[S[row], j] + sigma
        for column in range(row):
            entry -= L[row, column] * L[k, column]
        L[k, row] = entry / L[row, row]
    diagonal = G[j, j] + sigma
    pivot = diagonal
    for column in range(k):
        pivot -= L[k, column] ** 2
    L[k, k] = np.sqrt(max(pivot, DEPENDENT * diagonal))
    S[k] = j


@njit(cache=True)
def _remove(L, k, S, position):
    """Shrink the factor by the index at ``position``: drop its row, rotate back to triangular form."""
    for row in range(position, k - 1):
        S[row] = S[row + 1]
        for column in range(row + 2):
            L[row, column] = L[row + 1, column]
    for column in range(position, k - 1):
        x, y = L[column, column], L[column, column + 1]
        length = np.hypot(x, y)
        cosine, sine = x / length, y / length
        L[column, column], L[column, column + 1] = length, 0.0
        for row in range(column + 1, k - 1):
            x, y = L[row, column], L[row, column + 1]
            L[row, column] = cosine * x + sine * y
            L[row, column + 1] = cosine * y - sine * x


@njit(cache=True)
def _solve(L, k, x):
    """Solve ``L L' x = x`` in place."""
    for row in range(k):
        entry = x[row]
        for column in range(row):
            entry -= L[row, column] * x[column]
        x[row] = entry / L[row, row]
    for row in range(k - 1, -1, -1):
        entry = x[row] / L[row, row]
        x[row] = entry
        for column in range(row):
            x[column] -= L[row, column] * entry


@njit(cache=True)
def _gradient(G, b, alpha, S, k, gradient):
    """Write ``b - G alpha``."""
    gradient[:] = b
    for position in range(k):
        weight = alpha[S[position]]
        for i in range(b.size):
            gradient[i] -= weight * G[S[position], i]


@njit(cache=True)
def _newton_direction(L, k, S, gradient, direction, ones):
    """Write the step to the maximum over ``S`` with the sum kept: ``M p = g - mu 1`` with ``1' p = 0``."""
    for position in range(k):
        direction[position] = gradient[S[position]]
        ones[position] = 1.0
    _solve(L, k, direction)
    _solve(L, k, ones)
    level = np.sum(direction[:k]) / np.sum(ones[:k])
    for position in range(k):
        direction[position] -= level * ones[position]


@njit(cache=True)
def _step(alpha, S, k, direction):
    """Move along ``direction`` as far as 1 or the first bound; return the position that met it or -1."""
    length, blocking = 1.0, -1
    for position in range(k):
        if direction[position] < 0.0:
            room = -alpha[S[position]] / direction[position]
            if room < length:
                length, blocking = room, position
    for position in range(k):
        alpha[S[position]] = max(alpha[S[position]] + length * direction[position], 0.0)
    if blocking >= 0:
        alpha[S[blocking]] = 0.0
    return blocking


@njit(cache=True)
def _normalise(alpha):
    """Undo the drift of the sum away from 1."""
    total = np.sum(alpha)
    for i in range(alpha.size):
        alpha[i] /= total


@njit(cache=True)
def maximise(G, b, alpha, tol, max_iter):
    """Improve ``alpha`` in place; return the duality gap reached and the number of iterations.

    A primal active-set method: Newton steps on the support ``S``, an index leaves when it meets zero, and the
    index of the largest gradient enters when the support is optimal.
    """
    m = b.size
    S = np.empty(m, dtype=np.int64)
    L = np.zeros((m, m))
    gradient, direction, ones = np.empty(m), np.empty(m), np.empty(m)
    sigma = 0.0
    for i in range(m):
        sigma = max(sigma, G[i, i])
    sigma = sigma if sigma > 0.0 else 1.0
    k = 0
    for i in range(m):
        if alpha[i] > 0.0:
            _append(L, k, G, S, sigma, i)
            k += 1

    gap, entered, full_steps = np.inf, -1, 0
    for iteration in range(max_iter):
        _gradient(G, b, alpha, S, k, gradient)
        mean, low, high, best = 0.0, np.inf, -np.inf, 0
        for position in range(k):
            i = S[position]
            mean += alpha[i] * gradient[i]
            low, high = min(low, gradient[i]), max(high, gradient[i])
        for i in range(1, m):
            if gradient[i] > gradient[best]:
                best = i
        gap = max(gradient[best] - mean, 0.0)
        if gap <= tol:
            return gap, iteration
        if high - low <= 0.5 * tol or full_steps >= FULL_STEPS:
            if gradient[best] <= high:  # rounding: nothing outside is better
                return gap, iteration
            _append(L, k, G, S, sigma, best)
            k += 1
            entered, full_steps = best, 0
            continue
        _newton_direction(L, k, S, gradient, direction, ones)
        blocking = _step(alpha, S, k, direction)
        _normalise(alpha)
        if blocking >= 0:
            if S[blocking] == entered:  # rounding: the index that should grow does not
                return gap, iteration
            _remove(L, k, S, blocking)
            k -= 1
            full_steps = 0
        else:
            full_steps += 1
        entered = -1
    return gap, max_iter
