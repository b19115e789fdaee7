"""The invariant ranking SVM against all choices of virtual samples and all orders, and the plain one."""

from itertools import permutations, product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ermlab.ranking import RankingSVM
from ermlab.ranking.invariant_ranking import InvariantRankingRisk, InvariantRankingSVM

# Quarters are exact in floating point, so that brute force and oracle see the same ties.
quarters = st.integers(-8, 8).map(lambda k: k / 4)


@st.composite
def bags(draw, samples=(2, 4), rows=3, d=2):
    """Rows in bags of unequal size, in any order, and labels of both classes."""
    n = draw(st.integers(*samples))
    sizes = [draw(st.integers(1, rows)) for _ in range(n)]
    groups = np.array(draw(st.permutations(np.repeat(np.arange(n), sizes).tolist())))
    X = np.array(draw(st.lists(st.tuples(*[quarters] * d), min_size=len(groups), max_size=len(groups))))
    positives = draw(st.integers(1, n - 1))
    y = np.array(draw(st.permutations([1.0] * positives + [-1.0] * (n - positives))))
    return X, groups, y


def worst_constraint(scores, y):
    """Largest violation over all orders of the samples, of all pairs that an order swaps."""
    best, pairs = 0.0, [(i, j) for i in np.flatnonzero(y > 0) for j in np.flatnonzero(y < 0)]
    for order in permutations(range(len(y))):
        place = np.argsort(order)
        swapped = [1 - scores[i] + scores[j] for i, j in pairs if place[j] < place[i]]
        best = max(best, sum(swapped))
    return best / len(pairs)


@given(problem=bags(rows=2), w=st.tuples(quarters, quarters).map(np.array))
def test_risk_is_the_maximum_over_all_choices_and_all_orders(problem, w):
    X, groups, y = problem
    members = [np.flatnonzero(groups == i) for i in range(len(y))]
    everything = (worst_constraint(X[list(rows)] @ w, y) for rows in product(*members))
    assert InvariantRankingRisk(X, groups, y)(w)[0] == pytest.approx(max(everything), abs=1e-12)


@given(
    problem=bags(),
    w=st.tuples(quarters, quarters).map(np.array),
    v=st.tuples(quarters, quarters).map(np.array),
)
def test_subgradient_bounds_the_risk_everywhere(problem, w, v):
    risk = InvariantRankingRisk(*problem)
    value, slope = risk(w)
    assert risk(v)[0] >= value + slope @ (v - w) - 1e-12


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), C=st.sampled_from([0.1, 1.0, 10.0]))
def test_quadratic_program_with_all_pairs_of_virtual_samples(seed, C):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    groups = rng.permutation(np.concatenate([np.arange(n), rng.integers(n, size=8)]))
    X = rng.normal(size=(n, d))[groups] + 0.3 * rng.normal(size=(len(groups), d))
    y = rng.permutation(np.where(np.arange(n) < rng.integers(1, n), 1, -1))
    svm = InvariantRankingSVM(C, tol=1e-7).fit(X, y, groups)
    edges = [(i, j) for i in np.flatnonzero(y > 0) for j in np.flatnonzero(y < 0)]
    rows = [
        np.concatenate([X[a] - X[b], np.eye(len(edges))[k]])
        for k, (i, j) in enumerate(edges)
        for a in np.flatnonzero(groups == i)
        for b in np.flatnonzero(groups == j)
    ]
    w, slacks = cp.Variable(d), cp.Variable(len(edges), nonneg=True)
    cost = cp.sum_squares(w) / 2 + C / len(edges) * cp.sum(slacks)
    met = np.array(rows) @ cp.hstack([w, slacks]) >= 1
    least = cp.Problem(cp.Minimize(cost), [met]).solve(solver=cp.CLARABEL)
    for bound in (svm.objective_, C * svm.result_.lower_bound):
        assert bound == pytest.approx(least, rel=1e-5)
    assert svm.gap_ <= 1e-7


@given(
    seed=st.integers(0, 2**32 - 1), C=st.sampled_from([0.5, 20.0]), dtype=st.sampled_from([np.float32, float])
)
def test_the_identity_alone_is_the_plain_ranking_svm_to_the_last_bit(seed, C, dtype):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 60)), int(rng.integers(1, 6))
    y = rng.permutation(np.where(np.arange(n) < rng.integers(1, n), 1, -1))
    X = (rng.normal(size=(n, d)) + 0.5 * y[:, None]).astype(dtype)
    plain = RankingSVM(C, graph="bipartite", threshold=0.0).fit(X, (1 - y) / 2)
    ours = [
        InvariantRankingSVM(C).fit(X[:, None], y),
        InvariantRankingSVM(C).fit(X, y),
        InvariantRankingSVM(C).fit(X, y, np.arange(n)),
    ]
    for svm in ours:
        assert np.array_equal(svm.coef_, plain.coef_)
        assert svm.objective_ == plain.objective_
        assert svm.n_iter_ == plain.n_iter_
        assert np.array_equal(svm.decision_function(X), plain.decision_function(X))
