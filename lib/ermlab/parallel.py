"""Threads for compiled loops over independent items."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numba


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
    n_ranges = min(4 * n_threads, -(-n // grain)) if n_threads > 1 else 1
    if n_ranges <= 1:
        work(0, n)
        return
    bounds = [n * i // n_ranges for i in range(n_ranges + 1)]
    with ThreadPoolExecutor(n_threads) as pool:
        for _ in pool.map(work, bounds[:-1], bounds[1:]):
            pass
