"""Maximum flow by incremental breadth-first search.

Two trees of shortest residual paths grow level by level, one from the source and one to the sink. The label
of a node is its distance from the source in the first tree, minus its distance to the sink in the second, and
0 outside of both. Distances never decrease, and each augmentation empties at least one arc or terminal, so
that the number of augmentations is at most the number of nodes times the number of arcs, whatever the
capacities (A. V. Goldberg, S. Hed, H. Kaplan, R. E. Tarjan, R. F. Werneck: Maximum flows by incremental
breadth-first search, ESA 2011).

The arcs of node ``v`` are ``first(v) .. first(v + 1) - 1``; ``reverse(a)`` is the arc from ``head(a)`` back.
They are looked up in arrays, or computed for grids (`ermlab.segmentation._arcs_numba`).
"""

import numpy as np
from numba import njit

from ermlab.segmentation._arcs_numba import arc_head, arc_reverse, first_arc

TERMINAL, ORPHAN, FREE = -1, -2, -3  # instead of the arc to the parent
SOURCE, SINK = 0, 1  # the two trees


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
def cut_capacity(source, sink, edges, forward, backward, source_side):
    """Return the capacity of a cut."""
    total = 0.0
    for v in range(len(source)):
        total += sink[v] if source_side[v] else source[v]
    for e in range(len(edges)):
        i, j = source_side[edges[e, 0]], source_side[edges[e, 1]]
        if i != j:
            total += forward[e] if i else backward[e]
    return total


@njit(cache=True, nogil=True)
def push_between_neighbors(starts, heads, opposites, residual, terminal):
    """Push flow along the shortest paths, from the source over one arc to the sink."""

    def first(v):
        return first_arc(starts, v)

    def head(a):
        return arc_head(starts, heads, a)

    def reverse(a):
        return arc_reverse(starts, opposites, a)

    for v in range(len(terminal)):
        a = first(v)
        while terminal[v] > 0 and a < first(v + 1):
            w = head(a)
            if terminal[w] < 0:
                amount = min(terminal[v], residual[a], -terminal[w])
                residual[a] -= amount
                residual[reverse(a)] += amount
                terminal[v] -= amount
                terminal[w] += amount
            a += 1


@njit(cache=True, nogil=True)
def push_flow(starts, heads, opposites, residual, terminal):
    """Push a maximum flow through residual capacities in place; return the nodes on the source's side.

    ``terminal[v]`` is the residual capacity from the source to ``v``, or minus that from ``v`` to the sink.

    The inner functions share the arrays of the trees: numba inlines them, whereas it would count references
    to the arguments of other functions in every call. Loops over both trees keep the number of copies, and
    so the time to compile, low.
    """

    def first(v):
        return first_arc(starts, v)

    def head(a):
        return arc_head(starts, heads, a)

    def reverse(a):
        return arc_reverse(starts, opposites, a)

    n = len(terminal)
    label = np.zeros(n, dtype=np.int32)
    parent = np.full(n, FREE, dtype=np.int32)  # arc to the parent
    # Nodes of the last level of each tree, and of the level that grows.
    current, grown = np.empty((2, n), dtype=np.int32), np.empty((2, n), dtype=np.int32)
    n_current, n_grown = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    depth, limit = np.ones(2, dtype=np.int32), np.ones(2, dtype=np.int32)
    # Orphans: the first of each tree and distance, the next of the same distance, the lowest distance.
    waiting = np.full((2, n + 2), -1, dtype=np.int32)
    following = np.empty(n, dtype=np.int32)
    n_orphans, lowest = np.zeros(2, dtype=np.int64), np.full(2, n + 1, dtype=np.int64)
    # Nodes that leave a tree and return to it.
    left, returned = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    candidate = np.empty(n, dtype=np.int32)

    def leave_parent(v, tree):
        """Make ``v`` an orphan."""
        parent[v] = ORPHAN
        level = abs(label[v])
        following[v] = waiting[tree, level]
        waiting[tree, level] = v
        n_orphans[tree] += 1
        lowest[tree] = min(lowest[tree], level)

    def join(v, tree, level, arc):
        """Make ``v`` a node of a tree, which is to be searched if it is in one of the last levels."""
        label[v] = (1 - 2 * tree) * level
        parent[v] = arc
        if level == depth[tree]:
            current[tree, n_current[tree]] = v
            n_current[tree] += 1
        elif level > depth[tree]:
            grown[tree, n_grown[tree]] = v
            n_grown[tree] += 1

    def nearest(v, tree, enough):
        """Return the arc to the parent of ``v`` with the smallest distance in a tree, or -1.

        The search stops at a parent of the distance ``enough``.
        """
        best, arc = 2147483647, -1
        for a in range(first(v), first(v + 1)):
            distance = (1 - 2 * tree) * label[head(a)]
            if 0 < distance < best and (residual[reverse(a)] if tree == SOURCE else residual[a]) > 0:
                best, arc = distance, a
                if distance == enough:
                    break
        return arc

    def augment(through):
        """Push flow along the path through an arc from the first tree to the second."""
        amount = residual[through]
        for tree in range(2):
            v = head(reverse(through)) if tree == SOURCE else head(through)
            while parent[v] != TERMINAL:
                arc = reverse(parent[v]) if tree == SOURCE else parent[v]  # in the direction of the flow
                amount = min(amount, residual[arc])
                v = head(parent[v])
            amount = min(amount, (1 - 2 * tree) * terminal[v])

        residual[through] -= amount
        residual[reverse(through)] += amount
        for tree in range(2):
            v = head(reverse(through)) if tree == SOURCE else head(through)
            while parent[v] != TERMINAL:
                w = head(parent[v])
                arc = reverse(parent[v]) if tree == SOURCE else parent[v]
                residual[arc] -= amount
                residual[reverse(arc)] += amount
                if residual[arc] == 0:
                    leave_parent(v, tree)
                v = w
            terminal[v] -= (1 - 2 * tree) * amount
            if terminal[v] == 0:
                leave_parent(v, tree)

    def leave_tree(tree):
        """Remove all orphans that have no parent of the same distance as before; return their number."""
        n_left = 0
        level = lowest[tree]
        while n_orphans[tree] > 0:
            while waiting[tree, level] >= 0:
                v = waiting[tree, level]
                waiting[tree, level] = following[v]
                n_orphans[tree] -= 1
                arc = nearest(v, tree, level - 1)
                if arc >= 0 and (1 - 2 * tree) * label[head(arc)] < level:
                    parent[v] = arc
                    continue
                label[v] = 0
                left[n_left] = v
                n_left += 1
                for a in range(first(v), first(v + 1)):
                    if parent[head(a)] == reverse(a):
                        leave_parent(head(a), tree)
            level += 1
        lowest[tree] = n + 1
        return n_left

    def return_to_tree(tree, n_left):
        """Add nodes that have left a tree again, by breadth-first search from the nodes still in it."""
        n_waiting, level = 0, limit[tree]
        for k in range(n_left):
            v = left[k]
            arc = nearest(v, tree, 0)
            if arc >= 0 and (1 - 2 * tree) * label[head(arc)] < limit[tree]:
                distance = (1 - 2 * tree) * label[head(arc)] + 1
                candidate[v] = arc
                following[v] = waiting[tree, distance]
                waiting[tree, distance] = v
                n_waiting += 1
                level = min(level, distance)
        n_returned, k = 0, 0
        while n_waiting > 0 or k < n_returned:
            while waiting[tree, level] >= 0:
                v = waiting[tree, level]
                waiting[tree, level] = following[v]
                n_waiting -= 1
                if label[v] == 0:
                    join(v, tree, level, candidate[v])
                    returned[n_returned] = v
                    n_returned += 1
            if level == limit[tree]:
                break
            last = n_returned
            while k < last:
                v = returned[k]
                k += 1
                for a in range(first(v), first(v + 1)):
                    w = head(a)
                    gone = parent[w] == ORPHAN and label[w] == 0
                    if gone and (residual[a] if tree == SOURCE else residual[reverse(a)]) > 0:
                        join(w, tree, level + 1, reverse(a))
                        returned[n_returned] = w
                        n_returned += 1
            level += 1

    def change_tree(tree, n_left):
        """Release nodes that could not return to a tree; some are close enough to the other."""
        for k in range(n_left):
            v = left[k]
            if label[v] == 0:
                parent[v] = FREE
                arc = nearest(v, 1 - tree, 0)
                if arc >= 0 and (2 * tree - 1) * label[head(arc)] < limit[1 - tree]:
                    join(v, 1 - tree, (2 * tree - 1) * label[head(arc)] + 1, arc)

    def adopt_orphans(tree):
        """Find new parents of minimal distance for all orphans of a tree, and release those without any.

        First all nodes that cannot keep their distance leave the tree; then those of them that have a
        residual path from the rest come back in the order of their distances.
        """
        n_left = leave_tree(tree)
        if n_left > 0:
            return_to_tree(tree, n_left)
            change_tree(tree, n_left)

    push_between_neighbors(starts, heads, opposites, residual, terminal)
    for v in range(n):
        if terminal[v] != 0:
            join(v, SOURCE if terminal[v] > 0 else SINK, 1, TERMINAL)
    while n_current[SOURCE] > 0 and n_current[SINK] > 0:
        tree = SOURCE if n_current[SOURCE] <= n_current[SINK] else SINK
        sign = 1 - 2 * tree
        last = sign * depth[tree]
        limit[tree] += 1
        k = 0
        while k < n_current[tree]:
            v = current[tree, k]
            k += 1
            a = first(v)
            while label[v] == last and a < first(v + 1):
                w = head(a)
                other = sign * label[w]
                if other <= 0 and (residual[a] if tree == SOURCE else residual[reverse(a)]) > 0:
                    if other < 0:
                        augment(a if tree == SOURCE else reverse(a))
                        for orphaned in range(2):
                            adopt_orphans(orphaned)
                        continue  # with the same arc, unless it is empty now
                    join(w, tree, limit[tree], reverse(a))
                a += 1
        depth[tree] += 1
        current[tree, : n_grown[tree]] = grown[tree, : n_grown[tree]]
        n_current[tree], n_grown[tree] = n_grown[tree], 0
    # The tree without a last level holds all nodes on its side of the residual graph.
    if n_current[SOURCE] == 0:
        return label > 0
    return label >= 0
