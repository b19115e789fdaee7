"""Active-set kernel of `ermlab.optimize.qp`, with a Cholesky factor that grows and shrinks.

The indices are divided into parts, each with its own simplex; usually there is one part. The factor
``L L' = M_SS`` is kept in the leading ``k`` rows of a work array, where ``S`` is the list of the ``k``
indices that may be positive and ``M = G + sigma sum_d 1_d 1_d'`` with the indicator ``1_d`` of part ``d``.
The shift has no effect while each ``1_d' alpha`` is constant, and makes ``M_SS`` regular if the columns of
``S`` are affinely independent. That is the invariant of the active set: an index whose column depends on
those of ``S`` never joins them but replaces one of them (`_enter`). So ``k`` is at most the rank of ``G``
plus the number of parts, whatever the scale of ``G``, and at most the number of indices.

Loops fill and copy arrays here: numba takes seconds to compile slices on both sides of an assignment.
"""

import numpy as np
from numba import njit

# A new column counts as dependent if less than this fraction of its squared length is independent.
DEPENDENT = 1e-11
# One full Newton step reaches the maximum over a support; further steps only remove rounding errors.
FULL_STEPS = 3
# The shift is at least this fraction of the linear term: a smaller quadratic term is lost in rounding.
LEAST_SHIFT = 1e-30
# It is at least this number, so that its inverse does not overflow.
SMALLEST_SHIFT = 1e-290


@njit(cache=True)
def _append(L, k, G, S, part, sigma, j):
    """Add index ``j`` to the factor; if it is dependent, return false and set row ``k`` to ``L^-1 M_Sj``."""
    alone = True
    for row in range(k):
        entry = G[S[row], j]
        if part[S[row]] == part[j]:
            entry += sigma
            alone = False
        for column in range(row):
            entry -= L[row, column] * L[k, column]
        L[k, row] = entry / L[row, row]
    diagonal = G[j, j] + sigma
    pivot = diagonal
    for column in range(k):
        pivot -= L[k, column] ** 2
    if alone:  # the first index of its part is independent of all others, whatever rounding says
        pivot = max(pivot, sigma)
    if not pivot > DEPENDENT * diagonal:
        return False
    L[k, k] = np.sqrt(pivot)
    S[k] = j
    return True


@njit(cache=True)
def _remove(L, k, S, position):
    """Remove the index at ``position`` from the factor: drop its row, rotate back to triangular form."""
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
def _solve_upper(L, k, x):
    """Solve ``L' x = x`` in place."""
    for row in range(k - 1, -1, -1):
        entry = x[row] / L[row, row]
        x[row] = entry
        for column in range(row):
            x[column] -= L[row, column] * entry


@njit(cache=True)
def _solve(L, k, x):
    """Solve ``L L' x = x`` in place."""
    for row in range(k):
        entry = x[row]
        for column in range(row):
            entry -= L[row, column] * x[column]
        x[row] = entry / L[row, row]
    _solve_upper(L, k, x)


@njit(cache=True)
def _balance(x, S, k, part, j, total, members):
    """Shift the entries of each part by a constant so that they sum to 0, or to 1 in the part of index ``j``.

    This removes rounding errors, so that the entry of a part with a single index is 0 or 1 exactly.
    """
    for d in range(total.size):
        total[d], members[d] = 0.0, 0.0
    for position in range(k):
        total[part[S[position]]] += x[position]
        members[part[S[position]]] += 1.0
    if j >= 0:
        total[part[j]] -= 1.0
    for position in range(k):
        d = part[S[position]]
        x[position] -= total[d] / members[d]


@njit(cache=True)
def _gradient(G, b, alpha, S, k, gradient):
    """Write ``b - G alpha``."""
    for i in range(b.size):
        gradient[i] = b[i]
    for position in range(k):
        weight = alpha[S[position]]
        for i in range(b.size):
            gradient[i] -= weight * G[S[position], i]


@njit(cache=True)
def _newton_direction(L, k, S, part, gradient, solutions, levels):
    """Write the step to the maximum over ``S`` that keeps the sum of each part; return whether it exists.

    ``M p = g - sum_d mu_d 1_d`` with ``1_d' p = 0``. The last row of ``solutions`` becomes ``p``; the
    others are workspace for ``M^-1 1_d``, and ``levels`` is workspace for the equations of ``mu``.
    """
    n_parts = len(levels)
    for position in range(k):
        solutions[n_parts, position] = gradient[S[position]]
        for d in range(n_parts):
            solutions[d, position] = 1.0 if part[S[position]] == d else 0.0
    for d in range(n_parts + 1):
        _solve(L, k, solutions[d])
    for d in range(n_parts):
        for e in range(n_parts + 1):
            levels[d, e] = 0.0
    for position in range(k):
        d = part[S[position]]
        for e in range(n_parts + 1):
            levels[d, e] += solutions[e, position]
    if not _eliminate(levels):
        return False
    for d in range(n_parts):
        for position in range(k):
            solutions[n_parts, position] -= levels[d, n_parts] * solutions[d, position]
    return True


@njit(cache=True)
def _eliminate(system):
    """Solve a positive definite system; its last column is the right side and becomes the solution.

    Return whether that was possible; it may not be if ``G`` has negative eigenvalues.
    """
    n = len(system)
    for pivot in range(n):
        if system[pivot, pivot] == 0.0:
            return False
        for row in range(pivot + 1, n):
            factor = system[row, pivot] / system[pivot, pivot]
            for column in range(pivot, n + 1):
                system[row, column] -= factor * system[pivot, column]
    for row in range(n - 1, -1, -1):
        for column in range(row + 1, n):
            system[row, n] -= system[row, column] * system[column, n]
        system[row, n] /= system[row, row]
    return True


@njit(cache=True)
def _step(alpha, S, k, direction):
    """Move along ``direction`` up to length 1 or the first bound; return the blocking position or -1."""
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
def _trade(alpha, S, k, share, j, forward):
    """Move weight from ``S`` to ``j`` in the given shares, or back, until a weight reaches 0.

    Return the position of that weight, or -1 for ``j``.
    """
    sign = 1.0 if forward else -1.0
    length, blocking = np.inf if forward else alpha[j], -1
    for position in range(k):
        if sign * share[position] > 0.0:
            room = alpha[S[position]] / (sign * share[position])
            if room < length:
                length, blocking = room, position
    for position in range(k):
        alpha[S[position]] = max(alpha[S[position]] - sign * length * share[position], 0.0)
    alpha[j] = max(alpha[j] + sign * length, 0.0)
    if blocking >= 0:
        alpha[S[blocking]] = 0.0
    else:
        alpha[j] = 0.0
    return blocking


@njit(cache=True)
def _enter(L, k, G, S, part, sigma, alpha, gradient, j, share, total, members):
    """Add index ``j`` to ``S``; return the new size of ``S``.

    If the column of ``j`` is an affine combination of those of ``S``, with coefficients ``share``, then the
    objective is linear along ``e_j - share``. A move upwards until the weight of an index reaches 0 makes
    room: without that index the others are independent. It may be ``j`` itself.
    """
    while not _append(L, k, G, S, part, sigma, j):
        for position in range(k):
            share[position] = L[k, position]
        _solve_upper(L, k, share)
        _balance(share, S, k, part, j, total, members)
        slope = gradient[j]
        for position in range(k):
            slope -= share[position] * gradient[S[position]]
        blocking = _trade(alpha, S, k, share, j, slope > 0.0)
        if blocking < 0:
            return k
        _remove(L, k, S, blocking)
        k -= 1
    return k + 1


@njit(cache=True)
def _normalize(alpha, part, total):
    """Scale each part to sum 1, from which rounding makes it drift."""
    for d in range(total.size):
        total[d] = 0.0
    for i in range(alpha.size):
        total[part[i]] += alpha[i]
    for i in range(alpha.size):
        alpha[i] /= total[part[i]]


@njit(cache=True)
def _shift(G, b):
    """Return ``sigma``: of the size of ``G``, unless that is negligible compared with ``b``."""
    largest, height = 0.0, 0.0
    for i in range(b.size):
        largest = max(largest, G[i, i])
        height = max(height, abs(b[i]))
    return max(largest, LEAST_SHIFT * height, SMALLEST_SHIFT)


@njit(cache=True)
def _best_outside(gradient, high, part, S, k, inside):
    """Return the index outside ``S`` whose gradient exceeds those of its part in ``S`` most, or -1."""
    for i in range(inside.size):
        inside[i] = 0
    for position in range(k):
        inside[S[position]] = 1
    best, excess = -1, 0.0
    for i in range(gradient.size):
        if inside[i] == 0 and gradient[i] - high[part[i]] > excess:
            best, excess = i, gradient[i] - high[part[i]]
    return best


@njit(cache=True)
def maximize(G, b, alpha, tol, max_iter, part, n_parts):
    """Improve ``alpha`` in place; return the duality gap reached and the number of iterations.

    A primal active-set method: Newton steps on the support ``S``; an index leaves when its weight reaches 0,
    and the index whose gradient exceeds those of its part most enters when the support is optimal. Each part
    starts with a positive index, and keeps one.
    """
    m = b.size
    # Matrices only, as each kind of allocation is compiled separately.
    indices, L, vectors = np.empty((2, m), dtype=np.int64), np.empty((m, m)), np.empty((n_parts + 2, m))
    levels, sums = np.empty((n_parts, n_parts + 1)), np.empty((5, n_parts))
    S, inside, gradient, solutions = indices[0], indices[1], vectors[0], vectors[1:]
    direction = solutions[n_parts]
    low, high, top, total, members = sums[0], sums[1], sums[2], sums[3], sums[4]
    sigma = _shift(G, b)
    # Typed, or numba would compile the kernels again for literals.
    n_positive, k, nobody = np.int64(0), np.int64(0), np.int64(-1)
    for i in range(m):
        if alpha[i] > 0.0:
            S[n_positive] = i
            n_positive += 1
    _gradient(G, b, alpha, S, n_positive, gradient)
    for position in range(n_positive):  # S[:k] never grows beyond the position that is read
        k = _enter(L, k, G, S, part, sigma, alpha, gradient, S[position], direction, total, members)

    gap, entered, full_steps, kept_out, last = np.inf, -1, 0, False, False
    for iteration in range(max_iter):
        _gradient(G, b, alpha, S, k, gradient)
        for d in range(n_parts):
            low[d], high[d], top[d] = np.inf, -np.inf, -np.inf
        mean = 0.0
        for position in range(k):
            i = S[position]
            mean += alpha[i] * gradient[i]
            low[part[i]] = min(low[part[i]], gradient[i])
            high[part[i]] = max(high[part[i]], gradient[i])
        for i in range(m):
            top[part[i]] = max(top[part[i]], gradient[i])
        highest, spread = 0.0, 0.0
        for d in range(n_parts):
            highest += top[d]
            spread += high[d] - low[d]
        gap = max(highest - mean, 0.0)
        if gap <= tol or last:
            return gap, iteration
        if (spread <= 0.5 * tol and not kept_out) or full_steps >= FULL_STEPS:
            best = _best_outside(gradient, high, part, S, k, inside)
            if best < 0:  # rounding: nothing outside is better
                return gap, iteration
            k = _enter(L, k, G, S, part, sigma, alpha, gradient, best, direction, total, members)
            # An index whose column is a combination of others may look good only while these are not
            # optimal; it must not be tried again before they are.
            kept_out = S[k - 1] != best
            if kept_out and full_steps >= FULL_STEPS:  # rounding: they are optimal
                return gap, iteration
            entered, full_steps = best, 0
            continue
        if not _newton_direction(L, k, S, part, gradient, solutions, levels):
            return gap, iteration
        _balance(direction, S, k, part, nobody, total, members)
        blocking = _step(alpha, S, k, direction)
        _normalize(alpha, part, total)
        if blocking >= 0:
            last = S[blocking] == entered  # rounding: the index that entered leaves at once
            _remove(L, k, S, blocking)
            k -= 1
            full_steps = 0
        else:
            full_steps += 1
        entered = -1
    return gap, max_iter
