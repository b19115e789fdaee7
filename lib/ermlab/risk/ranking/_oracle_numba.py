"""The sum over all violated pairs of a ranking in O(n log R) for R distinct losses (thesis, Algorithms 1 and 2).

Algorithm 2 splits the samples, sorted by loss, into halves again and again, and merges the halves by score. Here
up to `PASS_BITS` splits are done in one pass over the samples in the order of their scores. Two events stand for a
sample: it *arrives* as the better one of pairs, at its score, and *leaves* as the worse one, at its score plus the
margin. The pair (i, j) is violated just if i arrives before j leaves. A binary tree of counters, one for each split
of the pass, holds how many samples of the lower half have arrived and how many of the upper half are still to
leave, and the sums of their losses. Each event reads the counters of the other kind and changes those of its own.

A *node* is a range of consecutive ranks of the loss. Its samples stand in consecutive rows, in the order of their
scores; a row holds the rank, how many of the node's samples leave before this one arrives, the loss, and alpha.
After a pass the rows move into the nodes of the next one. But for this move, all reading and writing is sequential.

Events are dealt with in chunks of fixed size, each of which starts from the counts and sums of what came before, so
the result does not depend on the number of threads.
"""

import numpy as np
from numba import njit, prange

PASS_BITS = 10  # splits of a pass: their 2^10 counters of 32 bytes fill a first-level cache
CHUNK = 1 << 16  # events
# Counters of a split: number and sum of losses that have arrived (lower half) and that are to leave (upper half).
ARRIVED, LEAVING, COUNTERS = 0, 2, 4


@njit(cache=True)
def pass_bits(depth):
    """Return how many of ``depth`` splits the next pass does, so that all passes do about as many."""
    passes = -(-depth // PASS_BITS)
    return -(-depth // passes)


@njit(cache=True)
def _arrivals_before(gone, start, end, event):
    """Return how many of a node's samples arrive among its first ``event`` events (the others leave)."""
    low, high = 0, min(end - start, event)
    while low < high:
        middle = (low + high) // 2
        if middle + gone[start + middle] < event:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def _count_digits(rank, losses, start, end, shift, bits, counts, sums):
    """Add to the number of samples of each digit in the rows, and to the sum of their losses."""
    mask = (1 << bits) - 1
    for k in range(start, end):
        digit = (rank[k] >> shift) & mask
        counts[digit] += 1
        sums[digit] += losses[k]


@njit(cache=True)
def _plant(tree, bits, kind, counts, sums):
    """Fill the counters of one kind from the digits' numbers and sums; ``counts`` and ``sums`` are used up."""
    upper = np.int64(kind == LEAVING)
    width = 1 << bits
    for _ in range(bits):  # level by level from the leaves upwards: `counts` holds the totals of the level
        width >>= 1
        for k in range(width):
            tree[COUNTERS * (width + k) + kind] = counts[2 * k + upper]
            tree[COUNTERS * (width + k) + kind + 1] = sums[2 * k + upper]
            counts[k] = counts[2 * k] + counts[2 * k + 1]
            sums[k] = sums[2 * k] + sums[2 * k + 1]


@njit(cache=True)
def _meet(tree, bits, digit, leaves, loss, slack):
    """Count one event in; return the change of the sample's alpha by the pairs that it closes."""
    sign = 1.0 - 2.0 * leaves
    weight = sign * loss if slack else 0.0
    own, other = LEAVING * leaves, LEAVING - LEAVING * leaves
    count, total = 0.0, 0.0
    node = 1
    for level in range(bits - 1, -1, -1):
        bit = (digit >> level) & 1
        # Who arrives in the lower half meets who leaves in the upper half; no other pair is in the graph. Adding 0
        # costs less than a branch that no processor can foresee.
        on = 1.0 - (bit ^ leaves)
        read, write = np.uint64(COUNTERS * node + other), np.uint64(COUNTERS * node + own)
        count += on * tree[read]
        total += on * tree[read + np.uint64(1)]
        tree[write] += on * sign
        tree[write + np.uint64(1)] += on * weight
        node = 2 * node + bit
    # Slack rescaling adds up differences of losses, margin rescaling counts pairs.
    return total - count * loss if slack else sign * count


@njit(cache=True)
def _play(rank, gone, losses, alpha, later, start, arrivals, leavers, shift, bits, slack, tree, left):
    """Play the events in which the rows ``arrivals`` arrive and ``leavers`` leave; return the gain of arrivals.

    ``left`` holds how many samples of each digit have left; it becomes ``gone`` for the nodes of the next pass.
    """
    i, i_end = arrivals
    j, j_end = leavers
    mask = (1 << bits) - 1
    gain = 0.0
    while i < i_end:
        leaves = np.int64(j - start < gone[np.uint64(i)])
        e = np.uint64(i + leaves * (j - i))
        digit = np.uint64((rank[e] >> shift) & mask)
        change = _meet(tree, bits, np.int64(digit), leaves, losses[e], slack)
        alpha[e] += change
        gain += change * (1 - leaves)
        later[np.uint64(i)] = left[digit]  # what a leaver writes here, the next arrival overwrites
        left[digit] += leaves
        i += 1 - leaves
        j += leaves
    for k in range(j, j_end):
        digit = (rank[k] >> shift) & mask
        alpha[k] += _meet(tree, bits, digit, 1, losses[k], slack)
        left[digit] += 1
    return gain


@njit(cache=True)
def _find_places(rank, start, end, shift, bits, cursor, place):
    """Write the row that each of the rows has in the next pass; ``cursor`` is the next row of each digit."""
    mask = (1 << bits) - 1
    for k in range(start, end):
        digit = (rank[k] >> shift) & mask
        place[k] = cursor[digit]
        cursor[digit] += 1


@njit(cache=True)
def _digit_rows(first, base, ranks, shift, cursor):
    """Write the row at which the samples of each digit of a node begin."""
    for digit in range(cursor.size):
        cursor[digit] = first[base + min(digit << shift, ranks)]


@njit(cache=True, parallel=True)
def play_node(rank, gone, losses, alpha, later, place, first, base, ranks, depth, slack):
    """Play all events of one large node in parallel chunks; return the gain."""
    bits = pass_bits(depth)
    shift, width = depth - bits, 1 << bits
    start, end = np.int64(first[base]), np.int64(first[base + ranks])
    events = 2 * (end - start)
    chunks = -(-events // CHUNK)
    bounds = np.empty((2, chunks + 1), np.int64)
    for chunk in range(chunks + 1):
        event = min(chunk * CHUNK, events)
        arrived = _arrivals_before(gone, start, end, event)
        bounds[0, chunk], bounds[1, chunk] = start + arrived, start + event - arrived
    counts, sums = np.zeros((2, chunks + 1, width), np.int64), np.zeros((2, chunks + 1, width))
    for task in prange(2 * chunks):
        kind, chunk = task // chunks, task % chunks
        low, high = bounds[kind, chunk], bounds[kind, chunk + 1]
        _count_digits(rank, losses, low, high, shift, bits, counts[kind, chunk + 1], sums[kind, chunk + 1])
    for chunk in range(chunks):
        counts[:, chunk + 1] += counts[:, chunk]
        sums[:, chunk + 1] += sums[:, chunk]
    gains = np.empty(chunks)
    for chunk in prange(chunks):
        arrivals = bounds[0, chunk], bounds[0, chunk + 1]
        leavers = bounds[1, chunk], bounds[1, chunk + 1]
        cursor = np.empty(width, np.int64)
        _digit_rows(first, base, ranks, shift, cursor)
        cursor += counts[0, chunk]
        _find_places(rank, arrivals[0], arrivals[1], shift, bits, cursor, place)
        tree = np.empty(COUNTERS * width)
        _plant(tree, bits, ARRIVED, counts[0, chunk].copy(), sums[0, chunk].copy())
        _plant(tree, bits, LEAVING, counts[1, chunks] - counts[1, chunk], sums[1, chunks] - sums[1, chunk])
        left = counts[1, chunk].copy()
        gains[chunk] = _play(
            rank, gone, losses, alpha, later, start, arrivals, leavers, shift, bits, slack, tree, left
        )
    return gains.sum()


@njit(cache=True, parallel=True)
def play_nodes(rank, gone, losses, alpha, later, place, first, bases, ranks, depths, slack, tasks):
    """Play all events of many small nodes, in parallel over nodes; return the gain."""
    nodes = bases.size
    gains = np.empty(nodes)
    for task in prange(tasks):
        width = 1 << PASS_BITS
        tree = np.empty(COUNTERS * width)
        counts, sums, left = np.empty(width, np.int64), np.empty(width), np.empty(width, np.int64)
        for node in range(task * nodes // tasks, (task + 1) * nodes // tasks):
            start, end = np.int64(first[bases[node]]), np.int64(first[bases[node] + ranks[node]])
            bits = pass_bits(depths[node])
            shift, digits = depths[node] - bits, 1 << bits
            _digit_rows(first, bases[node], ranks[node], shift, left[:digits])
            _find_places(rank, start, end, shift, bits, left, place)
            counts[:digits], sums[:digits], left[:digits] = 0, 0, 0
            _plant(tree, bits, ARRIVED, counts, sums)
            counts[:digits], sums[:digits] = 0, 0
            _count_digits(rank, losses, start, end, shift, bits, counts, sums)
            _plant(tree, bits, LEAVING, counts, sums)
            gains[node] = _play(
                rank, gone, losses, alpha, later, start, (start, end), (start, end), shift, bits, slack, tree, left
            )
    return gains.sum()


@njit(cache=True, parallel=True)
def move(source, place, target):
    """Put each row where it stands in the next pass."""
    for k in prange(source.size):
        target[place[k]] = source[k]


@njit(cache=True)
def split_nodes(bases, ranks, depths):
    """Return the nodes of the next pass: those with two ranks or more."""
    size = 0
    for node in range(bases.size):
        size += 1 << pass_bits(depths[node])
    children = np.empty((3, size), np.int64)
    count = 0
    for node in range(bases.size):
        shift = depths[node] - pass_bits(depths[node])
        for low in range(0, ranks[node] if shift > 0 else 0, 1 << shift):
            child_ranks = min(1 << shift, ranks[node] - low)
            if child_ranks > 1:
                children[0, count], children[1, count], children[2, count] = bases[node] + low, child_ranks, shift
                count += 1
    return children[:, :count].copy()
