"""The solvers against a general one, on random polyhedral risks: bounds are valid, and tight."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polyhedral_risks import PolyhedralRisk, assert_tight, reference_optimum

from ermlab.optimize import L1, L2, cccp, minimize, solve_simplex_qp


def random_risk(rng, nonnegative=True):
    d, groups, functions = rng.integers(1, 6), rng.integers(1, 5), rng.integers(1, 6)
    slopes = rng.normal(size=(groups, functions, d)) * 10 ** rng.uniform(-1, 1)
    offsets = rng.normal(size=(groups, functions))
    if rng.random() < 0.3:  # ties and dependent planes
        slopes, offsets = np.round(slopes), np.round(offsets)
    if nonnegative:
        slopes = np.concatenate([slopes, np.zeros((groups, 1, d))], axis=1)
        offsets = np.concatenate([offsets, np.zeros((groups, 1))], axis=1)
    return PolyhedralRisk(slopes, offsets)


seeds = st.integers(0, 2**32 - 1)
settings_here = settings(max_examples=40)


@pytest.mark.parametrize("method", ["level", "cutting-plane"])
@pytest.mark.parametrize("max_idle", [1, None])
@settings_here
@given(seed=seeds)
def test_l2_optimum_lies_between_the_bounds(method, max_idle, seed):
    rng = np.random.default_rng(seed)
    nonnegative = rng.random() < 0.5
    risk, regularizer = random_risk(rng, nonnegative), L2(10 ** rng.uniform(-2, 1))
    linear = rng.normal(size=risk.dimension)
    result = minimize(
        risk,
        regularizer,
        linear=linear,
        constant=100.0,
        tol=1e-7,
        method=method,
        max_idle=max_idle,
        risk_lower_bound=0.0 if nonnegative else None,
    )
    optimum = reference_optimum(risk, regularizer, linear) + 100
    slack = 1e-8 * (1 + abs(optimum) + np.sum(result.w**2))  # of the reference
    assert_tight(result, optimum, 1e-7, slack)
    assert result.value == pytest.approx(
        regularizer(result.w) + risk(result.w)[0] + linear @ result.w + 100, rel=1e-12
    )


@pytest.mark.parametrize("method", ["level", "cutting-plane"])
@settings_here
@given(seed=seeds)
def test_l1_optimum_lies_between_the_bounds(method, seed):
    rng = np.random.default_rng(seed)
    risk, regularizer = random_risk(rng), L1(10 ** rng.uniform(-2, 0))
    linear = rng.uniform(-0.9, 0.9, size=risk.dimension) * regularizer.alpha
    result = minimize(risk, regularizer, linear=linear, constant=1.0, tol=1e-6, method=method, max_idle=2)
    optimum = reference_optimum(risk, regularizer, linear) + 1
    slack = 1e-8 * (1 + abs(optimum))  # of the reference
    assert_tight(result, optimum, 1e-6, slack)


@pytest.mark.parametrize("regularizer", [L1(0.1), L2(0.1)])
@settings_here
@given(seed=seeds, tol=st.floats(-6, -0.3).map(lambda exponent: 10**exponent))
def test_any_tolerance_is_met_and_reported(regularizer, seed, tol):
    rng = np.random.default_rng(seed)
    risk = random_risk(rng)
    risk.offsets[0] += 1.0  # the optimum is not 0, where no relative gap can be reached
    none = np.zeros(risk.dimension)
    result, early = (minimize(risk, regularizer, tol=tol, max_iter=limit) for limit in (1000, 2))
    optimum = reference_optimum(risk, regularizer, none)
    assert_tight(result, optimum, tol, 1e-8 * (1 + abs(optimum)))
    assert early.converged == (early.relative_gap <= tol)


@settings_here
@given(seed=seeds)
def test_planes_stay_below_the_risk_and_recycling_keeps_the_optimum(seed):
    rng = np.random.default_rng(seed)
    risk, regularizer = random_risk(rng), L2(0.1)
    first = minimize(risk, regularizer, tol=1e-6, max_iter=5)
    for w in rng.normal(size=(20, risk.dimension)) * 10:
        assert first.planes.value(w) <= risk(w)[0] + 1e-9 * (1 + abs(risk(w)[0]))
    linear = rng.normal(size=risk.dimension)
    before = len(first.planes)
    warm = minimize(risk, regularizer, linear=linear, constant=50.0, tol=1e-7, planes=first.planes)
    assert len(first.planes) == before
    optimum = reference_optimum(risk, regularizer, linear) + 50
    assert_tight(warm, optimum, 1e-7, 1e-8 * (1 + abs(optimum) + np.sum(warm.w**2)))


def best_by_enumeration(G, b, part):
    """Maximize over one simplex per part by the equality-constrained problem on every support."""
    best = -np.inf
    m, n_parts = len(b), part.max() + 1
    for size in range(n_parts, m + 1):
        for support in map(list, itertools.combinations(range(m), size)):
            member = np.eye(n_parts)[part[support]]
            system = np.block(
                [[G[np.ix_(support, support)], member], [member.T, np.zeros((n_parts, n_parts))]]
            )
            alpha = np.linalg.lstsq(system, np.append(b[support], np.ones(n_parts)), rcond=None)[0][:size]
            if (alpha >= -1e-9).all() and np.allclose(member.T @ alpha, 1, atol=1e-9):
                best = max(best, b[support] @ alpha - 0.5 * alpha @ G[np.ix_(support, support)] @ alpha)
    return best


@settings(max_examples=150)
@given(seed=seeds, n_parts=st.integers(1, 3))
def test_simplex_qp_against_enumeration_of_supports(seed, n_parts):
    rng = np.random.default_rng(seed)
    m, d = rng.integers(n_parts, 7), rng.integers(1, 5)
    part = rng.permutation(np.append(np.arange(n_parts), rng.integers(0, n_parts, m - n_parts)))
    A, b = rng.normal(size=(m, d)), rng.normal(size=m)
    if rng.random() < 0.3:
        A, b = np.round(A), np.round(b)
    start = rng.random(m) if rng.random() < 0.5 else None
    result = solve_simplex_qp(A @ A.T, b, start, tol=1e-12, part=part if n_parts > 1 else None)
    assert (result.alpha >= 0).all()
    np.testing.assert_allclose(np.bincount(part, result.alpha), 1, atol=1e-12)
    assert result.value == pytest.approx(best_by_enumeration(A @ A.T, b, part), abs=1e-9)
    assert result.gap <= 1e-9


@pytest.mark.parametrize("regularizer", [L2(0.1), L1(0.1)])
@pytest.mark.parametrize("recycle", [True, False])
@pytest.mark.parametrize("adaptive", [True, False])
@settings(max_examples=15)
@given(seed=seeds)
def test_cccp_descends_to_a_stationary_point(regularizer, recycle, adaptive, seed):
    rng = np.random.default_rng(seed)
    P, R = random_difference(rng)
    result = cccp(P, R, regularizer, recycle=recycle, adaptive=adaptive, eps_min=1e-4, eta=1e-4)
    objective = np.array(result.history.objective)
    assert (np.diff(objective) <= 1e-12 * np.abs(objective[:-1])).all()
    assert result.converged
    assert result.value == pytest.approx(regularizer(result.w) + P(result.w)[0] - R(result.w)[0], abs=1e-12)
    # No better point for the tangent of R there: what remains to gain is within the two tolerances.
    value, r = R(result.history.points[-2])
    offset = value - r @ result.history.points[-2]
    gain = result.value - (reference_optimum(P, regularizer, -r) - offset)
    assert gain <= 2e-4 * max(abs(objective[-2]), 1e-3) + 1e-6


def random_difference(rng):
    """Return ``P >= R``, mean over samples of ``max(p, r)`` and of ``r``, as in the bridge loss."""
    d, n = rng.integers(1, 5), rng.integers(1, 6)
    slopes, offsets = rng.normal(size=(n, 5, d)), np.zeros((n, 5))
    offsets[:, :3] = rng.random((n, 3))
    return PolyhedralRisk(slopes, offsets), PolyhedralRisk(slopes[:, 3:], offsets[:, 3:])
