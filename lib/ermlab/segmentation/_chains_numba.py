"""Kernels of chains: highest-scoring labelings by dynamic programming (the Viterbi algorithm).

Chains are concatenated: ``starts[c]`` to ``starts[c + 1]`` are the nodes of chain ``c``. ``pairwise`` holds
the scores of the states of nodes ``i`` and ``i + 1``, one matrix for all edges or one per edge, and
``transposed`` the same with the states exchanged, so that inner loops run along rows.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def suffix_scores(unary, transposed, start, stop, best, highest):
    """Write to ``best[i, s]`` the highest score of the nodes from ``i`` to the end with state ``s`` at ``i``.

    ``highest`` is workspace with one entry per state.
    """
    n_states = unary.shape[1]
    for s in range(n_states):
        best[stop - 1, s] = unary[stop - 1, s]
    for i in range(stop - 2, start - 1, -1):
        scores = transposed[i - start if len(transposed) > 1 else 0]
        for s in range(n_states):
            highest[s] = -np.inf
        for t in range(n_states):
            rest = best[i + 1, t]
            for s in range(n_states):
                score = scores[t, s] + rest
                highest[s] = score if score > highest[s] else highest[s]
        for s in range(n_states):
            best[i, s] = unary[i, s] + highest[s]


@njit(cache=True, nogil=True)
def decode(pairwise, start, stop, best, labels):
    """Write the labels of the highest score, the first in lexicographic order if several have it."""
    n_states = best.shape[1]
    label = 0
    for s in range(1, n_states):
        if best[start, s] > best[start, label]:
            label = s
    labels[start] = label
    for i in range(start, stop - 1):
        scores = pairwise[i - start if len(pairwise) > 1 else 0, labels[i]]
        label = 0
        for t in range(1, n_states):
            if scores[t] + best[i + 1, t] > scores[label] + best[i + 1, label]:
                label = t
        labels[i + 1] = label


@njit(cache=True, nogil=True)
def label_chains(unary, pairwise, transposed, starts, best, labels, first, last):
    """Label a range of chains, each with the highest score."""
    highest = np.empty(unary.shape[1])
    for c in range(first, last):
        if starts[c + 1] > starts[c]:
            suffix_scores(unary, transposed, starts[c], starts[c + 1], best, highest)
            decode(pairwise, starts[c], starts[c + 1], best, labels)
