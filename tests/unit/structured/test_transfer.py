"""Transfer between data sets: against every constraint written out, and in its limits."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from ermlab.optimize import L2, Planes, cccp, minimize, solve_simplex_qp
from ermlab.structured.multiclass import MultiClassTask
from ermlab.structured.risk import StructuredRisk
from ermlab.structured.structured_svm import StructuredSVM
from ermlab.structured.transfer import Coupling, TransferRisk, minimize_transfer, transfer_cccp
from ermlab.structured.transfer_svm import TransferSVM

N_CLASSES, N_FEATURES = 3, 2
TASK = MultiClassTask(N_CLASSES, N_FEATURES)


def data_sets(sizes=(9, 6, 4), seed=0):
    """Draw samples of related problems: the classes lie a little differently in each."""
    rng = np.random.default_rng(seed)
    common, sets = rng.normal(size=(N_CLASSES, N_FEATURES)), []
    for n in sizes:
        own = common + 0.5 * rng.normal(size=common.shape)
        X = rng.normal(size=(n, N_FEATURES))
        sets.append((X, (X @ own.T + 0.3 * rng.normal(size=(n, N_CLASSES))).argmax(axis=1)))
    return sets


def risks_of(sets):
    return [StructuredRisk(TASK, X, y) for X, y in sets]


def summed(risks, sizes):
    """Return the risk of the union: one function of one weight vector."""

    def union(w):
        values, slopes = zip(*(risk(w) for risk in risks), strict=True)
        return float(np.dot(sizes, values)), np.tensordot(sizes, slopes, axes=1)

    return union


def slacks_and_constraints(sets, weights):
    """Return the slack of each sample, and for each sample and output the constraint of equation 1.9."""
    slacks, constraints = [], []
    for (X, y), w in zip(sets, weights, strict=True):
        xi = cp.Variable(len(y), nonneg=True)
        slacks.append(cp.sum(xi))
        for n, (x, truth) in enumerate(zip(X, y, strict=True)):
            for z in range(N_CLASSES):
                psi = TASK.joint_feature(x, truth) - TASK.joint_feature(x, z)
                constraints.append(psi @ w >= TASK.loss(truth, z) - xi[n])
    return slacks, constraints


def optimum_by_cvxpy(sets, alpha, rho):
    """Return value, shared and own weights of equation 1.9 with every constraint written out."""
    shared = cp.Variable(TASK.dimension)
    own = [cp.Variable(TASK.dimension) for _ in sets]
    slacks, constraints = slacks_and_constraints(sets, own)
    distances = sum(cp.sum_squares(w - shared) for w in own)
    objective = alpha / 2 * cp.sum_squares(shared) + rho / 2 * distances + sum(slacks)
    value = cp.Problem(cp.Minimize(objective), constraints).solve(solver="CLARABEL")
    return value, shared.value, np.array([w.value for w in own])


def sizes_of(sets):
    return [len(y) for _, y in sets]


@pytest.mark.parametrize(("alpha", "rho"), [(1.0, 1.0), (0.5, 2.5), (5.0, 0.1), (0.05, 30.0)])
@pytest.mark.parametrize("n_domains", [1, 2, 3])
def test_every_constraint_written_out(alpha, rho, n_domains):
    sets = data_sets()[:n_domains]
    found = minimize_transfer(risks_of(sets), alpha=alpha, rho=rho, sizes=sizes_of(sets), tol=1e-7)
    value, shared, weights = optimum_by_cvxpy(sets, alpha, rho)
    assert found.converged
    assert found.value == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(found.weights, weights, atol=2e-3)
    np.testing.assert_allclose(found.shared, shared, atol=2e-3)
    np.testing.assert_array_equal(found.w, found.weights[-1])


@pytest.mark.parametrize("max_iter", [1, 3, 8, 1000])
def test_the_gap_is_a_certificate(max_iter):
    sets = data_sets()
    optimum = optimum_by_cvxpy(sets, 0.5, 2.5)[0]
    found = minimize_transfer(
        risks_of(sets), alpha=0.5, rho=2.5, sizes=sizes_of(sets), tol=1e-6, max_iter=max_iter
    )
    assert found.result.lower_bound <= optimum * (1 + 1e-6)
    assert optimum <= found.value * (1 + 1e-6)
    assert found.converged == (found.result.relative_gap <= 1e-6) == (max_iter == 1000)
    assert found.n_iter <= max_iter
    # The value is that of the printed objective at the weights that are returned.
    risks = sum(n * risk(w)[0] for n, risk, w in zip([9, 6, 4], risks_of(sets), found.weights, strict=True))
    distances = np.sum((found.weights - found.shared) ** 2)
    assert found.value == pytest.approx(0.25 * np.sum(found.shared**2) + 1.25 * distances + risks)


def test_planes_of_the_sum_lead_to_the_same_optimum():
    # The same problem without parts: one plane for all data sets, as `minimize` always had it.
    sets = data_sets()
    risk = TransferRisk(risks_of(sets), Coupling(3, TASK.dimension, 0.5, 2.5), sizes_of(sets))

    def aggregated(u):
        values, slopes = risk(u)
        return values.sum(), slopes.sum(axis=0)

    one = minimize(aggregated, L2(1.0), w0=np.zeros(risk.dimension), tol=1e-7)
    many = minimize(risk, L2(1.0), tol=1e-7)
    assert many.value == pytest.approx(one.value, rel=1e-6)
    assert many.n_iter < one.n_iter


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_zero_plane", [True, False])
def test_the_dual_of_section_1_5_3(seed, with_zero_plane):
    """Erratum C-transfer-dual: all but the sums of the weights is as printed, and so is equation 1.10."""
    alpha, rho = 0.7, 1.9
    tau = rho * alpha / (rho + alpha)
    rng = np.random.default_rng(seed)
    planes = [(rng.normal(size=(6, 4)), rng.normal(size=6) - 3) for _ in range(3)]
    if with_zero_plane:
        planes = [(np.vstack([A, np.zeros(4)]), np.append(b, 0.0)) for A, b in planes]

    w, own = cp.Variable(4), [cp.Variable(4) for _ in planes]
    heights = sum(cp.max(A @ v + b) for (A, b), v in zip(planes, own, strict=True))
    distances = sum(cp.sum_squares(v - w) for v in own)
    primal = cp.Problem(cp.Minimize(alpha / 2 * cp.sum_squares(w) + rho / 2 * distances + heights))
    optimum = primal.solve(solver="CLARABEL")

    K = np.block(
        [
            [A @ B.T / (tau if d == e else alpha) for e, (B, _) in enumerate(planes)]
            for d, (A, _) in enumerate(planes)
        ]
    )
    b = np.concatenate([offsets for _, offsets in planes])
    part = np.repeat(np.arange(len(planes)), [len(offsets) for _, offsets in planes])
    found = solve_simplex_qp(K, b, tol=1e-10, part=part)
    assert found.value == pytest.approx(optimum, abs=1e-6)
    slopes = [found.alpha[part == d] @ A for d, (A, _) in enumerate(planes)]
    shared = -sum(slopes) / alpha
    np.testing.assert_allclose(shared, w.value, atol=1e-4)
    for slope, v in zip(slopes, own, strict=True):
        np.testing.assert_allclose(shared - slope / rho, v.value, atol=1e-4)

    # As printed, sums of at most 1 make no difference beside the plane 0, and without it give too much.
    alpha = cp.Variable(len(b), nonneg=True)
    at_most_one = [cp.sum(alpha[part == d]) <= 1 for d in range(len(planes))]
    printed = cp.Problem(cp.Maximize(b @ alpha - cp.quad_form(alpha, cp.psd_wrap(K)) / 2), at_most_one)
    excess = printed.solve(solver="CLARABEL") - optimum
    assert abs(excess) < 1e-5 if with_zero_plane else excess > 0.1


def test_large_rho_is_the_union():
    sets = data_sets()
    risks, sizes = risks_of(sets), sizes_of(sets)
    union = minimize(summed(risks, sizes), L2(0.5), w0=np.zeros(TASK.dimension), tol=1e-8)
    for rho, precision in ((1e2, 0.5), (1e4, 1e-2), (np.inf, 2e-3)):
        found = minimize_transfer(risks, alpha=0.5, rho=rho, sizes=sizes, tol=1e-8)
        np.testing.assert_allclose(found.weights, np.tile(union.w, (3, 1)), atol=precision)
        np.testing.assert_allclose(found.shared, union.w, atol=precision)
    assert found.value == pytest.approx(union.value, rel=1e-7)
    np.testing.assert_array_equal(found.weights[0], found.weights[1])


def test_large_lam_is_separate_training():
    # What the chapter says of rho = 0: each is learned independently, and regularized.
    sets = data_sets()
    risks, sizes = risks_of(sets), sizes_of(sets)
    alone = [
        minimize(
            lambda w, r=risk, n=n: tuple(n * part for part in r(w)),
            L2(2.5),
            w0=np.zeros(TASK.dimension),
            tol=1e-8,
        )
        for risk, n in zip(risks, sizes, strict=True)
    ]
    for alpha, precision in ((1e4, 1e-2), (np.inf, 2e-3)):
        found = minimize_transfer(risks, alpha=alpha, rho=2.5, sizes=sizes, tol=1e-8)
        np.testing.assert_allclose(found.weights, [one.w for one in alone], atol=precision)
    assert found.value == pytest.approx(sum(one.value for one in alone), rel=1e-7)
    np.testing.assert_array_equal(found.shared, 0)


def least_risk(X, y):
    """Return the least sum of slacks without any regularizer, by linear programming."""
    n, rows, limits = len(y), [], []
    for i, (x, truth) in enumerate(zip(X, y, strict=True)):
        for z in range(N_CLASSES):
            psi = TASK.joint_feature(x, truth) - TASK.joint_feature(x, z)
            rows.append(np.concatenate([-psi, -np.eye(n)[i]]))
            limits.append(-TASK.loss(truth, z))
    bounds = [(None, None)] * TASK.dimension + [(0, None)] * n
    costs = np.concatenate([np.zeros(TASK.dimension), np.ones(n)])
    return linprog(costs, A_ub=rows, b_ub=limits, bounds=bounds).fun


def test_small_rho_is_separate_training_without_regularization():
    # Erratum C-rho-zero: the left term of equation 1.9 does not reach the weights of the data sets.
    rng = np.random.default_rng(5)
    sets = [
        (X, np.where(rng.random(len(y)) < 0.3, rng.integers(0, 3, len(y)), y)) for X, y in data_sets((30, 25))
    ]
    least = [least_risk(X, y) for X, y in sets]
    assert min(least) > 0.5
    risks, sizes = risks_of(sets), sizes_of(sets)
    alpha = 20.0
    found = minimize_transfer(risks, alpha=alpha, rho=1e-5, sizes=sizes, tol=1e-5)
    for risk, n, w, expected in zip(risks, sizes, found.weights, least, strict=True):
        assert n * risk(w)[0] == pytest.approx(expected, rel=1e-3)
        regularized = minimize(
            lambda w, r=risk, n=n: tuple(n * part for part in r(w)), L2(alpha), w0=np.zeros(len(w))
        )
        assert n * risk(regularized.w)[0] > 1.05 * expected


def test_one_data_set_is_ordinary_training():
    (X, y), *_ = data_sets()
    alpha, rho = 0.5, 2.5
    tau = alpha * rho / (alpha + rho)
    svm = StructuredSVM(TASK, C=1 / tau, tol=1e-8).fit(X, y)
    found = minimize_transfer([StructuredRisk(TASK, X, y)], alpha=alpha, rho=rho, sizes=[len(y)], tol=1e-8)
    np.testing.assert_allclose(found.w, svm.coef_, atol=1e-3)
    plain = minimize_transfer([StructuredRisk(TASK, X, y)], alpha=tau, rho=np.inf, sizes=[len(y)], tol=1e-8)
    np.testing.assert_allclose(plain.w, svm.coef_, atol=1e-3)


def test_a_warm_start_saves_calls_and_keeps_the_optimum():
    sets = data_sets((60, 40))
    risks, sizes = risks_of(sets), sizes_of(sets)
    cold = minimize_transfer(risks, alpha=0.5, rho=2.5, sizes=sizes, tol=1e-5)
    # Planes of one data set are those of any alpha, rho, size and partner.
    other = minimize_transfer(risks[:1], alpha=0.7, rho=np.inf, sizes=sizes[:1], tol=1e-5)
    half = minimize_transfer(risks, alpha=0.5, rho=2.5, sizes=sizes, tol=1e-5, planes=[other.planes[0], None])
    whole = minimize_transfer(
        risks, alpha=0.5, rho=2.5, sizes=sizes, tol=1e-5, planes=cold.planes, w0=cold.weights
    )
    assert whole.n_iter <= 2 < cold.n_iter / 5
    for warm in (half, whole):
        assert warm.value == pytest.approx(cold.value, rel=2e-5)
    for planes, risk in zip(half.planes, risks, strict=True):
        for w in np.random.default_rng(0).normal(size=(20, TASK.dimension)):
            assert planes.value(w) <= risk(w)[0] + 1e-9


def test_stacking_is_undone():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(3, 4))
    for alpha, rho in ((0.5, 2.5), (np.inf, 2.0)):
        coupling = Coupling(3, 4, alpha, rho)
        np.testing.assert_allclose(coupling.weights(coupling.stack(weights)), weights, atol=1e-12)
    gradients = rng.normal(size=(5, 4))
    np.testing.assert_allclose(coupling.lower(1, coupling.lift(1, gradients)), gradients)
    # Weights that cannot be, with rho infinite, become their mean.
    union = Coupling(3, 4, 0.5, np.inf)
    np.testing.assert_allclose(union.weights(union.stack(weights)), np.tile(weights.mean(axis=0), (3, 1)))


class Difference:
    """A hinge loss cut in two: ``P``, the largest score with the loss, and ``R``, the true score."""

    def __init__(self, X, y):
        self._risk, self.dimension = StructuredRisk(TASK, X, y), TASK.dimension
        self._true = np.mean([TASK.joint_feature(x, one) for x, one in zip(X, y, strict=True)], axis=0)

    def convex_part(self, w):
        value, slope = self._risk(w)
        return value + self._true @ w, slope + self._true

    def reward(self, w):
        return float(self._true @ w), self._true


def test_cccp_with_a_linear_reward_is_minimization():
    sets = data_sets()
    whole = minimize_transfer(risks_of(sets), alpha=0.5, rho=2.5, sizes=sizes_of(sets), tol=1e-6)
    found = transfer_cccp(
        [Difference(*one) for one in sets], alpha=0.5, rho=2.5, sizes=sizes_of(sets), tol=1e-6
    )
    assert found.converged
    assert found.value == pytest.approx(whole.value, rel=1e-5)
    np.testing.assert_allclose(found.weights, whole.weights, atol=0.02)
    again = transfer_cccp(
        [Difference(*one) for one in sets],
        alpha=0.5,
        rho=2.5,
        sizes=sizes_of(sets),
        tol=1e-6,
        planes=found.planes,
        w0=found.weights,
    )
    assert again.n_iter < found.n_iter / 2
    assert again.value == pytest.approx(found.value, rel=1e-5)


def test_cccp_of_the_union_is_cccp_of_the_sum():
    sets = data_sets()
    parts = [Difference(*one) for one in sets]
    union = cccp(
        summed([part.convex_part for part in parts], sizes_of(sets)),
        summed([part.reward for part in parts], sizes_of(sets)),
        L2(0.5),
        w0=np.zeros(TASK.dimension),
        eps_min=1e-6,
        eta=1e-6,
    )
    found = transfer_cccp(parts, alpha=0.5, rho=np.inf, sizes=sizes_of(sets), tol=1e-6)
    assert found.value == pytest.approx(union.value, rel=1e-5)
    np.testing.assert_allclose(found.w, union.w, atol=0.02)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha is 0.0"),
        ({"rho": -1.0}, "rho is -1.0"),
        ({"alpha": np.inf, "rho": np.inf}, "expected one of them to be finite"),
        ({"sizes": [1, 2]}, "expected 3 positive numbers"),
        ({"sizes": [1, 2, 0]}, "expected 3 positive numbers"),
        ({"w0": np.zeros((2, 6))}, r"weights of shape \(2, 6\): expected \(3, 6\)"),
        ({"w0": np.full((3, 6), np.nan)}, "finite"),
        ({"w0": np.zeros((3, 5))}, "dimensions differ"),
        ({"tol": -1.0}, "tol is -1.0"),
        ({"planes": [None, Planes(7), None]}, "planes of dimension 7: expected 6"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        minimize_transfer(risks_of(data_sets()), **({"alpha": 1.0, "rho": 1.0} | options))


def test_bad_risks():
    with pytest.raises(ValueError, match="no risks"):
        minimize_transfer([], alpha=1.0, rho=1.0)
    with pytest.raises(ValueError, match="risk 1 returned a slope of shape"):
        minimize_transfer(
            [lambda w: (0.0, w), lambda w: (0.0, w[:1])], alpha=1.0, rho=1.0, w0=np.zeros((2, 3))
        )


def test_the_estimator_is_the_minimizer():
    sets = data_sets((40, 12))
    X, y = np.concatenate([X for X, _ in sets]), np.concatenate([y for _, y in sets])
    domains = ["source"] * 40 + ["target"] * 12
    svm = TransferSVM(TASK, alpha=0.5, rho=2.5, tol=1e-7).fit(X, y, domains)
    found = minimize_transfer(risks_of(sets), alpha=0.5, rho=2.5, sizes=[40, 12], tol=1e-7)
    assert svm.domains_ == ["source", "target"]
    np.testing.assert_array_equal(svm.coef_, found.weights)
    np.testing.assert_array_equal(svm.predict(X, "target"), TASK.batch_predict(found.w, X))
    np.testing.assert_array_equal(svm.predict(X), TASK.batch_predict(found.shared, X))
    assert svm.score(X[40:], y[40:], "target") == np.mean(svm.predict(X[40:], "target") == y[40:])
    # Samples in any order, in lists, and names of any kind.
    order = np.random.default_rng(0).permutation(52)
    mixed = clone(svm).fit(list(X[order]), y[order].tolist(), (order >= 40).tolist())
    np.testing.assert_allclose(mixed.coef_[mixed.domains_.index(True)], svm.coef_[1], atol=1e-2)


def test_the_estimator_tells_wrong_input():
    (X, y), *_ = data_sets()
    svm = TransferSVM(TASK)
    with pytest.raises(NotFittedError):
        svm.predict(X)
    with pytest.raises(ValueError, match="9 inputs, 9 outputs, 8 domains"):
        svm.fit(X, y, ["a"] * 8)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        svm = TransferSVM(TASK, max_iter=1).fit(X, y, ["a"] * 9)
    with pytest.raises(ValueError, match="domain is 'b': expected one of"):
        svm.predict(X, "b")


@pytest.mark.parametrize(("value", "slope"), [(np.nan, 0.0), (0.0, np.inf)])
def test_risk_that_is_not_finite(value, slope):
    def risk(w):
        return value, np.full_like(w, slope)

    risk.dimension = 2
    with pytest.raises(ValueError, match=r"risk 0 returned .* expected finite numbers"):
        minimize_transfer([risk], alpha=1.0, rho=np.inf)


def test_pandas_is_taken_by_position():
    rng = np.random.default_rng(0)
    X, y, domains = rng.normal(size=(24, 3)), rng.integers(0, 3, 24), np.arange(24) % 2
    labels = rng.permutation(24)
    svm = TransferSVM(MultiClassTask(3, 3), max_iter=60)
    expected = clone(svm).fit(X, y, domains).coef_
    found = clone(svm).fit(pd.DataFrame(X, index=labels), pd.Series(y, index=labels), domains).coef_
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("options", [{"alpha": 10**400}, {"rho": "1"}, {"alpha": None}])
def test_strengths_that_are_no_numbers(options):
    with pytest.raises(ValueError, match="expected a positive number, or infinity"):
        TransferSVM(MultiClassTask(2, 2), **options).fit(np.eye(2), [0, 1], [0, 0])
