"""Threads for compiled loops over independent items."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

import numba

Item, Result = TypeVar("Item"), TypeVar("Result")

RANGES_PER_THREAD = 4  # a thread that is done early takes on what is left


def over_ranges(
    work: Callable[[int, int], object], n: int, n_threads: int | None = None, grain: int = 1
) -> None:
    """Call ``work(start, stop)`` for ranges that together are ``0 .. n - 1``, side by side in threads.

    ``work`` must release the global lock, and give each item a result that no other item touches: then the
    result does not depend on the number of threads.

    Parameters
    ----------
    n_threads
        By default as many as numba would use (``NUMBA_NUM_THREADS``, else the number of cores).
    grain
        Smallest number of items worth a thread of its own.
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
        # One that has not begun has nothing left to do; waiting for it could be for ever if all threads wait.
        begun = [helper for helper in helpers if not helper.cancel()]
        for helper in begun:
            helper.result()


def map_in_threads(
    work: Callable[[Item], Result], items: Sequence[Item], n_threads: int | None = None
) -> list[Result]:
    """Return ``work(item)`` for each item, in their order; see `over_ranges`."""
    results: list = [None] * len(items)

    def work_on(start: int, stop: int) -> None:
        results[start:stop] = [work(item) for item in items[start:stop]]

    over_ranges(work_on, len(items), n_threads)
    return results


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Return threads that are kept: to start them takes longer than many a loop."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="ermlab")
