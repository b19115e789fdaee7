"""Compiled loops of `ermlab.kernels.weisfeiler_lehman`.

The signature of a node is its own label followed by the sorted labels of its neighbors. The signatures of all
nodes are stored in one flat array: that of node v begins at ``indptr[v] + v``. Equal signatures are found
with a hash table; where hashes are equal, the signatures themselves are compared.

The innermost loops count in unsigned integers, which saves the test for negative indices.
"""

import numpy as np
from numba import njit

_SMALL = 32  # nodes up to which sorting by insertion is faster than counting digits
_DIGIT_BITS = 10
_N_DIGITS = 1 << _DIGIT_BITS
_ONE = np.uint64(1)
_SEED = np.uint64(0x9E3779B97F4A7C15)  # not 0, for which any number of labels 0 would have the hash 0


@njit(cache=True, nogil=True)
def first_one_way_edge(indptr, neighbours):
    """Return an edge (v, u) of which (u, v) is missing, or (-1, -1).

    Nodes are visited in ascending order, so each is the next unvisited neighbor of its neighbors.
    """
    following = indptr[:-1].copy()
    for v in range(np.uint64(len(following))):
        for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
            u = np.uint64(neighbours[e])
            at = np.uint64(following[u])
            if at == np.uint64(indptr[u + _ONE]) or np.uint64(neighbours[at]) > v:
                return np.int64(v), np.int64(u)
            if np.uint64(neighbours[at]) < v:
                return np.int64(u), np.int64(neighbours[at])
            following[u] += 1
    return -1, -1


@njit(cache=True, nogil=True)
def sort_and_count(labels, starts, first, last, order, columns, counts, n_distinct, squares):
    """Sort the nodes of each graph by their label, and count each label.

    The labels of graph g that occur, ascending, and their counts go to the first ``n_distinct[g]`` places of
    the graph's part of ``columns`` and ``counts``; the sum of squared counts is added to ``squares[g]``.
    """
    largest = 0
    for g in range(first, last):
        largest = max(largest, starts[g + 1] - starts[g])
    buffer = np.empty(largest, dtype=order.dtype)
    histogram = np.empty(_N_DIGITS, dtype=np.int32)
    for g in range(first, last):
        begin, end = starts[g], starts[g + 1]
        _sort_nodes(labels, begin, end, order, buffer, histogram)
        at = begin - 1
        for i in range(begin, end):
            label = labels[order[i]]
            if at < begin or columns[at] != label:
                at += 1
                columns[at] = label
                counts[at] = 0
            counts[at] += 1
        n_distinct[g] = at + 1 - begin
        for i in range(begin, at + 1):
            squares[g] += float(counts[i]) ** 2


@njit(cache=True, nogil=True)
def _sort_nodes(labels, begin, end, order, buffer, histogram):
    """Write the nodes of one graph to ``order[begin:end]`` by ascending label, in linear time."""
    for v in range(begin, end):
        order[v] = v
    if end - begin <= _SMALL:
        for i in range(begin + 1, end):
            v = order[i]
            j = i
            while j > begin and labels[order[j - 1]] > labels[v]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = v
        return
    largest = 0
    for v in range(begin, end):
        largest = max(largest, labels[v])
    shift = 0
    while largest >> shift:
        histogram[:] = 0
        for v in range(begin, end):
            histogram[(labels[v] >> shift) & (_N_DIGITS - 1)] += 1
        place = 0
        for digit in range(_N_DIGITS):
            place += histogram[digit]
            histogram[digit] = place - histogram[digit]
        for i in range(begin, end):
            digit = (labels[order[i]] >> shift) & (_N_DIGITS - 1)
            buffer[histogram[digit]] = order[i]
            histogram[digit] += 1
        for i in range(begin, end):
            order[i] = buffer[i - begin]
        shift += _DIGIT_BITS


@njit(cache=True, nogil=True)
def write_signatures(labels, starts, indptr, neighbours, order, first, last, ends, signatures, hashes):
    """Write the signature and its hash for each node of the graphs ``first`` to ``last - 1``.

    Nodes, visited by ascending label, append their label to the signatures of their neighbors, which are
    therefore sorted, in time linear in the edges. ``ends`` is a buffer of one number per node.
    """
    for g in range(first, last):
        begin, end = np.uint64(starts[g]), np.uint64(starts[g + 1])
        for v in range(begin, end):
            at = np.uint64(indptr[v]) + v
            signatures[at] = labels[v]
            hashes[v] = _mix(_SEED, labels[v])
            ends[v] = at + _ONE
        for i in range(begin, end):
            v = np.uint64(order[i])
            label = labels[v]
            for e in range(np.uint64(indptr[v]), np.uint64(indptr[v + _ONE])):
                u = np.uint64(neighbours[e])
                at = ends[u]
                signatures[at] = label
                hashes[u] = _mix(hashes[u], label)
                ends[u] = at + _ONE


@njit(cache=True, nogil=True)
def hash_each(values):
    """Return the hash of each value, as a signature of length 1."""
    hashes = np.empty(len(values), dtype=np.uint64)
    for i in range(len(values)):
        hashes[i] = _mix(_SEED, values[i])
    return hashes


@njit(cache=True, nogil=True)
def _mix(state, label):
    """Return the hash of a signature after a label is appended."""
    turned = (state << np.uint64(5)) | (state >> np.uint64(59))
    return (turned ^ np.uint64(label)) * np.uint64(0x517CC1B727220A95)


@njit(cache=True, nogil=True)
def _fold(hash_):
    """Combine the highest bits, which are mixed best, with the lowest, which address the table."""
    return hash_ ^ (hash_ >> np.uint64(32))


@njit(cache=True, nogil=True)
def number_patterns(
    signatures, bounds, hashes, known_signatures, known_bounds, known_hashes, known_slots, labels
):
    """Write the same number for equal signatures to ``labels``: that of the vocabulary, or a new one.

    Signature v is ``signatures[bounds[v]:bounds[v + 1]]``; ``known_*`` is the vocabulary with its
    `slot_table`. Return the first node of each new pattern.
    """
    n_known = len(known_hashes)
    slots = np.full(_table_size(len(hashes)), -1, dtype=np.int32)
    mask, known_mask = np.uint64(len(slots) - 1), np.uint64(len(known_slots) - 1)
    firsts = np.empty(len(hashes), dtype=np.int32)
    n_new = 0
    for v in range(len(hashes)):
        label = -1
        if n_known:
            slot = _fold(hashes[v]) & known_mask
            while known_slots[slot] >= 0:
                k = known_slots[slot]
                if known_hashes[k] == hashes[v] and _equal(
                    signatures, bounds, v, known_signatures, known_bounds, k
                ):
                    label = k
                    break
                slot = (slot + _ONE) & known_mask
        if label < 0:
            slot = _fold(hashes[v]) & mask
            while slots[slot] >= 0:
                u = slots[slot]
                if hashes[u] == hashes[v] and _equal(signatures, bounds, v, signatures, bounds, u):
                    label = labels[u]
                    break
                slot = (slot + _ONE) & mask
        if label < 0:
            slots[slot] = v
            firsts[n_new] = v
            label = n_known + n_new
            n_new += 1
        labels[v] = label
    return firsts[:n_new].copy()


@njit(cache=True, nogil=True)
def _equal(signatures, bounds, v, others, other_bounds, u):
    length = bounds[v + 1] - bounds[v]
    if other_bounds[u + 1] - other_bounds[u] != length:
        return False
    for i in range(length):  # noqa: SIM110 (numba has no generators with early exit that are as fast)
        if signatures[bounds[v] + i] != others[other_bounds[u] + i]:
            return False
    return True


@njit(cache=True, nogil=True)
def _table_size(n):
    size = 2
    while size < 2 * n:
        size *= 2
    return size


@njit(cache=True, nogil=True)
def slot_table(hashes):
    """Return a hash table with open addressing, from hashes to the numbers of signatures."""
    slots = np.full(_table_size(len(hashes)), -1, dtype=np.int32)
    mask = np.uint64(len(slots) - 1)
    for k in range(len(hashes)):
        slot = _fold(hashes[k]) & mask
        while slots[slot] >= 0:
            slot = (slot + _ONE) & mask
        slots[slot] = k
    return slots


@njit(cache=True, nogil=True)
def gather_signatures(signatures, bounds, chosen):
    """Return the concatenated signatures of the chosen nodes, and their bounds."""
    gathered_bounds = np.zeros(len(chosen) + 1, dtype=np.int64)
    for k in range(len(chosen)):
        gathered_bounds[k + 1] = gathered_bounds[k] + bounds[chosen[k] + 1] - bounds[chosen[k]]
    gathered = np.empty(gathered_bounds[-1], dtype=signatures.dtype)
    at = 0
    for k in range(len(chosen)):
        for i in range(bounds[chosen[k]], bounds[chosen[k] + 1]):
            gathered[at] = signatures[i]
            at += 1
    return gathered, gathered_bounds


@njit(cache=True, nogil=True)
def gather_counts(starts, columns, counts, n_distinct, n_known):
    """Return columns and counts of all graphs without gaps, and how many each graph has.

    Columns from ``n_known`` on are left out.
    """
    kept = np.zeros(len(n_distinct), dtype=np.int64)
    total = 0
    for g in range(len(n_distinct)):
        for i in range(starts[g], starts[g] + n_distinct[g]):
            kept[g] += columns[i] < n_known
        total += kept[g]
    kept_columns, kept_counts = np.empty(total, dtype=np.int32), np.empty(total, dtype=np.int32)
    at = 0
    for g in range(len(n_distinct)):
        for i in range(starts[g], starts[g] + kept[g]):
            kept_columns[at] = columns[i]
            kept_counts[at] = counts[i]
            at += 1
    return kept_columns, kept_counts, kept


@njit(cache=True, nogil=True)
def copy_block(indptr, columns, counts, before, ends, joined_columns, joined_counts):
    """Append the rows of a matrix to those of a wider one, which end at ``ends``; ``ends`` is updated."""
    for row in range(len(indptr) - 1):
        at = ends[row]
        for i in range(indptr[row], indptr[row + 1]):
            joined_columns[at] = columns[i] + before
            joined_counts[at] = counts[i]
            at += 1
        ends[row] = at
