"""Bounds on weights: closed forms, starts, proposals, badly scaled tables, refused bounds."""

import numpy as np
import pytest

from ermlab.optimize import L1, L2, Planes, Surrogate, cccp, minimize, minimize_blocks
from ermlab.optimize._box import Box
from ermlab.optimize._master_l1 import L1Master

BOX = ([1.0, -1.0, 0.5], [2.0, 0.0, 0.5])


class Distance:
    """The squared distance of ``w`` to a point; counts its calls and remembers their points."""

    def __init__(self, target):
        self.target, self.points = np.asarray(target, dtype=float), []
        self.dimension = self.target.size

    def __call__(self, w):
        self.points.append(w.copy())
        return float(np.sum((w - self.target) ** 2)), 2.0 * (w - self.target)


class Hinge:
    """The mean hinge loss of a table with random signs."""

    def __init__(self, X, seed=0):
        self.signed = X * np.random.default_rng(seed).choice([-1.0, 1.0], len(X))[:, None]
        self.dimension = X.shape[1]

    def __len__(self):
        return len(self.signed)

    def __call__(self, w):
        slack = 1.0 - self.signed @ w
        active = slack > 0
        return float(slack[active].sum()) / len(self), -self.signed[active].sum(axis=0) / len(self)

    def plane(self, i, w):
        active = float(1.0 - self.signed[i] @ w > 0)
        return -active * self.signed[i], active


@pytest.mark.parametrize("method", ["level", "cutting-plane"])
def test_a_separable_problem_has_its_clipped_solution(method):
    # 1/2 w^2 + (w - t)^2 is least at 2 t / 3, and in a box at the point nearest to that.
    target = np.array([9.0, 3.0, -3.0])
    result = minimize(Distance(target), L2(1.0), bounds=BOX, tol=1e-8, method=method)
    np.testing.assert_allclose(result.w, np.clip(2 * target / 3, *BOX), atol=1e-3)
    least = np.clip(2 * target / 3, *BOX)
    assert result.value == pytest.approx(0.5 * least @ least + np.sum((least - target) ** 2), rel=1e-8)


def test_a_separable_problem_with_l1():
    # 3 |w| + (w - t)^2 is least at t - 3/2 for t > 3/2, at 0 for small t.
    target = np.array([9.0, 1.0, -3.0])
    result = minimize(Distance(target), L1(3.0), bounds=([1.0, -1.0, -5.0], [2.0, 4.0, np.inf]), tol=1e-8)
    np.testing.assert_allclose(result.w, [2.0, 0.0, -1.5], atol=1e-3)


@pytest.mark.parametrize("regularizer", [L1(0.1), L2(0.1), L2([0.1, 0.2, 0.3])])
@pytest.mark.parametrize("method", ["level", "cutting-plane"])
def test_the_risk_is_called_inside_the_bounds_only(regularizer, method):
    risk = Distance([9.0, 3.0, -3.0])
    outside = np.array([-7.0, 8.0, 9.0])
    result = minimize(
        risk, regularizer, bounds=BOX, w0=outside, method=method, propose=lambda best, gap: best.w + outside
    )
    points = np.array(risk.points)
    assert result.converged
    assert ((points >= BOX[0]) & (points <= BOX[1])).all()
    np.testing.assert_array_equal(points[0], np.clip(outside, *BOX))


def test_a_start_inside_the_bounds_costs_no_call_and_one_outside_keeps_its_planes():
    risk = Distance([0.5, 0.5])
    free = minimize(risk, L2(1.0), tol=1e-4)
    calls = len(risk.points)
    inside = minimize(risk, L2(1.0), tol=1e-3, start=free.best, planes=free.planes, bounds=(0.0, 1.0))
    assert len(risk.points) == calls
    assert inside.n_iter == 0
    outside = minimize(risk, L2(1.0), tol=1e-6, start=free.best, bounds=(None, 0.1))
    assert outside.converged
    np.testing.assert_array_equal(risk.points[calls], [0.1, 0.1])


def test_the_surrogate_proposes_points_in_the_box():
    X = np.random.default_rng(0).normal(size=(400, 5))
    risk, cheap = Hinge(X), Hinge(X)
    cheap.signed = cheap.signed[:100]
    bounds = (0.0, [0.1, 0.2, 0.3, np.inf, np.inf])
    surrogate = Surrogate(cheap, L2(0.1), bounds)
    assert ((surrogate.minimizer >= 0.0) & (surrogate.minimizer <= bounds[1])).all()
    plain = minimize(risk, L2(0.1), bounds=bounds, tol=1e-5)
    helped = minimize(risk, L2(0.1), bounds=bounds, tol=1e-5, w0=surrogate.minimizer, propose=surrogate)
    assert helped.converged
    assert max(plain.lower_bound, helped.lower_bound) <= min(plain.value, helped.value)


def test_a_linear_term_steeper_than_l1_is_bounded_by_the_box():
    risk = Distance([0.0, 0.0])
    with pytest.raises(ValueError, match="unbounded"):
        minimize(risk, L1(1.0), linear=[-5.0, 0.0])
    result = minimize(risk, L1(1.0), linear=[-5.0, 0.0], bounds=(None, [1.0, np.inf]), tol=1e-8)
    np.testing.assert_allclose(result.w, [1.0, 0.0], atol=1e-4)  # w^2 - 4 w is least at 2
    assert result.value == pytest.approx(-3.0)


def test_the_certificate_of_any_dual_point_is_a_lower_bound_in_the_box():
    # |w| + max(0, 1 - 2 w) in [0.7, 3] is least at 0.7; all weight on the steep plane is feasible in a box.
    planes = Planes.of([[0.0], [-2.0]], [0.0, 1.0])
    master = L1Master(L1(1.0), np.zeros(1), planes, Box.of((0.7, 3.0), 1))
    bound, w = master.solve(0.0)
    assert w[0] == 0.7
    assert bound == pytest.approx(0.7, rel=1e-12)
    for weights, expected in (([0.0, 1.0], -2.0), ([0.5, 0.5], 0.5), ([1.0, 0.0], 0.7)):
        master._dual = np.array(weights)
        assert master._certified_bound() == pytest.approx(expected)


def unscaled_table(seed, n=60):
    """Return columns of very different sizes."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 5)) * [1e9, 1e5, 1e6, 1.0, 1e-3]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["signs", "range", "away from 0"])
def test_unscaled_tables_converge_to_the_optimum_in_other_units(seed, kind):
    X = unscaled_table(seed)
    size = np.abs(X).max(axis=0)
    bounds = {
        "signs": (np.array([0.0, 0.0, -np.inf, -np.inf, 0.0]), np.full(5, np.inf)),
        "range": (-0.3 / size, 0.3 / size),
        "away from 0": (
            np.array([1e-3 / size[0], *4 * [-np.inf]]),
            np.array([*4 * [np.inf], -1e-3 / size[4]]),
        ),
    }[kind]
    result = minimize(Hinge(X), L2(1 / 60), bounds=bounds)
    other = minimize(Hinge(X / size), L2(1 / 60 / size**2), bounds=(bounds[0] * size, bounds[1] * size))
    assert result.converged
    assert other.converged
    assert ((result.w >= bounds[0]) & (result.w <= bounds[1])).all()
    assert max(result.lower_bound, other.lower_bound) <= min(result.value, other.value) * (1 + 1e-9)


def test_repeated_runs_agree_to_the_bit():
    X = np.random.default_rng(0).normal(size=(200, 40))
    first, second = (minimize(Hinge(X), L2(1e-3), bounds=(-0.1, None), tol=1e-6) for _ in range(2))
    np.testing.assert_array_equal(first.w, second.w)
    assert first.history.lower_bound == second.history.lower_bound


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (([0.0, 1.0, 0.0], [1.0, 0.5, 1.0]), r"weight 1 has the lower bound 1\.0 and the upper bound 0\.5"),
        ((np.inf, np.inf), "weight 0 has the lower bound inf .*a finite number between"),
        ((None, [1.0, 1.0, -np.inf]), "weight 2 .*upper bound -inf"),
        (([0.0, np.nan, 0.0], None), "the lower bound of weight 1 is NaN"),
        (([0.0, 1.0], None), r"the lower bound has shape \(2,\): expected .* each of 3 weights"),
        ((None, np.zeros((2, 3))), r"the upper bound has shape \(2, 3\)"),
        ((0.0, 1.0, 2.0), r"expected a pair \(lower, upper\)"),
        (3.0, r"bounds is 3\.0: expected a pair"),
        (("a", None), "the lower bound|could not convert"),
        ((1j, None), "the lower bound has complex entries"),
        ((1e200, None), r"bounded away from 0 by 1e\+200"),
    ],
)
def test_impossible_bounds_are_refused(bounds, message):
    for solve in (
        lambda: minimize(Distance(np.zeros(3)), L2(1.0), bounds=bounds),
        lambda: minimize(Distance(np.zeros(3)), L1(1.0), bounds=bounds),
        lambda: cccp(Distance(np.zeros(3)), lambda w: (0.0, np.zeros(3)), L2(1.0), bounds=bounds),
        lambda: minimize_blocks(Hinge(np.eye(3)), L2(1.0), bounds=bounds),
    ):
        with pytest.raises(ValueError, match=message):
            solve()


@pytest.mark.parametrize("regularizer", [L2(0.01), L2([0.01, 0.1, 0.02, 0.5, 0.03, 1.0])])
@pytest.mark.parametrize("bounds", [(0.0, None), (-0.1, 0.1), (0.2, [0.2, 0.3, 0.4, 1.0, np.inf, 2.0])])
def test_planes_of_samples_have_the_same_optimum(regularizer, bounds):
    risk = Hinge(np.random.default_rng(0).normal(size=(40, 6)) + 0.3)
    blocks = minimize_blocks(risk, regularizer, bounds=bounds, tol=1e-4)
    whole = minimize(risk, regularizer, bounds=bounds, tol=1e-6)
    assert blocks.converged
    assert max(blocks.lower_bound, whole.lower_bound) <= min(blocks.value, whole.value)
    assert (blocks.w >= bounds[0]).all()
    assert (blocks.w <= (np.inf if bounds[1] is None else bounds[1])).all()


def test_infinite_bounds_change_no_bit_of_planes_of_samples():
    risk = Hinge(np.random.default_rng(0).normal(size=(20, 3)))
    plain, same = minimize_blocks(risk, L2(1.0)), minimize_blocks(risk, L2(1.0), bounds=(-np.inf, None))
    np.testing.assert_array_equal(plain.w, same.w)
    assert plain.history.lower_bound == same.history.lower_bound


def test_infinite_weights_too_steep_for_the_regularizer_are_refused():
    with pytest.raises(ValueError, match="a plane is too steep in coordinate 1"):
        minimize(
            lambda w: (1.0 + 1e100 * w[1], np.array([0.0, 1e100])), L2(1e-100), w0=[0, 0], bounds=(0, None)
        )
