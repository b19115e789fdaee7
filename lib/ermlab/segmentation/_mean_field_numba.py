"""Updates of mean field inference."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def update(unary, compatibility, message, mass, temperature, damping, marginals, values, start, stop):
    """Update the marginals of a range of nodes; return the largest change.

    ``message`` holds the sums over other nodes of all labels but the last, whose sum follows from ``mass``,
    the sum of all labels. An empty ``compatibility`` is that of Potts. The new marginals of all labels but
    the last are also written to ``values``, which is filtered next.
    """
    n_states = unary.shape[1]
    if n_states == 2 and len(compatibility) == 0:
        return _update_two(unary, message, mass, temperature, damping, marginals, values, start, stop)
    scores, sums = np.empty(n_states), np.empty(n_states)
    largest = 0.0
    for i in range(start, stop):
        rest = mass[i]
        for a in range(n_states - 1):
            sums[a] = message[i, a]
            rest -= message[i, a]
        sums[n_states - 1] = rest
        highest = -np.inf
        for a in range(n_states):
            scores[a] = unary[i, a]
            if len(compatibility) == 0:
                scores[a] += sums[a]
            else:
                for b in range(n_states):
                    scores[a] += compatibility[a, b] * sums[b]
            highest = max(highest, scores[a])
        total = 0.0
        for a in range(n_states):
            scores[a] = np.exp((scores[a] - highest) / temperature) if scores[a] < highest else 1.0
            total += scores[a]
        for a in range(n_states):
            new = (1.0 - damping) * (scores[a] / total) + damping * marginals[i, a]
            largest = max(largest, np.abs(new - marginals[i, a]))
            marginals[i, a] = new
            if a < n_states - 1:
                values[i, a] = new
    return largest


@njit(cache=True, nogil=True)
def _update_two(unary, message, mass, temperature, damping, marginals, values, start, stop):
    """Update as in `update` two labels of a Potts model, with one exponential per node."""
    largest = 0.0
    for i in range(start, stop):
        # The first label's score minus that of the second.
        advantage = (unary[i, 0] - unary[i, 1] + 2.0 * message[i, 0] - mass[i]) / temperature
        small = np.exp(-np.abs(advantage))
        less = small / (1.0 + small)
        new = 1.0 - less if advantage >= 0 else less
        new = (1.0 - damping) * new + damping * marginals[i, 0]
        largest = max(largest, np.abs(new - marginals[i, 0]))
        marginals[i, 0] = new
        marginals[i, 1] = 1.0 - new
        values[i, 0] = new
    return largest
