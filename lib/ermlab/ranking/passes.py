"""Sums over violated pairs, in a few passes over the samples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray

from ermlab._utils.parallel import over_ranges
from ermlab.ranking import _passes_numba, _rows_numba
from ermlab.ranking._passes_numba import Rows

PART = 1 << 15  # smallest number of rows per thread


def sum_pairs(
    rank: NDArray[np.int32],
    losses: NDArray[np.float64],
    sample: NDArray[np.int32],
    gone: NDArray[np.int32],
    first: NDArray[np.int32],
    nodes: NDArray[np.int64],
    weighted: bool,
) -> tuple[NDArray[np.float64], float]:
    """Return alpha of each sample, and the sum over all violated pairs.

    Parameters
    ----------
    rank, losses : ndarray
        Rank of the loss within the group, and loss, of each sample.
    sample, gone : ndarray
        The samples by group and score, and how many of the group leave before each arrives.
    first : ndarray
        First position of each rank in the samples sorted by group and rank; the last entry is their number.
    nodes : ndarray
        Base (an index of ``first``), number of ranks, and remaining splits of each group with a pair.
    weighted : bool
        Whether a pair counts as the difference of its losses, or as 1.
    """
    n = sample.size
    rows = Rows(
        rank=np.empty(n, np.int32),
        gone=gone,
        loss=np.empty(n),
        alpha=np.zeros(n),
        debit=np.empty(n),
        later=np.empty(n, np.int32),
        place=np.arange(n, dtype=np.int32),
    )
    _over_rows(
        lambda low, high: _rows_numba.fill_rows(sample, rank, losses, rows.rank, rows.loss, low, high), n
    )
    total = 0.0
    spare = np.empty(n, np.int32)
    while nodes.shape[1] > 0:
        total += _process(rows, first, nodes, weighted)
        nodes = _passes_numba.split_nodes(*nodes)
        if nodes.shape[1] > 0:
            sample, spare = _move(sample, rows.place, spare)
            rows, spare = _next_rows(rows, spare)
        if (nodes[2] > _passes_numba.PASS_BITS).any():
            # The rows will move again. Those without a node stay, but their old places are a permutation of
            # the rows of their old node, of which others may have a node again.
            rows = rows._replace(place=np.arange(n, dtype=np.int32))
    return _move(rows.alpha, sample, rows.debit)[0], total


def count_gone(
    keys: NDArray[np.float64], starts: NDArray[np.int64], margin: float, closed: bool
) -> NDArray[np.int32]:
    """Return how many samples of the group leave before each arrives, given the sorted keys."""
    gone = np.empty(keys.size, np.int32)
    _over_rows(
        lambda low, high: _rows_numba.count_gone(keys, starts, margin, closed, gone, low, high), keys.size
    )
    return gone


def _process(rows: Rows, first: NDArray[np.int32], nodes: NDArray[np.int64], weighted: bool) -> float:
    """Do one pass, large nodes sequentially and small ones in parallel; return the sum over pairs."""
    bases, ranks, _ = nodes
    large = first[bases + ranks] - first[bases] > _passes_numba.CHUNK
    total = sum(_process_large(rows, first, *node, weighted) for node in nodes[:, large].T)
    small = np.ascontiguousarray(nodes[:, ~large])
    gains = np.empty(small.shape[1])
    # Nodes have very different sizes: with ranges of few nodes threads can balance their work.
    samples = int(np.sum(first[small[0] + small[1]] - first[small[0]]))
    grain = max(1, gains.size * PART // max(samples, 1))
    over_ranges(
        lambda low, high: _passes_numba.process_nodes(rows, first, *small, weighted, gains, low, high),
        gains.size,
        get_num_threads(),
        grain,
    )
    return total + float(np.sum(gains))


def _process_large(
    rows: Rows, first: NDArray[np.int32], base: int, ranks: int, depth: int, weighted: bool
) -> float:
    """Process the events of one node in parallel chunks; return the sum over pairs."""
    start, end = int(first[base]), int(first[base + ranks])
    bits = _passes_numba.pass_bits(depth)
    shift, width = depth - bits, 1 << bits
    chunks = -(-2 * (end - start) // _passes_numba.CHUNK)
    bounds = np.empty((2, chunks + 1), np.int64)
    _passes_numba.bound_chunks(rows, start, end, bounds)
    counts, sums = np.zeros((2, chunks + 1, width), np.int64), np.zeros((2, chunks + 1, width))
    over_ranges(
        lambda low, high: _passes_numba.count_chunks(
            rows, bounds, shift, bits, counts[:, 1:], sums[:, 1:], low, high
        ),
        chunks,
        get_num_threads(),
    )
    np.cumsum(counts, axis=1, out=counts)
    np.cumsum(sums, axis=1, out=sums)
    digit_rows, gains = np.empty(width, np.int64), np.empty(chunks)
    _passes_numba.find_digit_rows(first, base, ranks, shift, digit_rows)
    over_ranges(
        lambda low, high: _passes_numba.process_chunks(
            rows, bounds, shift, bits, weighted, counts, sums, digit_rows, gains, low, high
        ),
        chunks,
        get_num_threads(),
    )
    _over_rows(lambda low, high: _passes_numba.settle(rows, start + low, start + high), end - start)
    return float(np.sum(gains))


def _next_rows(rows: Rows, spare: NDArray[np.int32]) -> tuple[Rows, NDArray[np.int32]]:
    """Move the rows to their places in the next pass; return them and a spare array."""
    rank, spare = _move(rows.rank, rows.place, spare)
    gone, spare = _move(rows.later, rows.place, spare)
    loss, spare_floats = _move(rows.loss, rows.place, rows.debit)
    alpha, spare_floats = _move(rows.alpha, rows.place, spare_floats)
    return Rows(rank, gone, loss, alpha, spare_floats, rows.gone, rows.place), spare


def _move(column: NDArray, place: NDArray[np.int32], spare: NDArray) -> tuple[NDArray, NDArray]:
    """Return the column in its new order, written to ``spare``, and the old one as the new spare."""
    _over_rows(lambda low, high: _rows_numba.move(column, place, spare, low, high), column.size)
    return spare, column


def _over_rows(work: Callable[[int, int], object], n: int) -> None:
    over_ranges(work, n, get_num_threads(), PART)
