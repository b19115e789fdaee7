"""The compiled sort against numpy's stable one."""

import numpy as np
import pytest

from ermlab._utils.sorting_numba import INSERTION_RUN, descending_order, sort_range


@pytest.mark.parametrize("n", [0, 1, 2, INSERTION_RUN, INSERTION_RUN + 1, 2 * INSERTION_RUN + 1, 1000])
@pytest.mark.parametrize("n_distinct", [1, 5, 10**6])
def test_order_is_stable(n, n_distinct):
    values = np.random.default_rng(n).integers(0, n_distinct, n).astype(float)
    values[: n // 10] = -np.inf
    np.testing.assert_array_equal(descending_order(values), np.argsort(-values, kind="stable"))


def test_only_the_range_is_sorted():
    values = np.random.default_rng(0).normal(size=200)
    order, ordered = np.arange(200, dtype=np.int32), values.copy()
    sort_range(order, ordered, 20, 170)
    expected = np.arange(200)
    expected[20:170] = 20 + np.argsort(values[20:170], kind="stable")
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(ordered, values[expected])
