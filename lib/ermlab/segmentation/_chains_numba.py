"""Kernels of chains: highest-scoring and most violated labelings by dynamic programming.

``pairwise`` holds the scores of the states of nodes ``i`` and ``i + 1``, one matrix for all edges or one per
edge, and ``transposed`` the same with the states exchanged, so that inner loops run along rows. In batches
chains are concatenated: ``starts[c]`` to ``starts[c + 1]`` are the nodes of chain ``c``.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _highest_after(transposed, values, highest):
    """Write ``max_t pairwise[s, t] + values[t]`` for each state ``s``.

    Two states ``t`` at once, so that ``highest`` is read and written half as often.
    """
    n_states = len(values)
    for s in range(n_states):
        highest[s] = transposed[0, s] + values[0]
    for t in range(1, n_states - 1, 2):
        first, second = values[t], values[t + 1]
        for s in range(n_states):
            score, other = transposed[t, s] + first, transposed[t + 1, s] + second
            score = other if other > score else score
            highest[s] = score if score > highest[s] else highest[s]
    if n_states % 2 == 0:
        for s in range(n_states):
            score = transposed[n_states - 1, s] + values[n_states - 1]
            highest[s] = score if score > highest[s] else highest[s]


@njit(cache=True, nogil=True)
def _best_next(scores, values):
    """Return the lowest ``t`` of the highest ``scores[t] + values[t]``."""
    label = 0
    for t in range(1, len(values)):
        if scores[t] + values[t] > scores[label] + values[label]:
            label = t
    return label


@njit(cache=True, nogil=True)
def label_chain(unary, pairwise, transposed, best, labels):
    """Write the labels of the highest score, the first in lexicographic order if several have it.

    ``best[i, s]`` becomes the highest score of the nodes from ``i`` to the end with state ``s`` at ``i``.
    """
    n_nodes, n_states = unary.shape
    highest = np.empty(n_states)
    for s in range(n_states):
        best[n_nodes - 1, s] = unary[n_nodes - 1, s]
    for i in range(n_nodes - 2, -1, -1):
        _highest_after(transposed[i if len(transposed) > 1 else 0], best[i + 1], highest)
        for s in range(n_states):
            best[i, s] = unary[i, s] + highest[s]
    labels[0] = np.argmax(best[0])
    for i in range(n_nodes - 1):
        labels[i + 1] = _best_next(pairwise[i if len(pairwise) > 1 else 0, labels[i]], best[i + 1])


@njit(cache=True, nogil=True)
def label_chains(unary, pairwise, transposed, starts, labels, first, last):
    """Label a range of chains."""
    best = np.empty((_longest(starts, first, last), unary.shape[1]))
    for c in range(first, last):
        nodes = slice(starts[c], starts[c + 1])
        label_chain(unary[nodes], pairwise, transposed, best, labels[nodes])


@njit(cache=True, nogil=True)
def _longest(starts, first, last):
    """Return the number of nodes of the longest of a range of chains."""
    longest = 0
    for c in range(first, last):
        longest = max(longest, starts[c + 1] - starts[c])
    return longest


@njit(cache=True, nogil=True)
def _label_by_errors(unary, pairwise, transposed, truth, weights, labels):
    """Write the labels that maximize ``loss (1 + score - score of the truth)`` (thesis, eq. 2.18).

    ``best[i, e, s]`` is the highest score of the nodes from ``i`` to the end with state ``s`` at ``i`` and
    ``e`` errors, for nodes of equal weight: O(n_nodes^2 n_states^2). Nodes of weight 0 are never wrong.
    """
    n_nodes, n_states = unary.shape
    weight = weights.max()
    best = np.full((n_nodes, n_nodes + 1, n_states), -np.inf)
    highest = np.empty(n_states)
    for s in range(n_states):
        best[n_nodes - 1, int(s != truth[n_nodes - 1] and weights[n_nodes - 1] > 0.0), s] = unary[
            n_nodes - 1, s
        ]
    for i in range(n_nodes - 2, -1, -1):
        for e in range(n_nodes - i):
            _highest_after(transposed[0], best[i + 1, e], highest)
            for s in range(n_states):
                wrong = int(s != truth[i] and weights[i] > 0.0)
                best[i, e + wrong, s] = unary[i, s] + highest[s]
    own = unary[0, truth[0]]
    for i in range(1, n_nodes):
        own += unary[i, truth[i]] + pairwise[0, truth[i - 1], truth[i]]
    top, errors = 0.0, 0
    for e in range(1, n_nodes + 1):
        violation = e * weight * (1.0 + best[0, e].max() - own)
        if violation > top:
            top, errors = violation, e
    if errors == 0:
        labels[:] = truth
        return
    labels[0] = np.argmax(best[0, errors])
    for i in range(n_nodes - 1):
        errors -= int(labels[i] != truth[i] and weights[i] > 0.0)
        labels[i + 1] = _best_next(pairwise[0, labels[i]], best[i + 1, errors])


@njit(cache=True, nogil=True)
def violate_chain(scores, pairwise, transposed, truth, weights, slack, best, labels):
    """Write the most violated labels; return loss and margin, or the truth and 0, 0 if none is violated.

    ``weights`` holds the loss of a wrong label for each node, the margin is the score of the labels minus
    that of the truth. ``scores`` is overwritten.
    """
    n_nodes, n_states = scores.shape
    if slack:
        _label_by_errors(scores, pairwise, transposed, truth, weights, labels)
    else:
        for i in range(n_nodes):
            own = scores[i, truth[i]]
            for s in range(n_states):
                scores[i, s] += weights[i]
            scores[i, truth[i]] = own
        label_chain(scores, pairwise, transposed, best, labels)
    loss, margin = 0.0, 0.0
    for i in range(n_nodes):
        if labels[i] != truth[i]:
            loss += weights[i]
            margin += scores[i, labels[i]] - scores[i, truth[i]]
            if not slack:
                margin -= weights[i]
    for i in range(n_nodes - 1):
        margin += pairwise[0, labels[i], labels[i + 1]] - pairwise[0, truth[i], truth[i + 1]]
    violation = loss * (1.0 + margin) if slack else loss + margin
    if violation > 0.0:
        return loss, margin
    labels[:] = truth
    return 0.0, 0.0


@njit(cache=True, nogil=True)
def violate_chains(
    scores, pairwise, transposed, starts, truth, weights, slack, labels, losses, margins, first, last
):
    """Find the most violated labels of a range of chains, with their losses and margins."""
    best = np.empty((_longest(starts, first, last), scores.shape[1]))
    for c in range(first, last):
        nodes = slice(starts[c], starts[c + 1])
        losses[c], margins[c] = violate_chain(
            scores[nodes],
            pairwise,
            transposed,
            truth[nodes],
            weights[nodes],
            slack,
            best,
            labels[nodes],
        )


@njit(cache=True, nogil=True)
def add_difference(U, P, features, truth, labels, columns, factor):
    """Add ``factor (phi(x, labels) - phi(x, truth))`` to unary and pairwise weights."""
    for i in range(len(truth)):
        if labels[i] != truth[i]:
            to, away = U[labels[i]], U[truth[i]]
            for k in range(features.shape[1]):
                to[k] += factor * features[i, k]
                away[k] -= factor * features[i, k]
    for i in range(len(truth) - 1):
        P[columns[labels[i], labels[i + 1]]] += factor
        P[columns[truth[i], truth[i + 1]]] -= factor


@njit(cache=True, nogil=True)
def add_differences(U, P, features, starts, truth, labels, columns, factors):
    """Add the differences of all chains, each with its factor."""
    for c in range(len(factors)):
        if factors[c] != 0.0:
            nodes = slice(starts[c], starts[c + 1])
            add_difference(U, P, features[nodes], truth[nodes], labels[nodes], columns, factors[c])
