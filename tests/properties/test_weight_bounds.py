"""Bounds on weights against a general solver: certificates hold, and the weights stay in the box exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polyhedral_risks import PolyhedralRisk, assert_tight, reference_optimum

from ermlab.optimize import L1, L2, cccp, minimize, minimize_blocks
from ermlab.optimize._box_qp import BoxQP

TOL = 1e-6
seeds = st.integers(0, 2**32 - 1)


class PolyhedralParts(PolyhedralRisk):
    """The groups of a polyhedral risk as its parts."""

    def __init__(self, slopes, offsets):
        super().__init__(slopes, offsets)
        self.n_parts = len(slopes)

    def __call__(self, w):
        heights = self.slopes @ w + self.offsets
        groups, best = np.arange(len(heights)), heights.argmax(axis=1)
        return heights[groups, best] / len(heights), self.slopes[groups, best] / len(heights)


class PolyhedralSamples(PolyhedralRisk):
    """The groups of a polyhedral risk as samples."""

    def __len__(self):
        return len(self.slopes)

    def plane(self, i, w):
        best = np.argmax(self.slopes[i] @ w + self.offsets[i])
        return self.slopes[i, best], self.offsets[i, best]


def random_planes(rng):
    """Return slopes and offsets of a non-negative risk of 1 to 30 weights."""
    d, groups, functions = rng.integers(1, 31), rng.integers(1, 6), rng.integers(1, 6)
    slopes, offsets = rng.normal(size=(groups, functions, d)), rng.normal(size=(groups, functions))
    if rng.random() < 0.3:  # ties and dependent planes
        slopes, offsets = np.round(slopes), np.round(offsets)
    return (
        np.concatenate([slopes, np.zeros((groups, 1, d))], axis=1),
        np.concatenate([offsets, np.zeros((groups, 1))], axis=1),
    )


def random_box(rng, d):
    """Return bounds of all kinds: none, signs, ranges, fixed weights, one-sided away from 0."""
    lower, upper = np.full(d, -np.inf), np.full(d, np.inf)
    kind = rng.integers(0, 7, d) if rng.random() < 0.7 else np.full(d, rng.integers(0, 7))
    bound, width = rng.normal(size=d), np.abs(rng.normal(size=d))
    lower[kind == 1], upper[kind == 2] = 0.0, 0.0
    for chosen, size in ((kind == 3, width), (kind == 4, 0.0)):
        lower[chosen], upper[chosen] = bound[chosen], (bound + size)[chosen]
    lower[kind == 5], upper[kind == 6] = bound[kind == 5], bound[kind == 6]
    return lower, upper


def random_units(rng, d):
    """Return units of the weights, equal or different."""
    return 10 ** (rng.uniform(-6, 6, d) if rng.random() < 0.5 else np.full(d, rng.uniform(-6, 6)))


@pytest.mark.parametrize("method", ["level", "cutting-plane"])
@pytest.mark.parametrize(("regularizer", "power"), [(L1, 1), (L2, 2)])
@settings(max_examples=40)
@given(seed=seeds)
def test_optimum_lies_between_the_bounds(regularizer, power, method, seed):
    rng = np.random.default_rng(seed)
    slopes, offsets = random_planes(rng)
    d = slopes.shape[2]
    units = random_units(rng, d)
    lower, upper = random_box(rng, d)
    strengths = 10 ** rng.uniform(-2, 1) * 10 ** (rng.uniform(-1, 1, d) * (rng.random() < 0.5))
    linear = rng.uniform(-0.9, 0.9, d) * strengths
    result = minimize(
        PolyhedralRisk(slopes * units, offsets),
        regularizer(strengths * units**power),
        linear=linear * units,
        constant=1.0,
        tol=TOL,
        method=method,
        max_idle=int(rng.integers(1, 50)),
        w0=rng.normal(size=d) / units,
        bounds=(lower / units, upper / units),
    )
    assert (result.w >= lower / units).all()
    assert (result.w <= upper / units).all()
    optimum = 1.0 + reference_optimum(
        PolyhedralRisk(slopes, offsets), regularizer(strengths), linear, lower, upper
    )
    assert_tight(result, optimum, TOL, 1e-8 * (1 + abs(optimum) + np.sum((result.w * units) ** 2)))


@settings(max_examples=40)
@given(seed=seeds)
def test_parts_and_a_warm_start(seed):
    rng = np.random.default_rng(seed)
    slopes, offsets = random_planes(rng)
    lower, upper = random_box(rng, slopes.shape[2])
    risk, regularizer = PolyhedralParts(slopes, offsets), L2(10 ** rng.uniform(-2, 1))
    free = minimize(risk, regularizer, max_iter=5)  # outside the bounds
    options = {"tol": TOL, "constant": 1.0, "bounds": (lower, upper)}
    linear = rng.normal(size=risk.dimension)
    optimum = 1.0 + reference_optimum(risk, regularizer, linear, lower, upper)
    for start in ({}, {"planes": free.planes}, {"planes": free.planes, "start": free.best}):
        result = minimize(risk, regularizer, linear=linear, **options, **start)
        assert ((result.w >= lower) & (result.w <= upper)).all()
        assert_tight(result, optimum, TOL, 1e-8 * (1 + abs(optimum) + np.sum(result.w**2)))


@settings(max_examples=40)
@given(seed=seeds)
def test_planes_of_samples(seed):
    rng = np.random.default_rng(seed)
    slopes, offsets = random_planes(rng)
    offsets[0] += 1.0  # the optimum is not 0, where no relative gap can be reached
    d = slopes.shape[2]
    lower, upper = random_box(rng, d)
    units, strengths = random_units(rng, d), 10 ** rng.uniform(-2, 1, d)
    result = minimize_blocks(
        PolyhedralSamples(slopes * units, offsets),
        L2(strengths * units**2),
        bounds=(lower / units, upper / units),
        tol=1e-4,
        max_iter=5000,
    )
    assert ((result.w >= lower / units) & (result.w <= upper / units)).all()
    optimum = reference_optimum(PolyhedralRisk(slopes, offsets), L2(strengths), np.zeros(d), lower, upper)
    assert_tight(result, optimum, 1e-4, 1e-8 * (1 + abs(optimum) + np.sum((result.w * units) ** 2)))


@pytest.mark.parametrize("regularizer", [L1(0.1), L2(0.1), L2(np.full(4, 0.1))])
@pytest.mark.parametrize("method", ["level", "cutting-plane"])
@settings(max_examples=15)
@given(seed=seeds)
def test_infinite_bounds_change_no_bit(regularizer, method, seed):
    rng = np.random.default_rng(seed)
    slopes, offsets = rng.normal(size=(5, 4, 4)), np.abs(rng.normal(size=(5, 4)))
    slopes[:, 0] = 0.0
    risk = PolyhedralRisk(slopes, offsets)
    plain = minimize(risk, regularizer, method=method)
    for bounds in ((-np.inf, np.inf), (None, np.full(4, np.inf)), (None, None)):
        same = minimize(risk, regularizer, method=method, bounds=bounds)
        np.testing.assert_array_equal(same.w, plain.w)
        assert same.history.value == plain.history.value
        assert same.history.lower_bound == plain.history.lower_bound


@pytest.mark.parametrize("regularizer", [L1(0.1), L2(0.1)])
@settings(max_examples=25)
@given(seed=seeds)
def test_bounds_that_do_not_bind_keep_the_optimum(regularizer, seed):
    rng = np.random.default_rng(seed)
    risk = PolyhedralRisk(*random_planes(rng))
    plain = minimize(risk, regularizer, tol=TOL, constant=1.0)
    size = 1.0 + 2.0 * np.sqrt(2 * plain.value / 0.1) + plain.value / 0.1
    bounded = minimize(risk, regularizer, tol=TOL, constant=1.0, bounds=(-size, size))
    assert max(plain.lower_bound, bounded.lower_bound) <= min(plain.value, bounded.value) + 1e-9
    assert bounded.converged


@settings(max_examples=25)
@given(seed=seeds)
def test_cccp_stays_in_the_box_and_descends_to_a_stationary_point(seed):
    rng = np.random.default_rng(seed)
    d, n = rng.integers(1, 8), rng.integers(1, 6)
    slopes, offsets = rng.normal(size=(n, 5, d)), np.zeros((n, 5))
    offsets[:, :3] = rng.random((n, 3))
    P, R = PolyhedralRisk(slopes, offsets), PolyhedralRisk(slopes[:, 3:], offsets[:, 3:])
    lower, upper = random_box(rng, d)
    recycle = bool(rng.random() < 0.5)
    result = cccp(P, R, L2(0.1), bounds=(lower, upper), eps_min=1e-4, eta=1e-4, recycle=recycle)
    objective, points = np.array(result.history.objective), np.array(result.history.points)
    assert ((points >= lower) & (points <= upper)).all()
    assert (np.diff(objective) <= 1e-12 * np.abs(objective[:-1])).all()
    assert result.converged
    value, r = R(points[-2])
    gain = result.value - (reference_optimum(P, L2(0.1), -r, lower, upper) - value + r @ points[-2])
    assert gain <= 2e-4 * max(abs(objective[-2]), 1e-3) + 1e-6


@settings(max_examples=100)
@given(seed=seeds, n_parts=st.integers(1, 3))
def test_box_qp_reaches_a_duality_gap_of_zero(seed, n_parts):
    rng = np.random.default_rng(seed)
    m, d = rng.integers(n_parts, 12), rng.integers(1, 15)
    part = rng.permutation(np.append(np.arange(n_parts), rng.integers(0, n_parts, m - n_parts)))
    F = rng.normal(size=(m, rng.integers(1, 5))) * (rng.random() < 0.7)
    A, b, v, strength = rng.normal(size=(m, d)), rng.normal(size=m), rng.normal(size=d), rng.random(d) + 0.01
    lower, upper = random_box(rng, d)
    alpha = BoxQP(F @ F.T, b, A, v, strength, lower, upper, part).solve(np.zeros(m), 1e-12)
    assert (alpha >= 0).all()
    np.testing.assert_allclose(np.bincount(part, alpha), 1.0, atol=1e-12)
    # The weights of the dual point attain its value in the primal problem.
    z, u = np.clip(-(alpha @ A + v) / strength, lower, upper), -alpha @ F
    tops = np.full(n_parts, -np.inf)
    np.maximum.at(tops, part, F @ u + A @ z + b)
    quadratic = 0.5 * np.sum(strength * z * z) + 0.5 * np.sum(u * u)
    primal = tops.sum() + quadratic + v @ z
    dual = b @ alpha + quadratic + (alpha @ A + v) @ z + alpha @ F @ u
    assert primal - dual == pytest.approx(0.0, abs=1e-9 * (1 + abs(primal) + quadratic))
