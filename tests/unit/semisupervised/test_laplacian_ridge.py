import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from ermlab.cca import LaplacianKCCA, normalized_laplacian
from ermlab.semisupervised import LaplacianRidge, graph_laplacian, neighbor_graph


@parametrize_with_checks([LaplacianRidge(), LaplacianRidge(kernel="linear")])
def test_conventions_of_scikit_learn(estimator, check):
    check(estimator)


def partly_labeled(m=40, n=12, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d)) + 1.0
    y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=m)
    y[rng.permutation(m)[n:]] = np.nan
    return X, y


def laplacian_of(X, model):
    W = neighbor_graph(X, model.n_neighbors, weights=model.weights)
    return graph_laplacian(W, normalized=model.laplacian == "normalized").toarray()


def textbook(K, L, y, alpha, laplacian_alpha):
    """The system of Belkin, Niyogi and Sindhwani, without an intercept: a in f = K a."""
    labeled = ~np.isnan(y)
    J, m = np.diag(labeled.astype(float)), len(y)
    g = laplacian_alpha * labeled.sum() / m
    return np.linalg.solve(J @ K + alpha * np.eye(m) + g * L @ K, np.where(labeled, y, 0.0))


@pytest.mark.parametrize("laplacian", ["normalized", "unnormalized"])
@pytest.mark.parametrize("weights", ["heat", "binary"])
@pytest.mark.parametrize("laplacian_alpha", [0.0, 0.3, 30.0])
def test_closed_form_of_the_literature(laplacian, weights, laplacian_alpha):
    X, y = partly_labeled()
    model = LaplacianRidge(
        0.2,
        laplacian_alpha,
        gamma=0.4,
        n_neighbors=4,
        weights=weights,
        laplacian=laplacian,
        fit_intercept=False,
    ).fit(X, y)
    K = rbf_kernel(X, gamma=0.4)
    a = textbook(K, laplacian_of(X, model), y, 0.2, laplacian_alpha)
    np.testing.assert_allclose(model.transduction_, K @ a, atol=1e-8)
    new = np.random.default_rng(1).normal(size=(9, 3))
    np.testing.assert_allclose(model.predict(new), rbf_kernel(new, X, gamma=0.4) @ a, atol=1e-6)
    np.testing.assert_allclose(
        model.predict(new), rbf_kernel(new, X, gamma=0.4) @ model.dual_coef_, atol=1e-12
    )


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("d", [3, 60])
def test_gradient_of_the_objective_is_0(fit_intercept, d):
    """A linear function with few and with many features, by numerical differentiation."""
    X, y = partly_labeled(d=d)
    model = LaplacianRidge(0.5, 2.0, "linear", n_neighbors=4, fit_intercept=fit_intercept).fit(X, y)
    L, labeled = laplacian_of(X, model), ~np.isnan(y)
    center = X[labeled].mean(axis=0) if fit_intercept else np.zeros(d)

    def objective(parameters):
        w, b = parameters[:-1], parameters[-1] * fit_intercept
        h = (X - center) @ w
        loss = np.sum((h[labeled] + b - y[labeled]) ** 2)
        return loss + 0.5 * w @ w + 2.0 * labeled.mean() * h @ L @ h

    found = np.append(model.coef_, model.intercept_ + center @ model.coef_)
    assert model.objective_ == pytest.approx(objective(found), rel=1e-10)
    np.testing.assert_allclose(approx_fprime(found, objective, 1e-6), 0, atol=1e-3)
    for seed in range(20):
        assert objective(found + 0.01 * np.random.default_rng(seed).normal(size=d + 1)) > model.objective_
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_, atol=1e-10)
    np.testing.assert_allclose(model.predict(X), model.transduction_, atol=1e-10)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("d", [3, 30])
def test_without_laplacian_it_is_ridge_regression(fit_intercept, d):
    X, y = partly_labeled(d=d)
    labeled = ~np.isnan(y)
    model = LaplacianRidge(0.7, 0.0, "linear", fit_intercept=fit_intercept).fit(X, y)
    peer = Ridge(0.7, fit_intercept=fit_intercept).fit(X[labeled], y[labeled])
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-10)
    assert model.intercept_ == pytest.approx(peer.intercept_, abs=1e-10)


def test_without_laplacian_it_is_kernel_ridge_regression():
    X, y = partly_labeled()
    labeled = ~np.isnan(y)
    for kernel in ("rbf", "laplacian", "polynomial"):
        model = LaplacianRidge(0.7, 0.0, kernel, gamma=0.3, fit_intercept=False).fit(X, y)
        peer = KernelRidge(alpha=0.7, kernel=kernel, gamma=0.3).fit(X[labeled], y[labeled])
        np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=1e-7)


def test_kernels_given_in_different_ways_agree():
    X, y = partly_labeled()
    new = X[::5] + 0.1
    expected = LaplacianRidge(0.1, 1.0, gamma=0.3, n_neighbors=5).fit(X, y).predict(new)
    function = LaplacianRidge(0.1, 1.0, lambda A, B: rbf_kernel(A, B, gamma=0.3), n_neighbors=5).fit(X, y)
    np.testing.assert_allclose(function.predict(new), expected, atol=1e-8)
    L = laplacian_of(X, LaplacianRidge(n_neighbors=5))
    precomputed = LaplacianRidge(0.1, 1.0, "precomputed", laplacian=lambda K: L)
    K = rbf_kernel(X, gamma=0.3)
    np.testing.assert_allclose(
        precomputed.fit(K, y).predict(rbf_kernel(new, X, gamma=0.3)), expected, atol=1e-8
    )
    # The neighbors in feature space are those in the space of the samples, as the kernel falls with distance.
    binary = {"n_neighbors": 5, "weights": "binary"}
    np.testing.assert_allclose(
        LaplacianRidge(kernel="precomputed", **binary).fit(K, y).transduction_,
        LaplacianRidge(gamma=0.3, **binary).fit(X, y).transduction_,
        atol=1e-8,
    )


def test_several_targets_are_fitted_one_by_one():
    X, y = partly_labeled()
    Y = np.column_stack([y, 2 * y - 1])
    for kernel in ("linear", "rbf"):
        both = LaplacianRidge(kernel=kernel).fit(X, Y)
        for target in range(2):
            one = LaplacianRidge(kernel=kernel).fit(X, Y[:, target])
            np.testing.assert_allclose(both.predict(X)[:, target], one.predict(X), atol=1e-10)
        assert both.score(X, Y) == pytest.approx(r2_score(Y[~np.isnan(y)], both.predict(X)[~np.isnan(y)]))


@pytest.mark.parametrize("laplacian_alpha", [1e6, 1e10, 1e16])
def test_strong_laplacian_gives_constants_on_components(laplacian_alpha):
    """Two clusters that no edge joins: every function becomes the mean of its cluster, as alpha vanishes."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 50])
    y = np.full(40, np.nan)
    y[[0, 1, 2, 20, 21]] = [1.0, 2.0, 6.0, -1.0, -3.0]
    model = LaplacianRidge(
        1e-6, laplacian_alpha, gamma=0.5, n_neighbors=5, laplacian="unnormalized", fit_intercept=False
    ).fit(X, y)
    np.testing.assert_allclose(model.transduction_[:20], 3.0, atol=2e-3)
    np.testing.assert_allclose(model.transduction_[20:], -2.0, atol=2e-3)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(("eps", "gamma"), [(0.1, 0.0), (0.1, 1.0), (10.0, 30.0)])
def test_kcca_with_one_target_has_the_same_direction(kernel, eps, gamma):
    """With a second view of one dimension, eq. 4.12 maximizes <f, y> / sqrt(Q(f)) for centered y.

    The maximizer is Q^-1 y, that of least squares with the penalties in Q, up to its length.
    """
    X, y = partly_labeled()
    labeled = ~np.isnan(y)
    pairs, extra = X[labeled], X[~labeled]
    cca = LaplacianKCCA(1, eps, 1.0, gamma, kernel=(kernel, "linear"), laplacian=normalized_laplacian)
    f = cca.fit(pairs, y[labeled], extra).transform(np.vstack([pairs, extra]))[:, 0]

    ordered = np.vstack([pairs, extra])
    targets = np.concatenate([y[labeled], np.full(len(extra), np.nan)])
    K = rbf_kernel(ordered, gamma=1 / 3) if kernel == "rbf" else ordered @ ordered.T
    squares = np.diag(K)[:, None] + np.diag(K) - 2 * K
    centered = K[: len(pairs), : len(pairs)]
    centered = centered - centered.mean(axis=0) - centered.mean(axis=1)[:, None] + centered.mean()
    ridge = LaplacianRidge(
        eps * np.trace(centered) / len(pairs),
        gamma,
        kernel,
        gamma=1 / 3,
        laplacian=lambda X: normalized_laplacian(np.maximum(squares, 0)),
    ).fit(ordered, targets)
    g = ridge.transduction_ - targets[: len(pairs)].mean()
    cosine = f @ g / np.linalg.norm(f) / np.linalg.norm(g)
    assert abs(cosine) == pytest.approx(1, abs=1e-9)


def test_order_and_threads_do_not_matter():
    X, y = partly_labeled(200, 40)
    model = LaplacianRidge().fit(X, y)
    order = np.random.default_rng(3).permutation(len(X))
    np.testing.assert_allclose(clone(model).fit(X[order], y[order]).predict(X), model.predict(X), atol=1e-8)
    with threadpool_limits(limits=2):
        np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), model.predict(X))


def test_predictions_do_not_depend_on_offset_and_scale():
    X, y = partly_labeled()
    for kernel in ("linear", "rbf"):
        model = LaplacianRidge(1e-3, kernel=kernel)
        expected = model.fit(X, y).predict(X)
        np.testing.assert_allclose(clone(model).fit(X + 1e6, y).predict(X + 1e6), expected, atol=1e-6)
        moved = clone(model).fit(X, y + 100).predict(X)
        np.testing.assert_allclose(moved, expected + 100, atol=1e-9)
    np.testing.assert_allclose(clone(model).fit(1e9 * X, y).predict(1e9 * X), expected, atol=1e-8)


def test_unlabeled_samples_help_on_moons():
    X, y = make_moons(200, noise=0.05, random_state=0)
    targets = np.full(200, np.nan)
    few = [int(np.flatnonzero(y == c)[0]) for c in (0, 1)]
    targets[few] = 2.0 * y[few] - 1
    accuracy = {
        laplacian_alpha: np.mean(
            (LaplacianRidge(1e-4, laplacian_alpha, gamma=10.0).fit(X, targets).transduction_ > 0) == y
        )
        for laplacian_alpha in (0.0, 1.0)
    }
    assert accuracy[1.0] == 1.0
    assert accuracy[0.0] < 0.95


def test_pipeline_and_grid_search_take_unlabeled_samples():
    X, y = partly_labeled(90, 30)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LaplacianRidge()),
        {"laplacianridge__laplacian_alpha": [0.0, 1.0]},
        cv=3,
    ).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    labeled = ~np.isnan(y)
    assert search.score(X, y) == pytest.approx(r2_score(y[labeled], search.predict(X)[labeled]))
    precomputed = GridSearchCV(LaplacianRidge(kernel="precomputed"), {"alpha": [0.1, 1.0]}, cv=3)
    precomputed.fit(rbf_kernel(X), y)
    assert np.isfinite(precomputed.cv_results_["mean_test_score"]).all()


X, Y = partly_labeled()


@pytest.mark.parametrize(
    ("parameters", "X", "y", "message"),
    [
        ({}, X, np.full(40, np.nan), "all samples are unlabeled"),
        ({}, X, np.column_stack([np.ones(40), Y]), "NaN and numbers"),
        ({}, X, np.where(np.isnan(Y), np.inf, Y), "infinity"),
        ({}, X, Y[:-1], "inconsistent"),
        ({}, np.where(X > 3, np.nan, X), Y, "NaN"),
        ({}, 1e200 * X, Y, "magnitudes up to"),
        ({}, X, 1e200 * Y, "y has magnitudes up to"),
        ({"alpha": 0.0}, X, Y, "alpha is 0.0"),
        ({"laplacian_alpha": -1}, X, Y, "laplacian_alpha is -1"),
        ({"gamma": "auto"}, X, Y, "gamma is 'auto'"),
        ({"gamma": -1.0}, X, Y, "gamma is -1.0"),
        ({"n_neighbors": 0}, X, Y, "n_neighbors is 0"),
        ({"weights": "none"}, X, Y, "weights is 'none'"),
        ({"bandwidth": -1.0}, X, Y, "bandwidth is -1.0"),
        ({"laplacian": "random"}, X, Y, "laplacian is 'random'"),
        ({"laplacian": lambda X: -np.eye(40)}, X, Y, "negative eigenvalues"),
        ({"laplacian": lambda X: np.eye(3)}, X, Y, r"\(3, 3\)"),
        ({"laplacian": lambda X: np.triu(np.ones((40, 40)))}, X, Y, "not symmetric"),
        ({"kernel": "precomputed"}, X, Y, r"\(40, 3\)"),
        ({"kernel": "precomputed"}, -np.eye(40), Y, "negative eigenvalues"),
        ({"kernel": "precomputed"}, np.triu(np.ones((40, 40))), Y, "not symmetric"),
        ({"kernel": lambda A, B: np.ones((2, 2))}, X, Y, r"\(2, 2\)"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, X, Y, "not finite"),
    ],
)
def test_errors(parameters, X, y, message):
    with pytest.raises(ValueError, match=message):
        LaplacianRidge(**parameters).fit(X, y)


def test_attributes_that_do_not_exist():
    with pytest.raises(AttributeError, match="coef_ does not exist for the kernel 'rbf'"):
        _ = LaplacianRidge().fit(X, Y).coef_
    with pytest.raises(AttributeError, match="dual_coef_ does not exist for the kernel 'linear'"):
        _ = LaplacianRidge(kernel="linear").fit(X, Y).dual_coef_
    assert not hasattr(LaplacianRidge(), "coef_")
