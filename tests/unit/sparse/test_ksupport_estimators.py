import warnings

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from ermlab.optimize import fista
from ermlab.sparse import norm, prox
from ermlab.sparse.ksupport_estimators import KSupportClassifier, KSupportRegressor, ksupport_path

LOSSES = ("squared", "hinge", "logistic")


@parametrize_with_checks([KSupportRegressor(), *(KSupportClassifier(loss=loss) for loss in LOSSES)])
def test_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def planted(n=30, d=8, seed=0):
    """Features off their origin, a target of a few of them, and labels of about equal number."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5
    y = X[:, :3] @ [1.0, -2.0, 0.5] + 0.5 * rng.normal(size=n)
    return X, y, np.where(y > np.median(y), 1, -1)


def sample_losses(loss, scores, y):
    if loss == "squared":
        return 0.5 * (scores - y) ** 2
    return np.maximum(1 - y * scores, 0) if loss == "hinge" else np.logaddexp(0, -y * scores)


def objective(model, loss, X, y):
    scores = X @ model.coef_ + model.intercept_
    return model.alpha / 2 * norm(model.coef_, model.k) ** 2 + np.mean(sample_losses(loss, scores, y))


def optimum_by_cvxpy(loss, X, y, k, alpha, fit_intercept):
    """The norm by its variational form: the least of sum w_i^2 / theta_i with theta in [0, 1] of sum k."""
    n, d = X.shape
    w, b, theta, squares = cp.Variable(d), cp.Variable(), cp.Variable(d), cp.Variable(d)
    scores = X @ w + (b if fit_intercept else 0)
    losses = {
        "squared": lambda: cp.sum_squares(scores - y) / 2,
        "hinge": lambda: cp.sum(cp.pos(1 - cp.multiply(y, scores))),
        "logistic": lambda: cp.sum(cp.logistic(-cp.multiply(y, scores))),
    }
    # squares_i theta_i >= w_i^2, as second-order cones.
    cones = [cp.norm(cp.hstack([2 * w[i], squares[i] - theta[i]])) <= squares[i] + theta[i] for i in range(d)]
    box = [theta >= 0, theta <= 1, cp.sum(theta) <= k]
    problem = cp.Problem(cp.Minimize(alpha / 2 * cp.sum(squares) + losses[loss]() / n), cones + box)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    return problem.value, w.value


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("k", "alpha"), [(1, 0.3), (3, 0.02), (3, 1.0), (8, 0.1)])
@pytest.mark.parametrize("loss", LOSSES)
def test_optimum_of_a_general_solver(loss, k, alpha, fit_intercept):
    X, _, y = planted()
    model = KSupportClassifier(k, alpha, loss, fit_intercept, tol=1e-8).fit(X, y)
    value, w = optimum_by_cvxpy(loss, X, y, k, alpha, fit_intercept)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert model.objective_ == pytest.approx(objective(model, loss, X, y), rel=1e-12)
    assert model.gap_ <= 1e-8
    if loss != "hinge":  # whose minimiser need not be unique
        np.testing.assert_allclose(model.coef_, w, atol=2e-4)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_all_features_are_ridge_regression(fit_intercept):
    X, y, _ = planted()
    model = KSupportRegressor(8, 0.2, fit_intercept, tol=1e-12).fit(X, y)
    peer = Ridge(alpha=0.2 * len(y), fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-6)
    assert model.intercept_ == pytest.approx(peer.intercept_, abs=1e-6)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=1e-5)


def test_one_feature_is_the_lasso_at_another_price():
    X, y, _ = planted()
    model = KSupportRegressor(1, 0.1, tol=1e-12).fit(X, y)
    peer = Lasso(alpha=0.1 * np.abs(model.coef_).sum(), tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-5)
    np.testing.assert_array_equal(model.coef_ == 0, peer.coef_ == 0)
    assert 0 < np.count_nonzero(model.coef_) < 8


def test_all_features_with_the_hinge_are_a_support_vector_machine():
    X, _, y = planted()
    model = KSupportClassifier(8, 0.05, "hinge", tol=1e-9).fit(X, y)
    peer = SVC(kernel="linear", C=1 / (0.05 * len(y)), tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_[0], atol=1e-4)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))


def test_all_features_with_the_logistic_loss_are_logistic_regression():
    X, _, y = planted()
    model = KSupportClassifier(8, 0.05, "logistic", tol=1e-12).fit(X, y)
    peer = LogisticRegression(C=1 / (0.05 * len(y)), tol=1e-10, max_iter=10_000).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_[0], atol=1e-5)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=1e-4)


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(25, 1500)) + 0.2 * rng.normal(size=(25, 1))
    y = X[:, :10].sum(axis=1) + rng.normal(size=25)
    return X, y, np.where(y > np.median(y), "yes", "no")


def test_many_features_against_plain_proximal_descent(wide):
    X, y, _ = wide
    k, alpha, n = 40, 5.0, len(y)
    centred, target = X - X.mean(axis=0), y - y.mean()

    def smooth(w):
        residual = centred @ w - target
        return residual @ residual / (2 * n), residual @ centred / n

    peer = fista(smooth, lambda u, step: prox(u, k, alpha * step), np.zeros(1500), tol=1e-9, max_iter=100_000)
    model = KSupportRegressor(k, alpha, tol=1e-10).fit(X, y)
    assert peer.converged
    assert 0 < np.count_nonzero(model.coef_) < 200
    np.testing.assert_allclose(model.coef_, peer.w, atol=1e-5)
    np.testing.assert_array_equal(model.coef_ != 0, np.abs(peer.w) > 1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_path_is_separate_fits_in_the_order_asked_for(wide, loss):
    X, y, labels = wide
    signs = y if loss == "squared" else np.where(labels == "yes", 1, -1)
    alphas = [1.0, 30.0, 5.0]
    path = ksupport_path(X, signs, 20, alphas, loss=loss, tol=1e-9)
    np.testing.assert_array_equal(path.alphas, alphas)
    for alpha, coef, intercept, value, gap in zip(
        alphas, path.coefs, path.intercepts, path.objectives, path.gaps, strict=True
    ):
        if loss == "squared":
            alone = KSupportRegressor(20, alpha, tol=1e-9).fit(X, signs)
        else:
            alone = KSupportClassifier(20, alpha, loss, tol=1e-9).fit(X, signs)
        assert value == pytest.approx(alone.objective_, rel=5e-9)
        assert gap <= 1e-9
        np.testing.assert_allclose(X @ coef + intercept, alone._scores(X), atol=2e-3)


def test_warm_starts_save_steps(wide):
    X, y, _ = wide
    path = ksupport_path(X, y, 20, [5.0, 5.0], tol=1e-6)
    assert path.n_iter[0] > 5
    assert path.n_iter[1] == 0
    np.testing.assert_array_equal(path.coefs[0], path.coefs[1])


@pytest.mark.parametrize("loss", LOSSES)
def test_bounds_are_honest_when_stopped_early(wide, loss):
    X, _, labels = wide
    best = KSupportClassifier(20, 0.5, loss, tol=1e-9).fit(X, labels)
    with pytest.warns(ConvergenceWarning, match="relative gap of"):
        early = KSupportClassifier(20, 0.5, loss, tol=1e-9, max_iter=4).fit(X, labels)
    assert early.n_iter_ == 4
    assert early.gap_ > 1e-9
    assert early.objective_ * (1 - early.gap_) <= best.objective_ <= early.objective_ * (1 + 1e-9)


def test_labels_of_any_kind(wide):
    X, _, labels = wide
    model = KSupportClassifier(20, 0.1).fit(X, labels)
    assert list(model.classes_) == ["no", "yes"]
    assert set(model.predict(X)) == {"no", "yes"}
    assert model.score(X, labels) == 1.0


@pytest.mark.parametrize("loss", LOSSES)
def test_any_number_of_threads_and_runs_gives_the_same_bits(wide, loss):
    X, _, labels = wide
    models = []
    for threads in (1, 2, 2):
        with threadpool_limits(threads):
            models.append(KSupportClassifier(20, 0.5, loss).fit(X, labels))
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        assert model.intercept_ == models[0].intercept_


def test_targets_and_features_that_say_nothing():
    X, y, _ = planted()
    for model in (
        KSupportRegressor(2).fit(X, np.full(len(y), 0.1)),
        KSupportRegressor(2).fit(np.ones_like(X), y),
        KSupportRegressor(2).fit(np.zeros_like(X), y),
    ):
        np.testing.assert_allclose(model.coef_, 0, atol=1e-12)
        assert model.gap_ <= 1e-4 or model.objective_ < 1e-25
    assert model.intercept_ == pytest.approx(y.mean())


def test_no_warning_for_features_of_large_mean():
    X, y, _ = planted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        far = KSupportRegressor(3, 0.1, tol=1e-6).fit(X + 1e4, y)
        near = KSupportRegressor(3, 0.1, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(far.coef_, near.coef_, atol=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k is 0"),
        ({"k": 9}, "k is 9: expected an integer from 1 to 8"),
        ({"k": 2.0}, "k is 2.0"),
        ({"alpha": 0.0}, "alpha is 0.0"),
        ({"alpha": -1.0}, "alpha is -1.0"),
        ({"alpha": np.nan}, "alpha is nan"),
        ({"tol": 0.0}, "tol is 0.0"),
        ({"max_iter": 0}, "max_iter is 0"),
    ],
)
def test_bad_options(options, message):
    X, y, signs = planted()
    with pytest.raises(ValueError, match=message):
        KSupportRegressor(**options).fit(X, y)
    with pytest.raises(ValueError, match=message):
        KSupportClassifier(**options).fit(X, signs)


def test_bad_data():
    X, y, signs = planted()
    with pytest.raises(ValueError, match="loss is 'absolute': expected one of"):
        KSupportClassifier(loss="absolute").fit(X, signs)
    with pytest.raises(ValueError, match="y has 1 class: expected two"):
        KSupportClassifier().fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="3 classes: expected two"):
        KSupportClassifier().fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="expected -1 and 1 for the hinge loss"):
        ksupport_path(X, y, 1, [1.0], loss="hinge")
    with pytest.raises(ValueError, match=r"alphas has shape \(0,\)"):
        ksupport_path(X, y, 1, [])
    with pytest.raises(ValueError, match=r"alpha is -2\.0"):
        ksupport_path(X, y, 1, [1.0, -2.0])
    with pytest.raises(
        ValueError,
        match=r"X has magnitudes up to .* scale the features .sklearn.preprocessing.StandardScaler",
    ):
        KSupportRegressor().fit(X * 1e200, y)
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        KSupportRegressor().fit(X, y)
    with pytest.raises(NotFittedError):
        KSupportRegressor().predict(X)


def test_a_large_offset_of_the_features_costs_nothing():
    X, y = np.random.default_rng(0).normal(size=(2, 40, 5))
    y = y[:, 0]
    expected = KSupportRegressor(2, 0.1).fit(X, y)
    offset = 1e6 * np.arange(5)
    found = KSupportRegressor(2, 0.1).fit(X + offset, y)
    assert found.n_iter_ == expected.n_iter_
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    np.testing.assert_allclose(found.predict(X + offset), expected.predict(X), atol=1e-6)
    logistic = KSupportClassifier(2, 0.1).fit(X + offset, y > 0)
    assert logistic.n_iter_ == KSupportClassifier(2, 0.1).fit(X, y > 0).n_iter_


def test_features_far_apart_are_named_as_the_reason_for_slow_progress():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)) * [1e-9, 1e-3, 1e3, 1e9], rng.normal(size=40)
    with pytest.warns(ConvergenceWarning, match=r"scale the features .*StandardScaler"):
        KSupportRegressor(1, 0.1, max_iter=20).fit(X, y)
    with pytest.warns(ConvergenceWarning) as caught:
        KSupportRegressor(1, 1e-6, max_iter=1, tol=1e-9).fit(X / X.std(axis=0), y)
    assert "StandardScaler" not in str(caught[0].message)


@pytest.mark.parametrize(
    "parameters", [{"max_iter": 1.5}, {"max_iter": None}, {"alpha": None}, {"tol": "small"}]
)
def test_parameters_of_other_types(parameters):
    with pytest.raises(ValueError, match=f"{next(iter(parameters))} is"):
        KSupportRegressor(**parameters).fit(np.eye(3), np.arange(3.0))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_targets_whose_squares_overflow_or_vanish(scale):
    with pytest.raises(ValueError, match=r"y has magnitudes up to .*scale the targets"):
        KSupportRegressor().fit(np.eye(3), scale * np.arange(3.0))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("power", [-300, 300])
@pytest.mark.parametrize("loss", ["squared", "hinge", "logistic"])
def test_features_whose_fourth_powers_overflow_or_vanish(loss, power):
    # The length of X X' v has a square of the fourth power of X.
    rng = np.random.default_rng(0)
    X, unit = rng.normal(size=(30, 5)), 2.0**power
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=30) > 0, 1.0, -1.0)
    plain = ksupport_path(X, y, 2, [0.1], loss=loss)
    other = ksupport_path(X * unit, y, 2, [0.1 * unit**2], loss=loss)
    np.testing.assert_allclose(other.coefs * unit, plain.coefs, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(other.objectives, plain.objectives, rtol=1e-4)


def test_gap_is_finite_where_the_dual_problem_tells_nothing():
    rng = np.random.default_rng(0)
    X, y = 1e50 * rng.normal(size=(20, 5)), rng.normal(size=20)
    with pytest.warns(ConvergenceWarning, match="relative gap of"):
        model = KSupportRegressor(2, 1e-300, max_iter=5).fit(X, y)
    assert 0 < model.gap_ <= 1


@pytest.mark.filterwarnings("error")
def test_scores_that_overflow_are_refused():
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20.0)
    model = KSupportRegressor(2, 1e-3).fit(X, y)
    with pytest.raises(ValueError, match=r"score of row 1 of X, with entries up to 1.7e\+308"):
        model.predict([[1.0, 1.0], [1.7e308, -1.7e308]])
