"""The sum over all violated pairs of a ranking in O(n log R) for R distinct losses.

The recursion of the thesis (Algorithm 2) repeatedly splits the samples, sorted by loss, into halves, and
sums over the pairs between two halves by merging both in the order of their scores (Algorithm 1). Here up to
`PASS_BITS` splits are done in one pass. Each sample has two events: it *arrives* as the better one of pairs,
at its score, and *leaves* as the worse one, at its score plus the margin. The pair (i, j) is violated if and
only if i arrives before j leaves. A binary tree of counters, one node per split of the pass, holds the
numbers of samples of the lower half that have arrived and of the upper half that have not left yet, and the
sums of their losses. Each event reads the counters of the other kind and updates those of its own kind.

A *node* is a range of consecutive ranks of the loss. Its samples are in consecutive rows, in the order of
their scores. After a pass the rows move into the nodes of the next one. Apart from this move, all memory
access is sequential.

Events are processed in chunks of fixed size, each of which starts from the counts and sums of all previous
chunks, so the result does not depend on the number of threads.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

PASS_BITS = 10  # splits per pass: their 2^10 counters of 32 bytes fill the L1 cache
CHUNK = 1 << 16  # events
# Counters of a split: number and sum of losses of the samples that have arrived, and that have not left.
# They are typed, or the kernels would be compiled again for each literal.
ARRIVED, LEAVING, COUNTERS = np.int64(0), np.int64(2), np.int64(4)


class Rows(NamedTuple):
    """The samples in the order of a pass: by node, and by score within a node."""

    rank: NDArray[np.int32]  #: rank of the loss within the group
    gone: NDArray[np.int32]  #: number of samples of the node that leave before this one arrives
    loss: NDArray[np.float64]
    alpha: NDArray[np.float64]  #: sum of the passes so far
    debit: NDArray[np.float64]  #: contribution of leaving in this pass, which may happen in another thread
    later: NDArray[np.int32]  #: ``gone`` of the next pass
    place: NDArray[np.int32]  #: row in the next pass


@njit(cache=True, nogil=True)
def pass_bits(depth):
    """Return the number of splits of the next pass, so that ``depth`` splits are divided evenly."""
    passes = -(-depth // PASS_BITS)
    return -(-depth // passes)


@njit(cache=True, nogil=True)
def _arrivals_before(gone, start, end, event):
    """Return the number of arrivals among the first ``event`` events of a node."""
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
    """Fill the counters of one kind from the counts and sums of the digits, which are overwritten."""
    upper = np.int64(kind == LEAVING)
    width = 1 << bits
    for _ in range(bits):  # from the leaves upwards: `counts` holds the totals of the level
        width >>= 1
        for k in range(width):
            tree[COUNTERS * (width + k) + kind] = counts[2 * k + upper]
            tree[COUNTERS * (width + k) + kind + 1] = sums[2 * k + upper]
            counts[k] = counts[2 * k] + counts[2 * k + 1]
            sums[k] = sums[2 * k] + sums[2 * k + 1]


@njit(cache=True, nogil=True)
def _meet(tree, bits, digit, leaves, loss, weighted):
    """Count an event; return the change of alpha by the violated pairs that it completes.

    A pair changes alpha by the difference of its losses, or by 1 if not weighted.
    """
    sign = 1.0 - 2.0 * leaves
    weight = sign * loss if weighted else 0.0
    own, other = LEAVING * leaves, LEAVING - LEAVING * leaves
    count, total = 0.0, 0.0
    node = 1
    for level in range(bits - 1, -1, -1):
        bit = (digit >> level) & 1
        # Pairs are formed by arrivals in the lower half and departures in the upper half only. Adding 0 is
        # faster than an unpredictable branch.
        on = 1.0 - (bit ^ leaves)
        read, write = np.uint64(COUNTERS * node + other), np.uint64(COUNTERS * node + own)
        count += on * tree[read]
        total += on * tree[read + np.uint64(1)]
        tree[write] += on * sign
        tree[write + np.uint64(1)] += on * weight
        node = 2 * node + bit
    return total - count * loss if weighted else sign * count


@njit(cache=True, nogil=True)
def _process(rows, start, arrivals, leavers, shift, bits, weighted, tree, left):
    """Process the events of ``arrivals`` and ``leavers``; return the sum of the changes of the arrivals.

    ``left`` holds the number of samples of each digit that have left; it becomes ``gone`` in the next pass.
    """
    i, i_end = arrivals
    j, j_end = leavers
    mask = (1 << bits) - 1
    gain = 0.0
    arriving, leaving = np.int64(0), np.int64(1)  # typed, or `_meet` is compiled again for each literal
    # Events write to row i of `later` and row j of `debit` whatever their kind; the next event of the right
    # kind overwrites it.
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
        change = _meet(tree, bits, digit, arriving, rows.loss[k], weighted)
        rows.alpha[k] += change
        gain += change
        rows.later[k] = left[digit]
    for k in range(j, j_end):
        digit = (rows.rank[k] >> shift) & mask
        rows.debit[k] = _meet(tree, bits, digit, leaving, rows.loss[k], weighted)
        left[digit] += 1
    return gain


@njit(cache=True, nogil=True)
def settle(rows, low, high):
    """Add the contributions of leaving to alpha."""
    for k in range(low, high):
        rows.alpha[k] += rows.debit[k]


@njit(cache=True, nogil=True)
def _find_places(rows, start, end, shift, bits, cursor):
    """Write the row of each sample in the next pass; ``cursor`` is the next row of each digit."""
    mask = (1 << bits) - 1
    for k in range(start, end):
        digit = (rows.rank[k] >> shift) & mask
        rows.place[k] = cursor[digit]
        cursor[digit] += 1


@njit(cache=True, nogil=True)
def find_digit_rows(first, base, ranks, shift, cursor):
    """Write the first row of each digit of a node."""
    for digit in range(cursor.size):
        cursor[digit] = first[base + min(digit << shift, ranks)]


@njit(cache=True, nogil=True)
def bound_chunks(rows, start, end, bounds):
    """Write the first arrival and the first leaver of each chunk of the events of a node."""
    for chunk in range(bounds.shape[1]):
        event = min(chunk * CHUNK, 2 * (end - start))
        arrived = _arrivals_before(rows.gone, start, end, event)
        bounds[0, chunk], bounds[1, chunk] = start + arrived, start + event - arrived


@njit(cache=True, nogil=True)
def count_chunks(rows, bounds, shift, bits, counts, sums, low, high):
    """Count the arrivals and the leavers of chunks by digit, and sum their losses."""
    for chunk in range(low, high):
        for kind in range(2):
            start, end = bounds[kind, chunk], bounds[kind, chunk + 1]
            _count_digits(rows, start, end, shift, bits, counts[kind, chunk], sums[kind, chunk])


@njit(cache=True, nogil=True)
def process_chunks(rows, bounds, shift, bits, weighted, counts, sums, digit_rows, gains, low, high):
    """Process the events of chunks of a large node.

    ``counts`` and ``sums`` are those of the arrivals and the leavers before each chunk, and last of all.
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
        gains[chunk] = _process(rows, start, arrivals, leavers, shift, bits, weighted, tree, left)


@njit(cache=True, nogil=True)
def process_nodes(rows, first, bases, ranks, depths, weighted, gains, low, high):
    """Process all events of small nodes."""
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
        for digit in range(digits):
            counts[digit], sums[digit], left[digit] = 0, 0.0, 0
        _plant(tree, bits, ARRIVED, counts, sums)
        _count_digits(rows, start, end, shift, bits, counts, sums)
        _plant(tree, bits, LEAVING, counts, sums)
        gains[node] = _process(rows, start, (start, end), (start, end), shift, bits, weighted, tree, left)
        settle(rows, start, end)


@njit(cache=True, nogil=True)
def split_nodes(bases, ranks, depths):
    """Return the nodes of the next pass, those with two or more ranks."""
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
                children[0, count], children[1, count] = bases[node] + low, child_ranks
                children[2, count] = shift
                count += 1
    return children[:, :count].copy()
