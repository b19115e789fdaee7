import numpy as np
import pytest

from ermlab.ranking.sorting import argsort

RNG = np.random.default_rng(3)
N = 100_000
MANY = {
    "normal": RNG.normal(size=N),
    "heavy tails": RNG.standard_cauchy(N),
    "few values": RNG.integers(0, 5, N).astype(float),
    "mostly one value": np.where(RNG.random(N) < 0.9, 1.0, RNG.random(N)),
    "almost only one value": np.where(RNG.random(N) < 0.9999, 1.0, RNG.random(N)),
    "two narrow heaps": RNG.integers(0, 2, N) + 1e-9 * RNG.normal(size=N),
    "sorted": np.arange(N, dtype=float),
    "reversed": -np.arange(N, dtype=float),
    "equal": np.ones(N),
    "one outlier": np.append(RNG.normal(size=N - 1), 1e300),
    "range beyond floats": RNG.choice([-1.7e308, 1.7e308, 1.0], N),
    "range below floats": RNG.integers(0, 9, N) * 5e-324,
    "both zeros": RNG.choice([-0.0, 0.0, 1.0], N),
}


@pytest.mark.parametrize("values", MANY.values(), ids=MANY.keys())
@pytest.mark.parametrize("n_threads", [1, 3])
def test_order_is_that_of_a_stable_sort(values, n_threads):
    order, ordered = argsort(values, n_threads)
    expected = np.argsort(values, kind="stable")
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(ordered, values[expected])


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
def test_few_numbers(n):
    values = np.random.default_rng(n).integers(0, n, n).astype(float)
    np.testing.assert_array_equal(argsort(values, 2)[0], np.argsort(values, kind="stable"))
