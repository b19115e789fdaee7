import numpy as np
import pytest
from sklearn.linear_model import Lasso, Ridge

from ermlab.optimize import fista


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 20)) * np.logspace(0, 1.5, 20)
    return X, X @ rng.choice([0.0, 1.0], size=20) + rng.normal(size=80)


def squared_error(X, y, ridge=0.0):
    def smooth(w):
        residual = X @ w - y
        value = residual @ residual / (2 * len(y)) + ridge / 2 * w @ w
        return value, X.T @ residual / len(y) + ridge * w

    return smooth


def soft_threshold(lam):
    return lambda u, step: np.sign(u) * np.maximum(np.abs(u) - lam * step, 0)


def identity(u, step):
    return u


def test_lasso_against_scikit_learn(regression):
    X, y = regression
    lam = 5.0
    result = fista(
        squared_error(X, y),
        soft_threshold(lam),
        np.zeros(20),
        penalty=lambda w: lam * np.abs(w).sum(),
        tol=1e-9,
    )
    peer = Lasso(alpha=lam, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y)
    assert result.converged
    np.testing.assert_allclose(result.w, peer.coef_, atol=1e-6)
    np.testing.assert_array_equal(result.w == 0, peer.coef_ == 0)
    assert result.value == pytest.approx(
        squared_error(X, y)(peer.coef_)[0] + lam * np.abs(peer.coef_).sum(), rel=1e-9
    )


def test_ridge_against_scikit_learn(regression):
    X, y = regression
    result = fista(squared_error(X, y, ridge=0.5), identity, np.zeros(20), tol=1e-10)
    np.testing.assert_allclose(
        result.w, Ridge(alpha=0.5 * 80, fit_intercept=False).fit(X, y).coef_, atol=1e-6
    )


def test_quadratic_closed_form_in_one_step():
    # The first step length is the inverse curvature, which is exact for |w - c|^2 / 2.
    c = np.array([1.0, -2.0, 3.0])
    result = fista(lambda w: (0.5 * np.sum((w - c) ** 2), w - c), identity, np.zeros(3))
    np.testing.assert_allclose(result.w, c, rtol=1e-6)
    assert result.n_iter <= 3


def test_non_negative_least_squares_closed_form():
    c = np.array([1.0, -2.0, 3.0])
    result = fista(
        lambda w: (0.5 * np.sum((w - c) ** 2), w - c),
        lambda u, step: np.maximum(u, 0),
        np.zeros(3),
        step=100.0,
    )
    np.testing.assert_allclose(result.w, [1.0, 0.0, 3.0], atol=1e-5)
    assert result.history.step[-1] <= 2.0


def test_restart_beats_plain_gradient_descent_by_far(regression):
    X, y = regression
    smooth = squared_error(X, y)
    result = fista(smooth, identity, np.zeros(20), tol=1e-8)
    assert result.converged
    assert result.history.restarts[-1] >= 1
    w, step = np.zeros(20), result.history.step[-1]
    for _ in range(result.n_iter):
        w = w - step * smooth(w)[1]
    assert np.linalg.norm(smooth(w)[1]) > 100 * np.linalg.norm(smooth(result.w)[1])


def test_history_and_limit(regression):
    result = fista(squared_error(*regression), identity, np.zeros(20), max_iter=4)
    assert (result.converged, result.n_iter) == (False, 4)
    assert len(result.history.value) == len(result.history.residual) == len(result.history.seconds) == 4
    assert result.residual == result.history.residual[-1]
    assert (np.diff(result.history.step) <= 0).all()


def test_start_at_the_minimum_stops_at_once():
    result = fista(lambda w: (0.5 * w @ w, w), identity, np.zeros(2))
    assert (result.n_iter, result.residual, result.converged) == (1, 0.0, True)


@pytest.mark.parametrize(
    ("smooth", "prox", "options", "message"),
    [
        (lambda w: (np.nan, w), identity, {}, "NaN"),
        (lambda w: (0.0, np.zeros(3)), identity, {}, r"shape \(3,\)"),
        (lambda w: (1.0, w + 1), lambda u, step: u[:1], {"step": 1.0}, "prox returned shape"),
        (lambda w: (1.0, w + 1), lambda u, step: u * np.nan, {"step": 1.0}, "prox returned"),
        (lambda w: (0.0, w), identity, {"step": -1.0}, "step is -1.0"),
        (lambda w: (0.0, w), identity, {"tol": -1.0}, "tol is -1.0"),
        (lambda w: (0.0, w), identity, {"max_iter": 0}, "max_iter 0"),
        (lambda w: (0.0, w), identity, {"w0": [np.inf, 0.0]}, "w0"),
    ],
)
def test_bad_input(smooth, prox, options, message):
    options = dict(options)
    w0 = options.pop("w0", np.zeros(2))
    with pytest.raises(ValueError, match=message):
        fista(smooth, prox, w0, **options)


def test_no_step_is_short_enough():
    # The "gradient" points uphill, so no quadratic bound ever holds.
    with pytest.raises(ValueError, match="no step"):
        fista(lambda w: (float(w[0]), np.array([-1.0])), identity, [0.0], step=1.0)


@pytest.mark.parametrize("scale", [1e-200, 1e-170, 1e160, 1e200])
def test_units_of_the_objective_do_not_matter(scale):
    # The squared gradient underflows or overflows.
    curvature = np.array([1.0, 10.0])

    def smooth(w):
        return scale * float(np.sum(0.5 * curvature * w * w - w)), scale * (curvature * w - 1.0)

    result = fista(smooth, lambda u, step: u, np.zeros(2))
    assert result.converged
    np.testing.assert_allclose(result.w, 1 / curvature, rtol=1e-5)
