"""Kernels of forests: order of the nodes, max-sum and sum-product messages.

``order`` lists each node after its parent, and ``link`` holds the edge to the parent, -1 for roots. Messages
go up from the last node to the first, and down from the first to the last: no recursion, so that a tree may
be a path of any length. ``pairwise`` holds one matrix for all edges or one per edge.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def forest_order(n_nodes, edges, order, link):
    """Write order and links of a breadth-first search; return an edge that closes a cycle, or -1.

    Roots are the first nodes of their trees.
    """
    starts = np.zeros(n_nodes + 1, dtype=np.int64)
    for e in range(len(edges)):
        starts[edges[e, 0] + 1] += 1
        starts[edges[e, 1] + 1] += 1
    for i in range(n_nodes):
        starts[i + 1] += starts[i]
    place, incident = starts[:-1].copy(), np.empty(2 * len(edges), dtype=np.int64)
    for e in range(len(edges)):
        for side in range(2):
            node = edges[e, side]
            incident[place[node]] = e
            place[node] += 1
    seen = np.zeros(n_nodes, dtype=np.bool_)
    count = 0
    for root in range(n_nodes):
        if seen[root]:
            continue
        seen[root], order[count], link[root] = True, root, -1
        done, count = count, count + 1
        while done < count:
            node = order[done]
            done += 1
            for k in range(starts[node], starts[node + 1]):
                e = incident[k]
                if e == link[node]:
                    continue
                other = edges[e, 0] + edges[e, 1] - node
                if seen[other]:
                    return e
                seen[other], order[count], link[other] = True, other, e
                count += 1
    return -1


@njit(cache=True, nogil=True)
def labeling_total(unary, edges, pairwise, labels):
    """Return the score of a labeling (thesis, eq. 2.23)."""
    total = 0.0
    for i in range(len(labels)):
        total += unary[i, labels[i]]
    for e in range(len(edges)):
        total += pairwise[e if len(pairwise) > 1 else 0, labels[edges[e, 0]], labels[edges[e, 1]]]
    return total


@njit(cache=True, nogil=True)
def _max_message(scores, sender_first, values, out):
    """Write ``max_t score(s, t) + values[t]`` for each state ``s`` of the receiver."""
    n_states = len(values)
    for s in range(n_states):
        highest = -np.inf
        for t in range(n_states):
            highest = max(highest, (scores[t, s] if sender_first else scores[s, t]) + values[t])
        out[s] = highest


@njit(cache=True, nogil=True)
def max_sum(unary, edges, pairwise, order, link, labels):
    """Write the labels of the highest score; the lowest label given that of the parent if several have it."""
    n_nodes, n_states = unary.shape
    best, message = unary.copy(), np.empty(n_states)
    for place in range(n_nodes - 1, -1, -1):
        node = order[place]
        e = link[node]
        if e >= 0:
            scores = pairwise[e if len(pairwise) > 1 else 0]
            parent = edges[e, 0] + edges[e, 1] - node
            _max_message(scores, edges[e, 0] == node, best[node], message)
            for s in range(n_states):
                best[parent, s] += message[s]
    for place in range(n_nodes):
        node = order[place]
        e = link[node]
        label, highest = 0, -np.inf
        for t in range(n_states):
            score = best[node, t]
            if e >= 0:
                scores = pairwise[e if len(pairwise) > 1 else 0]
                if edges[e, 0] == node:
                    score += scores[t, labels[edges[e, 1]]]
                else:
                    score += scores[labels[edges[e, 0]], t]
            if score > highest:
                label, highest = t, score
        labels[node] = label


@njit(cache=True, nogil=True)
def _shift_to_zero(values):
    """Subtract the largest value; return it."""
    largest = values[0]
    for s in range(1, len(values)):
        largest = max(largest, values[s])
    for s in range(len(values)):
        values[s] -= largest
    return largest


@njit(cache=True, nogil=True)
def _sum_message(scores, sender_first, values, out):
    """Write ``log sum_t exp(score(s, t) + values[t])`` for each state ``s`` of the receiver."""
    _max_message(scores, sender_first, values, out)
    n_states = len(values)
    for s in range(n_states):
        total = 0.0
        for t in range(n_states):
            total += np.exp((scores[t, s] if sender_first else scores[s, t]) + values[t] - out[s])
        out[s] += np.log(total)


@njit(cache=True, nogil=True)
def _exponentials(table):
    """Replace log-weights by probabilities; return the logarithm of their sum before."""
    largest = table.max()
    total = 0.0
    for s in range(table.shape[0]):
        for t in range(table.shape[1]):
            table[s, t] = np.exp(table[s, t] - largest)
            total += table[s, t]
    table /= total
    return largest + np.log(total)


@njit(cache=True, nogil=True)
def sum_product(unary, edges, pairwise, order, link, nodes, pairs):
    """Write the marginals of nodes and edges; return the logarithm of the partition function.

    All messages are logarithms, shifted so that their largest entry is 0: they stay as small as the scores,
    and the sum of the shifts is part of the log partition function.
    """
    n_nodes, n_states = unary.shape
    inside, outside = unary.copy(), np.zeros((n_nodes, n_states))
    up = np.zeros((n_nodes, n_states))
    log_partition = 0.0
    for place in range(n_nodes - 1, -1, -1):
        node = order[place]
        log_partition += _shift_to_zero(inside[node])
        e = link[node]
        if e >= 0:
            parent = edges[e, 0] + edges[e, 1] - node
            scores = pairwise[e if len(pairwise) > 1 else 0]
            _sum_message(scores, edges[e, 0] == node, inside[node], up[node])
            log_partition += _shift_to_zero(up[node])
            for s in range(n_states):
                inside[parent, s] += up[node, s]
    others = np.empty(n_states)
    for place in range(n_nodes):
        node = order[place]
        e = link[node]
        if e >= 0:
            parent = edges[e, 0] + edges[e, 1] - node
            scores = pairwise[e if len(pairwise) > 1 else 0]
            for s in range(n_states):
                others[s] = inside[parent, s] + outside[parent, s] - up[node, s]
            _shift_to_zero(others)
            _sum_message(scores, edges[e, 0] == parent, others, outside[node])
            _shift_to_zero(outside[node])
            parent_first = edges[e, 0] == parent
            for s in range(n_states):
                for t in range(n_states):
                    first, second = (s, t) if parent_first else (t, s)
                    pairs[e, first, second] = scores[first, second] + others[s] + inside[node, t]
            _exponentials(pairs[e])
        for s in range(n_states):
            nodes[node, s] = inside[node, s] + outside[node, s]
        total = _exponentials(nodes[node : node + 1])
        if e < 0:
            log_partition += total
    return log_partition
