"""The invariant SVM against the program with one constraint per virtual sample."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ermlab.optimize import PlaneBlocks, minimize_blocks
from ermlab.optimize.regularizers import L2
from ermlab.structured._hinge_bags import Bags, WorstHingeRisk
from ermlab.structured.invariant import InvariantSVM


def random_bags(seed):
    """Return rows in bags of unequal size, their samples, labels and weights."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    groups = rng.permutation(np.concatenate([np.arange(n), rng.integers(n, size=rng.integers(0, 12))]))
    X = rng.normal(size=(n, d))[groups] + rng.choice([0.1, 1.0]) * rng.normal(size=(len(groups), d))
    y = rng.choice([-1, 1], size=n)
    y[rng.permutation(n)[:2]] = -1, 1
    return X, groups, y, rng.uniform(0.2, 2, size=n), rng


def constraints(X, groups, y):
    """Return the matrix of ``y_i <w, x> + xi_i >= 1``, one row per virtual sample."""
    return np.hstack([y[groups, None] * X, np.eye(len(y))[groups]])


def objective(w, X, groups, y, weights, C):
    hinges = np.maximum(0, 1 - y[groups] * (X @ w))
    worst = [hinges[groups == i].max() for i in range(len(y))]
    return C * weights @ worst


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), C=st.sampled_from([0.05, 1.0, 5.0]))
def test_quadratic_program_with_all_constraints(seed, C):
    X, groups, y, weights, _ = random_bags(seed)
    svm = InvariantSVM(C=C, tol=1e-7, max_iter=10_000).fit(X, y, groups=groups, sample_weight=weights)
    d, ours = X.shape[1], svm.result_.value * C * len(y)
    assert ours == pytest.approx(svm.coef_ @ svm.coef_ / 2 + objective(svm.coef_, X, groups, y, weights, C))
    w, slacks = cp.Variable(d), cp.Variable(len(y), nonneg=True)
    cost = cp.sum_squares(w) / 2 + C * weights @ slacks
    met = constraints(X, groups, y) @ cp.hstack([w, slacks]) >= 1
    least = cp.Problem(cp.Minimize(cost), [met]).solve(solver=cp.CLARABEL)
    assert ours == pytest.approx(least, rel=1e-5)
    assert svm.result_.lower_bound * C * len(y) == pytest.approx(least, rel=1e-5)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), C=st.sampled_from([0.05, 1.0, 5.0]))
def test_linear_program_with_all_constraints(seed, C):
    X, groups, y, weights, _ = random_bags(seed)
    svm = InvariantSVM(C=C, penalty="l1", tol=1e-7).fit(X, y, groups=groups, sample_weight=weights)
    d, A = X.shape[1], constraints(X, groups, y)
    peer = linprog(
        np.concatenate([np.ones(2 * d), C * weights]),
        A_ub=-np.hstack([A[:, :d], -A[:, :d], A[:, d:]]),
        b_ub=-np.ones(len(X)),
    )
    for bound in (svm.result_.value, svm.result_.lower_bound):
        assert bound * C * len(y) == pytest.approx(peer.fun, rel=1e-6)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), bias=st.sampled_from([0.0, 0.5]))
def test_risk_and_dual_keep_to_their_contract(seed, bias):
    """Value, planes and subgradient against the definition; the fast dual against explicit planes."""
    X, groups, y, weights, rng = random_bags(seed)
    rows = np.argsort(groups, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(groups))])
    risk = WorstHingeRisk(Bags(X, rows, starts, y.astype(float), weights / len(y), bias))
    Z = np.hstack([X, np.full((len(X), int(bias != 0)), bias)])
    w, u = rng.normal(size=(2, risk.dimension))
    value, subgradient = risk(w)
    assert value == pytest.approx(objective(w, Z, groups, y, weights / len(y), 1.0))
    assert risk(u)[0] >= value + subgradient @ (u - w) - 1e-9
    planes = [risk.plane(i, w) for i in range(len(risk))]
    assert np.mean([a @ w + b for a, b in planes]) == pytest.approx(value)
    np.testing.assert_allclose(np.mean([a for a, _ in planes], axis=0), subgradient, atol=1e-12)

    fast = minimize_blocks(risk, L2(0.1), tol=1e-6, max_iter=10_000)
    slow = minimize_blocks(PlanesOf(risk), L2(0.1), tol=1e-6, max_iter=10_000)
    for bound in (fast.value, fast.lower_bound, slow.lower_bound):
        assert bound == pytest.approx(slow.value, rel=1e-5)

    dual = risk.block_dual(0.1)
    dual.w = w
    dual.collect()
    for factor in (-0.7, 0.0, 1.3):
        along, derivative = dual.along(factor)
        assert along == pytest.approx(risk(factor * w)[0])
        assert risk((factor + 0.1) * w)[0] >= along + 0.1 * derivative - 1e-9
        assert risk((factor - 0.1) * w)[0] >= along - 0.1 * derivative - 1e-9


class PlanesOf:
    """A risk given by its planes only."""

    def __init__(self, risk):
        self.dimension, self.plane, self._risk = risk.dimension, risk.plane, risk

    def __len__(self):
        return len(self._risk)

    def __call__(self, w):
        return self._risk(w)

    def block_dual(self, alpha):
        return PlaneBlocks(self, alpha)
