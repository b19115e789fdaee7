"""Dual definitions agree with closed forms and with a general convex solver."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ermlab.sparse import norm
from reproduction.experiments.ksupport.dual_definitions import (
    PAIRS,
    compare_norms,
    elastic_net_by_dual,
    elastic_net_ratios,
    example_values,
    ksupport_by_dual,
    lasso_by_dual,
)

VECTORS = arrays(
    float, st.integers(1, 12), elements=st.one_of(st.just(0.0), st.floats(-5, 5).map(lambda x: round(x, 3)))
)


@given(w=VECTORS, data=st.data())
def test_ksupport_norm(w, data):
    k = data.draw(st.integers(1, w.size))
    assert ksupport_by_dual(w, k) == pytest.approx(norm(w, k), rel=1e-10, abs=1e-12)


@given(w=VECTORS, alpha1=st.floats(0, 3), alpha2=st.floats(0.01, 3))
def test_lasso_and_elastic_net(w, alpha1, alpha2):
    l1 = np.abs(w).sum()
    assert lasso_by_dual(w) == pytest.approx(l1)
    expected = alpha1 * l1 + alpha2 * w @ w
    assert elastic_net_by_dual(w, alpha1, alpha2) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_norms_agree_with_their_dual_definitions():
    differences = compare_norms(40, 0)
    assert set(differences) == set(PAIRS)
    assert max(differences.values()) < 1e-8
    # |w|_1; .3 |w|_1 + .7 |w|^2; with k = 2 the norm is (4^2 + (2 + 1 + .5)^2)^(1/2).
    values = {name: example["formula"] for name, example in example_values().items()}
    assert values == pytest.approx({"lasso": 7.5, "elastic_net": 17.125, "ksupport": 28.25**0.5})


@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_a_convex_solver_finds_the_same_maximum(k):
    w = np.random.default_rng(k).standard_t(2, size=6)
    u = cp.Variable(6)
    problem = cp.Problem(cp.Maximize(w @ u), [cp.sum_largest(cp.square(u), k) <= 1])
    problem.solve(solver=cp.CLARABEL)
    assert ksupport_by_dual(w, k) == pytest.approx(problem.value, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ksupport_by_dual([1.0, 2.0], 3), "k is 3: expected an integer from 1 to 2"),
        (lambda: ksupport_by_dual([], 1), r"w has shape \(0,\)"),
        (lambda: lasso_by_dual([np.nan]), "expected a vector of finite numbers"),
        (lambda: elastic_net_by_dual([1.0], 1.0, 0.0), "alpha2 0.0: expected at least 0 and above 0"),
        (lambda: compare_norms(0, 0), "vectors is 0: expected at least 1"),
    ],
)
def test_broken_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("w", [[1e308, 1e308], [1 + 1j]])
def test_weights_that_overflow_are_refused(w):
    for call in (lasso_by_dual, lambda w: ksupport_by_dual(w, 1), lambda w: elastic_net_by_dual(w, 1, 1)):
        with pytest.raises(ValueError, match=r"w has|w:"):
            call(w)
    with pytest.raises(ValueError, match="alpha1 is 1e"):
        elastic_net_by_dual([1.0], 1e300, 1e-300)


def test_the_ratio_to_the_elastic_net_lies_between_1_and_the_square_root_of_2():
    ratios = elastic_net_ratios(100, 0)
    assert 1 - 1e-9 <= ratios["min"] < 1.01
    # One entry of k^1.5 and k^2 of 1: the elastic net has k^1.5 + k, the k-support norm, whose r is k - 2,
    # (k^3 + k^4 / (k - 1))^(1/2); at most k = 100 is drawn.
    bound = (100**3 + 100**4 / 99) ** 0.5 / (100**1.5 + 100)
    assert 1.2 < ratios["max"] <= bound < 2**0.5
