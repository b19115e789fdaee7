"""Threads for compiled loops over independent items."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import numba

Item, Result = TypeVar("Item"), TypeVar("Result")

RANGES_PER_THREAD = 4  # so that threads can balance their work


def over_ranges(
    work: Callable[[int, int], object], n: int, n_threads: int | None = None, grain: int = 1
) -> None:
    """Call ``work(start, stop)`` for ranges that cover ``0 .. n - 1``, in parallel threads.

    The result does not depend on the number of threads if the results of different items are independent.

    Parameters
    ----------
    work : callable
        It must release the global interpreter lock.
    n : int
        Number of items.
    n_threads : int, optional
        By default that of numba (``NUMBA_NUM_THREADS``, else the number of cores).
    grain : int, default=1
        Smallest number of items per thread.
    """
    n_threads = numba.get_num_threads() if n_threads is None else n_threads
    if n_threads < 1:
        raise ValueError(f"n_threads is {n_threads}: expected at least 1")
    n_ranges = min(RANGES_PER_THREAD * n_threads, -(-n // grain)) if n_threads > 1 else 1
    if n_ranges <= 1:
        work(0, n)
        return
    bounds = [n * i // n_ranges for i in range(n_ranges + 1)]
    numbers = iter(range(n_ranges))

    def take_ranges() -> None:
        for i in numbers:
            work(bounds[i], bounds[i + 1])

    helpers = [_pool(n_threads).submit(take_ranges) for _ in range(min(n_threads, n_ranges) - 1)]
    try:
        take_ranges()
    finally:
        # Helpers that have not started have nothing to do; waiting for them could be a deadlock.
        begun = [helper for helper in helpers if not helper.cancel()]
        for helper in begun:
            helper.result()


def map_in_threads(
    work: Callable[[Item], Result], items: Sequence[Item], n_threads: int | None = None
) -> list[Result]:
    """Return ``work(item)`` for each item, in order; see `over_ranges`."""
    results: list = [None] * len(items)

    def work_on(start: int, stop: int) -> None:
        results[start:stop] = [work(item) for item in items[start:stop]]

    over_ranges(work_on, len(items), n_threads)
    return results


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Return a pool that is reused, since starting threads takes longer than many loops."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="ermlab")
