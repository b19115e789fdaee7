"""Ward's agglomerative clustering of weighted points.

Merging clusters of weights a and b and means x and y adds ``a b / (a + b) |x - y|^2`` to the sum of squares
within clusters; the pair with the smallest increase is merged until one cluster is left.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def ward_line(values, weights):
    """Merge numbers given in ascending order; return the (n - 1, 2) pairs of clusters in order.

    The cheapest pair is always one of neighbors, so a heap of neighbors suffices: O(n log n). (For
    ``x < z < y``, if merging z with x and with y both cost at least s, merging x with y costs more than s.)
    Clusters are numbered by their first point.
    """
    n = len(values)
    means, sizes = values.copy(), weights.astype(np.float64)
    left, right = np.arange(-1, n - 1), np.arange(1, n + 1)
    # Entries of the heap: a cost and the left cluster of the pair; outdated if that was merged since.
    costs, firsts, versions = np.empty(3 * n), np.empty(3 * n, np.int64), np.empty(3 * n, np.int64)
    version = np.zeros(n, dtype=np.int64)
    used = 0
    for i in range(n - 1):
        used = _push(costs, firsts, versions, used, _cost_line(means, sizes, i, i + 1), i, 0)
    merges = np.empty((max(n - 1, 0), 2), dtype=np.int64)
    done = 0
    while done < n - 1:
        i, stamp = firsts[0], versions[0]
        used = _pop(costs, firsts, versions, used)
        if stamp != version[i]:
            continue
        j = right[i]
        merges[done, 0], merges[done, 1] = i, j
        done += 1
        total = sizes[i] + sizes[j]
        means[i] = (sizes[i] * means[i] + sizes[j] * means[j]) / total
        sizes[i] = total
        right[i] = right[j]
        version[j] = -1
        version[i] += 1
        if right[i] < n:
            left[right[i]] = i
            used = _push(costs, firsts, versions, used, _cost_line(means, sizes, i, right[i]), i, version[i])
        if left[i] >= 0:
            k = left[i]
            version[k] += 1
            used = _push(costs, firsts, versions, used, _cost_line(means, sizes, k, i), k, version[k])
    return merges


@njit(cache=True, nogil=True)
def _cost_line(means, sizes, i, j):
    return sizes[i] * sizes[j] / (sizes[i] + sizes[j]) * (means[i] - means[j]) ** 2


@njit(cache=True, nogil=True)
def _before(costs, firsts, i, j):
    return costs[i] < costs[j] or (costs[i] == costs[j] and firsts[i] < firsts[j])


@njit(cache=True, nogil=True)
def _swap(costs, firsts, versions, i, j):
    costs[i], costs[j] = costs[j], costs[i]
    firsts[i], firsts[j] = firsts[j], firsts[i]
    versions[i], versions[j] = versions[j], versions[i]


@njit(cache=True, nogil=True)
def _push(costs, firsts, versions, used, cost, first, version):
    costs[used], firsts[used], versions[used] = cost, first, version
    i = used
    while i > 0 and _before(costs, firsts, i, (i - 1) // 2):
        _swap(costs, firsts, versions, i, (i - 1) // 2)
        i = (i - 1) // 2
    return used + 1


@njit(cache=True, nogil=True)
def _pop(costs, firsts, versions, used):
    used -= 1
    costs[0], firsts[0], versions[0] = costs[used], firsts[used], versions[used]
    i = 0
    while 2 * i + 1 < used:
        child = 2 * i + 1
        if child + 1 < used and _before(costs, firsts, child + 1, child):
            child += 1
        if not _before(costs, firsts, child, i):
            break
        _swap(costs, firsts, versions, i, child)
        i = child
    return used


@njit(cache=True, nogil=True)
def ward_chain(points, weights):
    """Merge points (n, d); return the (n - 1, 2) pairs of clusters, numbered by a point of each, and costs.

    Chains of nearest neighbors give the same merges as taking the cheapest pair each time, unless costs are
    equal; the caller sorts them by cost. O(n^2 d) time and O(n d) memory, without a matrix of distances.
    """
    n = len(points)
    means, sizes = points.copy(), weights.astype(np.float64)
    alive, n_alive = np.empty(n, dtype=np.int64), n
    place = np.empty(n, dtype=np.int64)  # index of each cluster in ``alive``
    chain = np.empty(n, dtype=np.int64)
    link = np.empty(n, dtype=np.int64)  # index of each cluster in ``chain``, or -1
    for i in range(n):
        alive[i], place[i], link[i] = i, i, -1
    length = 0
    pairs, costs = np.empty((max(n - 1, 0), 2), dtype=np.int64), np.empty(max(n - 1, 0))
    for done in range(n - 1):
        if length == 0:
            chain[0] = alive[0]
            link[alive[0]] = 0
            length = 1
        while True:
            i = chain[length - 1]
            # The predecessor in the chain wins ties, so that the chain ends.
            j = chain[length - 2] if length > 1 else -1
            best = _cost(means, sizes, i, j, np.inf) if length > 1 else np.inf
            for a in range(n_alive):
                k = alive[a]
                if k != i:
                    cost = _cost(means, sizes, i, k, best)
                    if cost < best or j < 0:
                        j, best = k, cost
            if length > 1 and j == chain[length - 2]:
                break
            if link[j] >= 0:
                # Costs fall along the chain, so that only rounding in the means of merged clusters can make a
                # member of the chain the nearest again. Go back to it: the next pair is cheaper than the
                # last.
                while length > link[j] + 1:
                    length -= 1
                    link[chain[length]] = -1
                continue
            chain[length] = j
            link[j] = length
            length += 1
        length -= 2
        link[i] = link[j] = -1
        i, j = min(i, j), max(i, j)
        pairs[done, 0], pairs[done, 1], costs[done] = i, j, best
        total = sizes[i] + sizes[j]
        for d in range(points.shape[1]):
            means[i, d] = (sizes[i] * means[i, d] + sizes[j] * means[j, d]) / total
        sizes[i] = total
        n_alive -= 1
        alive[place[j]] = alive[n_alive]
        place[alive[n_alive]] = place[j]
    return pairs, costs


@njit(cache=True, nogil=True)
def _cost(means, sizes, i, j, enough):
    """Return the cost of merging clusters i and j, or a part of it that exceeds ``enough``."""
    factor = sizes[i] * sizes[j] / (sizes[i] + sizes[j])
    total = 0.0
    for d in range(means.shape[1]):
        total += (means[i, d] - means[j, d]) ** 2
        if factor * total > enough:
            break
    return factor * total


@njit(cache=True, nogil=True)
def cut(merges, n, n_clusters):
    """Return the cluster of each of n points before the last merges, numbered by first point."""
    parent = np.arange(n)
    for step in range(n - n_clusters):
        a, b = _root(parent, merges[step, 0]), _root(parent, merges[step, 1])
        parent[max(a, b)] = min(a, b)
    numbers = np.full(n, -1, dtype=np.int64)
    clusters = np.empty(n, dtype=np.int64)
    found = 0
    for v in range(n):
        root = _root(parent, v)
        if numbers[root] < 0:
            numbers[root] = found
            found += 1
        clusters[v] = numbers[root]
    return clusters


@njit(cache=True, nogil=True)
def _root(parent, v):
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


@njit(cache=True, nogil=True)
def nearest_rows(centroids, values):
    """Return the nearest centroid of each value, the first of several equally near."""
    nearest = np.zeros(len(values), dtype=np.int64)
    for i in range(len(values)):
        best = np.inf
        for k in range(len(centroids)):
            distance = 0.0
            for d in range(values.shape[1]):
                distance += (values[i, d] - centroids[k, d]) ** 2
                if distance >= best:
                    break
            if distance < best:
                nearest[i], best = k, distance
    return nearest
