"""Risks that contradict themselves are refused: no bound could be trusted."""

import numpy as np
import pytest

from ermlab.optimize import L1, L2, Planes, check_risk, minimize, minimize_blocks
from ermlab.optimize._master_l1 import L1Master
from ermlab.ranking import RankingSVM
from ermlab.ranking.invariant_ranking import InvariantRankingSVM
from ermlab.structured.invariant import InvariantSVM
from ermlab.structured.multiclass import MultiClassTask
from ermlab.structured.risk import StructuredRisk
from ermlab.structured.structured_svm import StructuredSVM
from ermlab.structured.transfer_svm import TransferSVM
from ermlab.taxonomy.taxonomic_svm import TaxonomicSVM

N = 200


def hinge_risk(factor=1.0):
    """Return a hinge risk whose subgradient is wrong by a factor."""
    rng = np.random.default_rng(0)
    y = np.repeat([-1.0, 1.0], N // 2)
    signed = (rng.normal(size=(N, 5)) + 0.5 * y[:, None]) * y[:, None]

    def risk(w):
        slack = 1.0 - signed @ w
        active = slack > 0
        return float(slack[active].sum()) / N, -factor * signed[active].sum(axis=0) / N

    return risk


@pytest.mark.parametrize("factor", [-1.0, N, 1 / N, 2.0, 0.5])
@pytest.mark.parametrize("method", ["level", "cutting-plane"])
def test_a_wrong_subgradient_is_refused(factor, method):
    with pytest.raises(ValueError, match=r"the risk `risk` is not convex, or its subgradient is wrong.*1/n"):
        minimize(hinge_risk(factor), L2(0.01), w0=np.zeros(5), method=method)


@pytest.mark.parametrize("factor", [-1.0, N, 2.0])
def test_a_wrong_subgradient_is_refused_with_l1(factor):
    with pytest.raises(ValueError, match="subgradient is wrong"):
        minimize(hinge_risk(factor), L1(0.01), w0=np.zeros(5))


def test_a_right_subgradient_is_not_refused():
    assert minimize(hinge_risk(), L2(1e-6), w0=np.zeros(5), tol=1e-9).converged
    assert minimize(hinge_risk(), L1(1e-3), w0=np.zeros(5), tol=1e-6).converged


def test_a_risk_in_single_precision_is_not_refused():
    exact = hinge_risk()

    def risk(w):
        value, slope = exact(w.astype(np.float32).astype(np.float64))
        return float(np.float32(value)), slope.astype(np.float32)

    assert minimize(risk, L2(0.01), w0=np.zeros(5), tol=1e-5).converged


class WrongBlocks(StructuredRisk):
    """A structured risk that forgets to divide by the number of samples."""

    def __call__(self, w):
        value, slope = super().__call__(w)
        return value, len(self) * slope

    def block_dual(self, alpha):
        from ermlab.optimize import PlaneBlocks

        dual = PlaneBlocks(self, alpha)
        collect = dual.collect

        def wrong():
            value, slope = collect()
            return value, -len(self) * slope

        dual.collect = wrong
        return dual


def test_wrong_planes_of_samples_are_refused():
    rng = np.random.default_rng(0)
    risk = WrongBlocks(MultiClassTask(3, 4), rng.normal(size=(30, 4)), rng.integers(0, 3, 30))
    with pytest.raises(ValueError, match="`WrongBlocks` is not convex, or its subgradient is wrong"):
        minimize_blocks(risk, L2(0.01))


def test_a_bound_that_underflow_would_raise_above_the_value():
    # lam |w| is 5e-261, whose square is 0 in floating point.
    rng = np.random.default_rng(0)
    X, y = 1e-40 * rng.normal(size=(6, 2)), [0, 1, 0, 1, 0, 1]
    result = minimize_blocks(StructuredRisk(MultiClassTask(2, 2), X, y), L2(1e-300))
    assert result.lower_bound <= result.value


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (-1.0, "rises where its subgradient falls: wrong sign"),
        (N, "200 times as long"),
        (0.5, "0.5 times"),
    ],
)
def test_check_risk_names_the_cause(factor, message):
    with pytest.raises(ValueError, match=message):
        check_risk(hinge_risk(factor), np.full(5, 0.1))


def test_check_risk_finds_one_wrong_coordinate():
    exact = hinge_risk()

    def risk(w):
        value, slope = exact(w)
        slope[2] = 0.0
        return value, slope

    with pytest.raises(ValueError, match="tangent plane"):
        check_risk(risk, np.full(5, 0.1))


def test_check_risk_finds_a_risk_that_is_not_convex():
    with pytest.raises(ValueError, match="not convex"):
        check_risk(lambda w: (float(np.sum(np.sin(w))), np.cos(w)), np.full(3, 0.3))


def test_check_risk_finds_side_effects_and_chance():
    def changes(w):
        w += 1.0
        return 1.0, np.zeros_like(w)

    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="modifies w"):
        check_risk(changes, np.zeros(2))
    with pytest.raises(ValueError, match="different values"):
        check_risk(lambda w: (rng.random(), np.zeros(2)), np.zeros(2))
    with pytest.raises(ValueError, match="expected a vector"):
        check_risk(hinge_risk(), [[0.0]])
    with pytest.raises(ValueError, match="n_directions is 0"):
        check_risk(hinge_risk(), np.zeros(5), n_directions=0)


def test_check_risk_accepts_what_the_library_has():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.integers(0, 3, 30)
    for rescaling in ("margin", "slack"):
        check_risk(StructuredRisk(MultiClassTask(3, 4), X, y, rescaling), rng.normal(size=12))
    check_risk(hinge_risk(), rng.normal(size=5))
    check_risk(lambda w: (float(w @ w), 2 * w), np.zeros(3))


def test_the_time_limit_is_honoured(monkeypatch):
    clock = iter(np.arange(0.0, 1e6))
    monkeypatch.setattr("ermlab.optimize._search.time.perf_counter", lambda: next(clock))
    result = minimize(hinge_risk(), L2(1e-9), w0=np.zeros(5), tol=1e-12, max_time=10.0)
    assert not result.converged
    assert 1 <= result.n_iter < 10


def test_limits_that_cannot_be():
    with pytest.raises(ValueError, match="max_time is 0"):
        minimize(hinge_risk(), L2(1.0), w0=np.zeros(5), max_time=0)


@pytest.mark.parametrize("solver", ["bundle", "blocks", "auto"])
def test_estimators_say_which_limit_they_met(solver):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 40)), rng.integers(0, 3, 60)
    model = StructuredSVM(MultiClassTask(3, 40), C=1e3, tol=1e-12, max_time=1e-9, solver=solver)
    with pytest.warns(UserWarning, match="raise max_iter, max_time or tol"):
        model.fit(X, y)
    assert model.result_.n_iter == 1


def test_every_estimator_honours_its_time_limit():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 2, 50)
    limits = {"tol": 1e-12, "max_time": 1e-9}
    for model, arguments in (
        (RankingSVM(**limits), (X, rng.random(50))),
        (InvariantSVM(**limits), (X, 2 * y - 1)),
        (InvariantSVM(penalty="l1", **limits), (X, 2 * y - 1)),
        (InvariantRankingSVM(**limits), (X, 2 * y - 1)),
        (TransferSVM(MultiClassTask(2, 3), **limits), (X, y, np.arange(50) % 2)),
    ):
        with pytest.warns(UserWarning, match="stopped after 1 of at most 1000 iterations.*max_time"):
            model.fit(*arguments)
    for solver in ("blocks", "planes"):
        with pytest.warns(UserWarning, match="stopped after 1 iterations .*max_time"):
            TaxonomicSVM(solver=solver, **limits).fit(X @ X.T, y)
        with pytest.raises(ValueError, match="max_time is 0: expected a positive number of seconds"):
            TaxonomicSVM(solver=solver, max_time=0).fit(X @ X.T, y)


def test_a_search_that_rounding_has_stopped_ends():
    # The optimum is 0, and all weights are sums that cancel: no point has a relative gap of 1e-9.
    def risk(w):
        return 1.3 * abs(w[0]), 1.3 * np.sign(w)

    result = minimize(risk, L2(0.1), w0=[1.0], linear=[0.9], tol=1e-9, max_iter=100_000)
    assert result.gap <= 1e-12
    assert result.n_iter < 1000


def test_a_program_that_highs_cannot_solve_ends_the_search_with_the_bounds_so_far():
    X = np.random.default_rng(0).normal(size=(40, 4))
    X[0] *= 1e12
    model = StructuredSVM(MultiClassTask(3, 4), penalty="l1", solver="bundle", max_iter=120)
    with pytest.warns(UserWarning, match="StandardScaler"):
        model.fit(X, np.random.default_rng(0).integers(0, 3, 40))
    assert model.result_.lower_bound <= model.result_.value < 1.0
    with pytest.raises(ValueError, match=r"the slope .* is too large for the strength .*StandardScaler"):
        minimize(hinge_risk(), L1(1e-18), w0=np.zeros(5))


def test_the_certificate_of_an_infeasible_dual_point_is_still_a_lower_bound():
    # |w| + max(0, 1 - 2 w) has the minimum 1/2; all weight on the steep plane violates |A' alpha| <= 1.
    planes = Planes.of([[0.0], [-2.0]], [0.0, 1.0])
    master = L1Master(L1(1.0), np.zeros(1), planes)
    assert master.solve(0.0)[0] == pytest.approx(0.5)
    for weights, bound in (
        ([0.0, 1.0], 0.5),
        ([0.25, 0.75], 0.5),
        ([0.75, 0.25], 0.25),
        ([0.0, 0.0], -np.inf),
    ):
        master._dual = np.array(weights, dtype=float)
        assert master._certified_bound() == pytest.approx(bound)
