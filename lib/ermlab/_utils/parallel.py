"""Threads for compiled loops over independent items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from numbers import Integral
from typing import TypeVar

import numba

from ermlab._utils.compilation import announce_compilation

announce_compilation()
Item, Result = TypeVar("Item"), TypeVar("Result")

RANGES_PER_THREAD = 4  # so that threads can balance their work


def over_ranges(
    work: Callable[[int, int], object], n: int, n_jobs: int | None = None, grain: int = 1
) -> None:
    """Call ``work(start, stop)`` for ranges that cover ``0 .. n - 1``, in parallel threads.

    The result does not depend on the number of threads if the results of different items are independent.

    Parameters
    ----------
    work : callable
        It must release the global interpreter lock.
    n : int
        Number of items.
    n_jobs : int, optional
        Number of threads, by default that of numba (``NUMBA_NUM_THREADS``, else the number of cores). As in
        scikit-learn, -1 is the number of cores, -2 one less, and so on.
    grain : int, default=1
        Smallest number of items per thread.
    """
    n_jobs = n_threads_of(n_jobs)
    n_ranges = min(RANGES_PER_THREAD * n_jobs, -(-n // grain)) if n_jobs > 1 else 1
    if n_ranges <= 1:
        work(0, n)
        return
    bounds = [n * i // n_ranges for i in range(n_ranges + 1)]
    numbers = iter(range(n_ranges))

    def take_ranges() -> None:
        for i in numbers:
            work(bounds[i], bounds[i + 1])

    helpers = [_pool(n_jobs).submit(take_ranges) for _ in range(min(n_jobs, n_ranges) - 1)]
    try:
        take_ranges()
    finally:
        # Helpers that have not started have nothing to do; waiting for them could be a deadlock.
        begun = [helper for helper in helpers if not helper.cancel()]
        for helper in begun:
            helper.result()


def map_in_threads(
    work: Callable[[Item], Result], items: Sequence[Item], n_jobs: int | None = None
) -> list[Result]:
    """Return ``work(item)`` for each item, in order; see `over_ranges`."""
    results: list = [None] * len(items)

    def work_on(start: int, stop: int) -> None:
        results[start:stop] = [work(item) for item in items[start:stop]]

    over_ranges(work_on, len(items), n_jobs)
    return results


def n_threads_of(n_jobs: int | None) -> int:
    """Return the number of threads that ``n_jobs`` stands for, or raise a ValueError."""
    if n_jobs is None:
        return numba.get_num_threads()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs is {n_jobs!r}: expected a positive integer, -1 for all cores, or None")
    return int(n_jobs) if n_jobs > 0 else max(numba.config.NUMBA_NUM_THREADS + 1 + int(n_jobs), 1)


@cache
def _pool(n_jobs: int) -> ThreadPoolExecutor:
    """Return a pool that is reused, since starting threads takes longer than many loops."""
    return ThreadPoolExecutor(n_jobs, thread_name_prefix="ermlab")
