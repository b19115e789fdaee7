"""Means as sums of parts: the same function, the same optimum, fewer calls."""

import numpy as np
import pytest

from ermlab.optimize import L2, MeanInParts, cccp, minimize

N, D = 30, 12


@pytest.fixture(scope="module")
def function():
    """Return hinge losses of small sets of samples, numbered."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5, D))
    y = np.sign(X @ rng.normal(size=D) + rng.normal(size=(N, 5)))

    def hinge(i, w):
        margins = 1 - y[i] * np.sum(X[i] * w, axis=1)
        active = margins > 0
        return margins[active].sum(), -np.sum((y[i] * active)[:, None] * X[i], axis=0)

    return hinge


def mean_of(function):
    def mean(w):
        values, slopes = zip(*(function(i, w) for i in range(N)), strict=True)
        return np.mean(values), np.mean(slopes, axis=0)

    return mean


@pytest.mark.parametrize("n_parts", [1, 7, N, 100])
def test_parts_sum_to_the_mean(function, n_parts):
    w = np.random.default_rng(1).normal(size=D)
    parts = MeanInParts(function, N, D, n_parts)
    values, slopes = parts(w)
    assert values.shape == (parts.n_parts,) == (min(n_parts, N),)
    assert slopes.shape == (parts.n_parts, D)
    value, slope = mean_of(function)(w)
    assert values.sum() == pytest.approx(value)
    np.testing.assert_allclose(slopes.sum(axis=0), slope, atol=1e-12)
    first = [function(i, w)[0] / N for i in range(0, N, parts.n_parts)]
    assert values[0] == pytest.approx(sum(first))


def test_the_minimum_is_the_same_after_fewer_calls(function):
    whole = minimize(mean_of(function), L2(0.01), w0=np.zeros(D), tol=1e-3)
    parts = minimize(MeanInParts(function, N, D, 10), L2(0.01), tol=1e-3)
    assert whole.converged
    assert parts.converged
    assert parts.value == pytest.approx(whole.value, rel=2e-3)
    assert parts.n_iter < 0.6 * whole.n_iter


def test_differences_of_convex_functions_have_parts_too(function):
    # Half of each loss is subtracted again.
    def half(i, w):
        value, slope = function(i, w)
        return value / 2, slope / 2

    parts = [MeanInParts(some, N, D, 10) for some in (function, half)]
    start = np.random.default_rng(2).normal(size=D)
    found = cccp(*parts, L2(0.01), w0=start, eps_min=1e-3)
    expected = minimize(mean_of(half), L2(0.01), w0=start, tol=1e-4)
    assert found.value == pytest.approx(expected.value, rel=1e-2)


def test_threads_do_not_matter(function):
    w = np.random.default_rng(1).normal(size=D)
    one, two = (MeanInParts(function, N, D, 7, n_jobs=n)(w) for n in (1, 2))
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


@pytest.mark.parametrize(("n", "n_parts"), [(0, 3), (3, 0)])
def test_wrong_numbers(function, n, n_parts):
    with pytest.raises(ValueError, match=f"{n} functions in {n_parts} parts"):
        MeanInParts(function, n, D, n_parts)
