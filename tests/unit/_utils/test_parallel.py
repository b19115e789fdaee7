"""Ranges cover all items once, whatever the number of threads."""

import threading

import numba
import numpy as np
import pytest

from ermlab._utils.parallel import map_in_threads, n_threads_of, over_ranges


@pytest.mark.parametrize("n", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("n_jobs", [1, 2, 5, None])
@pytest.mark.parametrize("grain", [1, 10])
def test_every_item_once(n, n_jobs, grain):
    seen, lock = [], threading.Lock()

    def work(start, stop):
        with lock:
            seen.extend(range(start, stop))

    over_ranges(work, n, n_jobs, grain)
    assert sorted(seen) == list(range(n))


def test_ranges_are_not_smaller_than_half_a_grain():
    sizes = []
    over_ranges(lambda start, stop: sizes.append(stop - start), 25, 8, grain=10)
    assert sum(sizes) == 25
    assert min(sizes) >= 5


def test_an_error_in_a_thread_is_raised():
    def work(start, stop):
        if stop == 100:
            raise KeyError("last")

    with pytest.raises(KeyError, match="last"):
        over_ranges(work, 100, 3)


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_bad_number_of_threads(n_jobs):
    with pytest.raises(ValueError, match=f"n_jobs is {n_jobs!r}: expected a positive integer"):
        over_ranges(print, 3, n_jobs)


def test_negative_numbers_count_from_all_cores():
    cores = numba.config.NUMBA_NUM_THREADS
    assert [n_threads_of(n) for n in (-1, -cores, -cores - 5)] == [cores, 1, 1]
    assert n_threads_of(None) == numba.get_num_threads()
    assert n_threads_of(np.int64(3)) == 3


def test_results_come_in_the_order_of_the_items():
    assert map_in_threads(lambda k: k * k, range(100), 3) == [k * k for k in range(100)]
    assert map_in_threads(str, [], 2) == []
