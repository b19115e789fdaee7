"""Upper bounds by messages between neighboring nodes.

The message ``messages[a]`` is sent along arc ``a``, added to the scores of the states of its head and
subtracted from the pairwise scores of its edge, so that the score of no labeling changes.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def sweep(graph, edge, place, unary, pairwise, messages, backward, labels):
    """Send messages to the later neighbors of each node, in the order of the nodes or the opposite.

    Sequential tree-reweighted message passing (V. Kolmogorov: Convergent tree-reweighted message passing for
    energy minimization, PAMI 2006). Return the bound of the trees, which sweeps never raise; ``labels`` are
    chosen greedily in the same order.
    """
    first, head, reverse = graph
    n_nodes, n_states = unary.shape
    belief, choice = np.empty(n_states), np.empty(n_states)
    bound = 0.0
    for step in range(n_nodes):
        s = n_nodes - 1 - step if backward else step
        belief[:] = unary[s]
        choice[:] = unary[s]
        n_later = 0
        for a in range(first[s], first[s + 1]):
            t, incoming = head[a], messages[reverse[a]]
            belief += incoming
            if (t < s) == backward:
                n_later += 1
                choice += incoming
            else:
                for x in range(n_states):
                    choice[x] += score(pairwise, edge[a], place[edge[a]] == a, x, labels[t])
        labels[s] = np.argmax(choice)
        n_earlier = first[s + 1] - first[s] - n_later
        if n_later < n_earlier or n_later == 0:
            bound += (1.0 - n_later / max(n_earlier, 1)) * np.max(belief)
        share = 1.0 / max(n_later, n_earlier, 1)
        for a in range(first[s], first[s + 1]):
            if (head[a] < s) == backward:
                bound += send(a, reverse[a], edge[a], place[edge[a]] == a, share, belief, pairwise, messages)
    return bound


@njit(cache=True, nogil=True)
def send(a, opposite, e, ahead, share, belief, pairwise, messages):
    """Update the message along arc ``a``, with maximum 0; return what was subtracted for that."""
    n_states = len(belief)
    highest = -np.inf
    for t in range(n_states):
        best = -np.inf
        for s in range(n_states):
            value = share * belief[s] - messages[opposite, s] + score(pairwise, e, ahead, s, t)
            best = max(best, value)
        messages[a, t] = best
        highest = max(highest, best)
    for t in range(n_states):
        messages[a, t] -= highest
    return highest


@njit(cache=True, nogil=True)
def score(pairwise, e, ahead, s, t):
    """Return the pairwise score of states ``s`` and ``t`` of the tail and the head of an arc."""
    k = e if len(pairwise) > 1 else 0
    return pairwise[k, s, t] if ahead else pairwise[k, t, s]


@njit(cache=True, nogil=True)
def local_bound(edges, unary, pairwise, ahead, back):
    """Return the sum of the highest scores of all nodes and edges, given messages to ``j`` and to ``i``."""
    n_states = unary.shape[1]
    belief = unary.copy()
    bound = 0.0
    for e in range(len(edges)):
        best = -np.inf
        for s in range(n_states):
            belief[edges[e, 0], s] += back[e, s]
            belief[edges[e, 1], s] += ahead[e, s]
            for t in range(n_states):
                best = max(best, score(pairwise, e, True, s, t) - back[e, s] - ahead[e, t])
        bound += best
    for i in range(len(unary)):
        bound += np.max(belief[i])
    return bound


@njit(cache=True, nogil=True)
def score_range(unary, pairwise, n_edges):
    """Return an upper bound of the difference between the highest and the lowest score of a labeling."""
    total = 0.0
    for i in range(len(unary)):
        total += np.max(unary[i]) - np.min(unary[i])
    for e in range(len(pairwise)):
        total += (n_edges if len(pairwise) == 1 else 1) * (np.max(pairwise[e]) - np.min(pairwise[e]))
    return total
