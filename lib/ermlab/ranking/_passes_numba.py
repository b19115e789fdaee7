"""The sum over all violated pairs of a ranking in O(n log R) for R distinct losses.

The recursion of the thesis (Algorithm 2) splits the samples, sorted by loss, into halves again and again, and
deals with the pairs between two halves by going through both in the order of their scores (Algorithm 1).
Here up to `PASS_BITS` splits are done in one pass. Two events stand for a sample: it *arrives* as the better
one of pairs, at its score, and *leaves* as the worse one, at its score plus the margin. The pair (i, j) is
violated just if i arrives before j leaves. A binary tree of counters, one node for each split of the pass,
holds how many samples of the lower half have arrived, how many of the upper half are still to leave, and the
sums of their losses. Each event reads the counters of the other kind and changes those of its own.

A *node* is a range of consecutive ranks of the loss. Its samples stand in consecutive rows, in the order of
their scores. After a pass the rows move into the nodes of the next one. But for this move, all reading and
writing is sequential.

Events are dealt with in chunks of fixed size, each of which starts from the counts and sums of what came
before, so the result does not depend on the number of threads.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

PASS_BITS = 10  # splits of a pass: their 2^10 counters of 32 bytes fill a first-level cache
CHUNK = 1 << 16  # events
# Counters of a split: number and sum of losses of who has arrived (lower half) and is to leave (upper half).
ARRIVED, LEAVING, COUNTERS = 0, 2, 4


class Rows(NamedTuple):
    """The samples in the order of a pass: node after node, by score within a node."""

    rank: NDArray[np.int32]  #: of the loss, within the group
    gone: NDArray[np.int32]  #: how many samples of the node leave before this one arrives
    loss: NDArray[np.float64]
    alpha: NDArray[np.float64]  #: what the passes so far have added up
    debit: NDArray[np.float64]  #: the part of this pass's leaving; arriving and leaving may be in two threads
    later: NDArray[np.int32]  #: what ``gone`` will be in the next pass
    place: NDArray[np.int32]  #: the row in the next pass


@njit(cache=True, nogil=True)
def pass_bits(depth):
    """Return how many of ``depth`` splits the next pass does, so that all passes do about as many."""
    passes = -(-depth // PASS_BITS)
    return -(-depth // passes)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _count_digits(rows, start, end, shift, bits, counts, sums):
    """Add to the number of samples of each digit in the rows, and to the sum of their losses."""
    mask = (1 << bits) - 1
    for k in range(start, end):
        digit = (rows.rank[k] >> shift) & mask
        counts[digit] += 1
        sums[digit] += rows.loss[k]


@njit(cache=True, nogil=True)
def _plant(tree, bits, kind, counts, sums):
    """Fill the counters of one kind from the digits' counts and sums, which are used up."""
    upper = np.int64(kind == LEAVING)
    width = 1 << bits
    for _ in range(bits):  # level by level from the leaves upwards: `counts` holds the totals of the level
        width >>= 1
        for k in range(width):
            tree[COUNTERS * (width + k) + kind] = counts[2 * k + upper]
            tree[COUNTERS * (width + k) + kind + 1] = sums[2 * k + upper]
            counts[k] = counts[2 * k] + counts[2 * k + 1]
            sums[k] = sums[2 * k] + sums[2 * k + 1]


@njit(cache=True, nogil=True)
def _meet(tree, bits, digit, leaves, loss, weighted):
    """Count one event in; return the change of the sample's alpha by the violated pairs it meets.

    A pair changes it by the difference of its losses or, not weighted, by 1.
    """
    sign = 1.0 - 2.0 * leaves
    weight = sign * loss if weighted else 0.0
    own, other = LEAVING * leaves, LEAVING - LEAVING * leaves
    count, total = 0.0, 0.0
    node = 1
    for level in range(bits - 1, -1, -1):
        bit = (digit >> level) & 1
        # Who arrives in the lower half meets who leaves in the upper half; no other pair is in the graph.
        # Adding 0 costs less than a branch that no processor can foresee.
        on = 1.0 - (bit ^ leaves)
        read, write = np.uint64(COUNTERS * node + other), np.uint64(COUNTERS * node + own)
        count += on * tree[read]
        total += on * tree[read + np.uint64(1)]
        tree[write] += on * sign
        tree[write + np.uint64(1)] += on * weight
        node = 2 * node + bit
    return total - count * loss if weighted else sign * count


@njit(cache=True, nogil=True)
def _play(rows, start, arrivals, leavers, shift, bits, weighted, tree, left):
    """Play the events in which ``arrivals`` arrive and ``leavers`` leave; return the gain of the arrivals.

    ``left`` holds how many samples of each digit have left; it becomes ``gone`` in the next pass.
    """
    i, i_end = arrivals
    j, j_end = leavers
    mask = (1 << bits) - 1
    gain = 0.0
    # What an event of the other kind writes to row i of `later` or row j of `debit`, the next event of the
    # right kind overwrites.
    while i < i_end and j < j_end:
        leaves = np.int64(j - start < rows.gone[np.uint64(i)])
        e = np.uint64(i + leaves * (j - i))
        digit = np.uint64((rows.rank[e] >> shift) & mask)
        change = _meet(tree, bits, np.int64(digit), leaves, rows.loss[e], weighted)
        rows.debit[np.uint64(j)] = change
        arrived = change * (1 - leaves)
        rows.alpha[np.uint64(i)] += arrived
        gain += arrived
        rows.later[np.uint64(i)] = left[digit]
        left[digit] += leaves
        i += 1 - leaves
        j += leaves
    for k in range(i, i_end):
        digit = (rows.rank[k] >> shift) & mask
        change = _meet(tree, bits, digit, 0, rows.loss[k], weighted)
        rows.alpha[k] += change
        gain += change
        rows.later[k] = left[digit]
    for k in range(j, j_end):
        digit = (rows.rank[k] >> shift) & mask
        rows.debit[k] = _meet(tree, bits, digit, 1, rows.loss[k], weighted)
        left[digit] += 1
    return gain


@njit(cache=True, nogil=True)
def settle(rows, low, high):
    """Add to alpha what the rows lost when they left."""
    for k in range(low, high):
        rows.alpha[k] += rows.debit[k]


@njit(cache=True, nogil=True)
def _find_places(rows, start, end, shift, bits, cursor):
    """Write the row that each of the rows has in the next pass; ``cursor`` is the next row of each digit."""
    mask = (1 << bits) - 1
    for k in range(start, end):
        digit = (rows.rank[k] >> shift) & mask
        rows.place[k] = cursor[digit]
        cursor[digit] += 1


@njit(cache=True, nogil=True)
def find_digit_rows(first, base, ranks, shift, cursor):
    """Write the row at which the samples of each digit of a node begin."""
    for digit in range(cursor.size):
        cursor[digit] = first[base + min(digit << shift, ranks)]


@njit(cache=True, nogil=True)
def bound_chunks(rows, start, end, bounds):
    """Write the rows at which the arrivals and the leavers of each chunk of a node's events begin."""
    for chunk in range(bounds.shape[1]):
        event = min(chunk * CHUNK, 2 * (end - start))
        arrived = _arrivals_before(rows.gone, start, end, event)
        bounds[0, chunk], bounds[1, chunk] = start + arrived, start + event - arrived


@njit(cache=True, nogil=True)
def count_chunks(rows, bounds, shift, bits, counts, sums, low, high):
    """Count the arrivals and the leavers of chunks by digit, and add up their losses."""
    for chunk in range(low, high):
        for kind in range(2):
            start, end = bounds[kind, chunk], bounds[kind, chunk + 1]
            _count_digits(rows, start, end, shift, bits, counts[kind, chunk], sums[kind, chunk])


@njit(cache=True, nogil=True)
def play_chunks(rows, bounds, shift, bits, weighted, counts, sums, digit_rows, gains, low, high):
    """Play the events of chunks of a large node.

    ``counts`` and ``sums`` hold the arrivals and the leavers before each chunk, and in the end those of all.
    """
    start, chunks = bounds[0, 0], bounds.shape[1] - 1
    for chunk in range(low, high):
        arrivals = bounds[0, chunk], bounds[0, chunk + 1]
        leavers = bounds[1, chunk], bounds[1, chunk + 1]
        _find_places(rows, arrivals[0], arrivals[1], shift, bits, digit_rows + counts[0, chunk])
        tree = np.empty(COUNTERS << bits)
        _plant(tree, bits, ARRIVED, counts[0, chunk].copy(), sums[0, chunk].copy())
        _plant(tree, bits, LEAVING, counts[1, chunks] - counts[1, chunk], sums[1, chunks] - sums[1, chunk])
        left = counts[1, chunk].copy()
        gains[chunk] = _play(rows, start, arrivals, leavers, shift, bits, weighted, tree, left)


@njit(cache=True, nogil=True)
def play_nodes(rows, first, bases, ranks, depths, weighted, gains, low, high):
    """Play all events of small nodes."""
    width = 1 << PASS_BITS
    tree = np.empty(COUNTERS * width)
    counts, sums, left = np.empty(width, np.int64), np.empty(width), np.empty(width, np.int64)
    for node in range(low, high):
        start, end = np.int64(first[bases[node]]), np.int64(first[bases[node] + ranks[node]])
        bits = pass_bits(depths[node])
        shift, digits = depths[node] - bits, 1 << bits
        if shift > 0:
            find_digit_rows(first, bases[node], ranks[node], shift, left[:digits])
            _find_places(rows, start, end, shift, bits, left)
        counts[:digits], sums[:digits], left[:digits] = 0, 0, 0
        _plant(tree, bits, ARRIVED, counts, sums)
        _count_digits(rows, start, end, shift, bits, counts, sums)
        _plant(tree, bits, LEAVING, counts, sums)
        gains[node] = _play(rows, start, (start, end), (start, end), shift, bits, weighted, tree, left)
        settle(rows, start, end)


@njit(cache=True, nogil=True)
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
                children[0, count], children[1, count], children[2, count] = (
                    bases[node] + low,
                    child_ranks,
                    shift,
                )
                count += 1
    return children[:, :count].copy()
