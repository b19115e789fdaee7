"""Maximum flow by incremental breadth-first search.

Two trees of shortest residual paths grow level by level, one from the source and one to the sink. The label
of a node is its distance from the source in the first tree, minus its distance to the sink in the second, and
0 outside of both. Distances never decrease, and each augmentation empties at least one arc or terminal, so
that the number of augmentations is at most the number of nodes times the number of arcs, whatever the
capacities (A. V. Goldberg, S. Hed, H. Kaplan, R. E. Tarjan, R. F. Werneck: Maximum flows by incremental
breadth-first search, ESA 2011).

The arcs of node ``v`` are ``first[v] .. first[v + 1] - 1``; ``reverse[a]`` is the arc from ``head[a]`` back.
"""

import numpy as np
from numba import njit

TERMINAL, ORPHAN, FREE = -1, -2, -3  # instead of the arc to the parent
SOURCE, SINK = 0, 1  # the two trees
LOWEST, COUNT = 0, 1  # distance of the first orphan of a tree, and number of orphans


@njit(cache=True, nogil=True)
def arrange_arcs(edges, n_nodes):
    """Return the arcs of both directions sorted by node: first, head, reverse, and the place of each edge."""
    n_edges = len(edges)
    first = np.zeros(n_nodes + 1, dtype=np.int32)
    for e in range(n_edges):
        first[edges[e, 0] + 1] += 1
        first[edges[e, 1] + 1] += 1
    for v in range(n_nodes):
        first[v + 1] += first[v]
    free = first[:-1].copy()
    head = np.empty(2 * n_edges, dtype=np.int32)
    reverse = np.empty(2 * n_edges, dtype=np.int32)
    place = np.empty(n_edges, dtype=np.int32)
    for e in range(n_edges):
        i, j = edges[e]
        a, b = free[i], free[j]
        free[i] += 1
        free[j] += 1
        head[a], head[b] = j, i
        reverse[a], reverse[b] = b, a
        place[e] = a
    return first, head, reverse, place


@njit(cache=True, nogil=True)
def push_flow(first, head, reverse, residual, terminal):
    """Push a maximum flow through residual capacities in place; return the nodes on the source's side.

    ``terminal[v]`` is the residual capacity from the source to ``v``, or minus that from ``v`` to the sink.
    """
    n = len(terminal)
    push_between_neighbors(first, head, reverse, residual, terminal)
    label = np.zeros(n, dtype=np.int32)
    parent = np.full(n, FREE, dtype=np.int32)
    waiting = np.full((2, n + 3), -1, dtype=np.int32)  # first orphan of each tree and distance
    following = np.full(n, -1, dtype=np.int32)  # next orphan of the same distance
    # Nodes of the last level of each tree, and of the level that grows.
    current, grown = np.empty((2, n), dtype=np.int32), np.empty((2, n), dtype=np.int32)
    n_current, n_grown = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    depth, limit = np.ones(2, dtype=np.int32), np.ones(2, dtype=np.int32)
    left, returned = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    candidate = np.empty(n, dtype=np.int32)
    orphans = np.zeros((2, 2), dtype=np.int64)
    orphans[:, LOWEST] = n
    trees = label, parent, waiting, following, orphans, left, returned, candidate
    levels = current, grown, n_current, n_grown, depth, limit
    for v in range(n):
        if terminal[v] != 0:
            tree = SOURCE if terminal[v] > 0 else SINK
            label[v] = 1 - 2 * tree
            parent[v] = TERMINAL
            current[tree, n_current[tree]] = v
            n_current[tree] += 1
    while n_current[SOURCE] > 0 and n_current[SINK] > 0:
        tree = SOURCE if n_current[SOURCE] <= n_current[SINK] else SINK
        limit[tree] += 1
        grow(first, head, reverse, residual, terminal, tree, trees, levels)
        depth[tree] += 1
        current[tree, : n_grown[tree]] = grown[tree, : n_grown[tree]]
        n_current[tree], n_grown[tree] = n_grown[tree], 0
    # The tree without a last level holds all nodes on its side of the residual graph.
    if n_current[SOURCE] == 0:
        return label > 0
    return label >= 0


@njit(cache=True, nogil=True)
def push_between_neighbors(first, head, reverse, residual, terminal):
    """Push flow along the shortest paths, from the source over one arc to the sink."""
    for v in range(len(terminal)):
        a = first[v]
        while terminal[v] > 0 and a < first[v + 1]:
            w = head[a]
            if terminal[w] < 0:
                amount = min(terminal[v], residual[a], -terminal[w])
                residual[a] -= amount
                residual[reverse[a]] += amount
                terminal[v] -= amount
                terminal[w] += amount
            a += 1


@njit(inline="always")
def grow(first, head, reverse, residual, terminal, tree, trees, levels):
    """Add a level to a tree, and push flow through each arc where it meets the other."""
    label, parent = trees[0], trees[1]
    current, grown, n_current, n_grown, depth, _ = levels
    sign = 1 - 2 * tree
    last = sign * depth[tree]
    k = 0
    while k < n_current[tree]:
        v = current[tree, k]
        k += 1
        a = first[v]
        while label[v] == last and a < first[v + 1]:
            w = head[a]
            other = sign * label[w]
            if other <= 0 and (residual[a] if tree == SOURCE else residual[reverse[a]]) > 0:
                if other < 0:
                    through = a if tree == SOURCE else reverse[a]
                    augment(head, reverse, residual, terminal, through, trees)
                    adopt_orphans(first, head, reverse, residual, SOURCE, trees, levels)
                    adopt_orphans(first, head, reverse, residual, SINK, trees, levels)
                    continue  # with the same arc, unless it is empty now
                label[w] = last + sign
                parent[w] = reverse[a]
                grown[tree, n_grown[tree]] = w
                n_grown[tree] += 1
            a += 1


@njit(inline="always")
def augment(head, reverse, residual, terminal, through, trees):
    """Push flow along the path through an arc from the first tree to the second."""
    parent = trees[1]
    start, stop = head[reverse[through]], head[through]
    amount = residual[through]
    v = start
    while parent[v] != TERMINAL:
        amount = min(amount, residual[reverse[parent[v]]])
        v = head[parent[v]]
    amount = min(amount, terminal[v])
    v = stop
    while parent[v] != TERMINAL:
        amount = min(amount, residual[parent[v]])
        v = head[parent[v]]
    amount = min(amount, -terminal[v])

    residual[through] -= amount
    residual[reverse[through]] += amount
    v = start
    while parent[v] != TERMINAL:
        a = parent[v]
        up = head[a]
        residual[a] += amount
        residual[reverse[a]] -= amount
        if residual[reverse[a]] == 0:
            leave_parent(v, SOURCE, trees)
        v = up
    terminal[v] -= amount
    if terminal[v] == 0:
        leave_parent(v, SOURCE, trees)
    v = stop
    while parent[v] != TERMINAL:
        a = parent[v]
        up = head[a]
        residual[a] -= amount
        residual[reverse[a]] += amount
        if residual[a] == 0:
            leave_parent(v, SINK, trees)
        v = up
    terminal[v] += amount
    if terminal[v] == 0:
        leave_parent(v, SINK, trees)


@njit(inline="always")
def leave_parent(v, tree, trees):
    """Make ``v`` an orphan."""
    label, parent, waiting, following, orphans = trees[0], trees[1], trees[2], trees[3], trees[4]
    parent[v] = ORPHAN
    level = abs(label[v])
    orphans[tree, LOWEST] = min(orphans[tree, LOWEST], level)
    orphans[tree, COUNT] += 1
    following[v] = waiting[tree, level]
    waiting[tree, level] = v


@njit(inline="always")
def adopt_orphans(first, head, reverse, residual, tree, trees, levels):
    """Find new parents of minimal distance for all orphans of a tree, and release those without any.

    First all nodes that cannot keep their distance leave the tree; then those of them that have a residual
    path from the rest come back in the order of their distances.
    """
    label, parent, waiting, following, orphans, left, returned, candidate = trees
    limit = levels[5][tree]
    sign = 1 - 2 * tree
    n_left = 0
    level = orphans[tree, LOWEST]
    while orphans[tree, COUNT] > 0:
        while waiting[tree, level] >= 0:
            v = waiting[tree, level]
            waiting[tree, level] = following[v]
            orphans[tree, COUNT] -= 1
            distance, arc = nearest(first, head, reverse, residual, v, tree, level - 1, label)
            if arc >= 0 and distance < level:
                parent[v] = arc
                continue
            label[v] = 0
            left[n_left] = v
            n_left += 1
            for a in range(first[v], first[v + 1]):
                if parent[head[a]] == reverse[a]:
                    leave_parent(head[a], tree, trees)
        level += 1
    orphans[tree, LOWEST] = len(label)

    n_waiting, least = 0, limit
    for k in range(n_left):
        v = left[k]
        distance, candidate[v] = nearest(first, head, reverse, residual, v, tree, 0, label)
        if candidate[v] >= 0 and distance < limit:
            following[v] = waiting[tree, distance + 1]
            waiting[tree, distance + 1] = v
            n_waiting += 1
            least = min(least, distance + 1)
    n_returned, k = 0, 0
    level = least
    while n_waiting > 0 or k < n_returned:
        while waiting[tree, level] >= 0:
            v = waiting[tree, level]
            waiting[tree, level] = following[v]
            n_waiting -= 1
            if label[v] == 0:
                join(v, tree, level, candidate[v], trees, levels)
                returned[n_returned] = v
                n_returned += 1
        last = n_returned
        while k < last:
            v = returned[k]
            k += 1
            if level == limit:
                continue
            for a in range(first[v], first[v + 1]):
                w = head[a]
                if parent[w] == ORPHAN and label[w] == 0:
                    if (residual[a] if tree == SOURCE else residual[reverse[a]]) > 0:
                        join(w, tree, level + 1, reverse[a], trees, levels)
                        returned[n_returned] = w
                        n_returned += 1
        level += 1
    for k in range(n_left):
        v = left[k]
        if label[v] == 0:
            parent[v] = FREE
            distance, arc = nearest(first, head, reverse, residual, v, 1 - tree, 0, label)
            if arc >= 0 and distance < levels[5][1 - tree]:
                join(v, 1 - tree, distance + 1, arc, trees, levels)


@njit(inline="always")
def nearest(first, head, reverse, residual, v, tree, enough, label):
    """Return the smallest distance of a possible parent of ``v`` in a tree, and the arc to it or -1.

    The search stops at a parent of the distance ``enough``.
    """
    sign = 1 - 2 * tree
    best, arc = 2147483647, -1
    for a in range(first[v], first[v + 1]):
        distance = sign * label[head[a]]
        if 0 < distance < best and (residual[reverse[a]] if tree == SOURCE else residual[a]) > 0:
            best, arc = distance, a
            if distance == enough:
                break
    return best, arc


@njit(inline="always")
def join(v, tree, level, arc, trees, levels):
    """Make ``v`` a node of a tree, which is to be searched if it is in one of the last levels."""
    label, parent = trees[0], trees[1]
    current, grown, n_current, n_grown, depth, _ = levels
    label[v] = (1 - 2 * tree) * level
    parent[v] = arc
    if level == depth[tree]:
        current[tree, n_current[tree]] = v
        n_current[tree] += 1
    elif level > depth[tree]:
        grown[tree, n_grown[tree]] = v
        n_grown[tree] += 1
