"""A problem in other units has the same solution, found in about as many steps."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from ermlab.cca.laplacian_kcca import LaplacianKCCA
from ermlab.sparse import dual_norm, norm, prox
from ermlab.sparse.elastic_net import ElasticNetGrid, fit_elastic_nets, solve_dual
from ermlab.sparse.ksupport_estimators import LOSSES, KSupportClassifier, KSupportRegressor

seeds = st.integers(0, 10**6)
scales = st.floats(-9, 9).map(lambda power: 10.0**power)


def draw_regression(seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(5, 30, size=2)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] - 2 * X[:, -1] + rng.normal(size=n), int(rng.integers(1, d + 1))


def few_more(steps, expected):
    """Rounding may shift the step at which a gap is small enough, but not the order of their number."""
    return steps <= 2 * expected + 20


@settings(max_examples=40)
@given(seeds, scales, scales, st.floats(1e-3, 10))
def test_least_squares_with_the_ksupport_norm(seed, s, r, alpha):
    X, y, k = draw_regression(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        expected = KSupportRegressor(k, alpha, tol=1e-6).fit(X, y)
        found = KSupportRegressor(k, alpha * s**2, tol=1e-6).fit(s * X, r * y)
    assert found.objective_ == pytest.approx(r**2 * expected.objective_, rel=3e-6)
    assert few_more(found.n_iter_, expected.n_iter_)
    np.testing.assert_allclose(found.predict(s * X) / r, expected.predict(X), atol=1e-2 * np.abs(y).max())


@settings(max_examples=40)
@given(seeds, scales, st.floats(1e-3, 1), st.sampled_from(LOSSES))
def test_classification_with_the_ksupport_norm(seed, s, alpha, loss):
    X, y, k = draw_regression(seed)
    labels = y > np.median(y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        expected = KSupportClassifier(k, alpha, loss).fit(X, labels)
        found = KSupportClassifier(k, alpha * s**2, loss).fit(s * X, labels)
    assert found.objective_ == pytest.approx(expected.objective_, rel=3e-4)
    assert few_more(found.n_iter_, expected.n_iter_)


@settings(max_examples=40)
@given(seeds, st.floats(-9, 9), st.sampled_from(["columns", "rows"]), st.sampled_from(LOSSES))
def test_one_part_out_of_scale_ends_with_a_model_or_a_warning(seed, power, part, loss):
    # No price can match the scale of one feature or of one sample: it is another problem, maybe hopeless.
    X, y, k = draw_regression(seed)
    X[(slice(None), 0) if part == "columns" else 0] *= 10.0**power
    model = KSupportClassifier(k, 0.1, loss, max_iter=300)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y > np.median(y))
    assert np.isfinite(model.coef_).all()
    # What is returned is no worse than no weights at all, but for what the tolerance allows.
    zero = KSupportClassifier(k, 1e80, loss).fit(X, y > np.median(y)).objective_
    assert model.objective_ <= zero * (1 + 1e-3)
    assert model.gap_ <= 1e-4 or any(w.category is ConvergenceWarning for w in caught)


@settings(max_examples=40)
@given(seeds, scales, scales, st.floats(0.01, 0.9), st.floats(0.01, 10))
def test_elastic_net(seed, s, r, share, l2):
    Z, y, _ = draw_regression(seed)
    Z, y = Z - Z.mean(axis=0), y - y.mean()
    n, sizes = len(y), np.ones(Z.shape[1])
    l1 = share * np.abs(y @ Z).max() / n
    tol = 1e-9 * (y @ y) / n
    expected, _, _ = solve_dual(Z, y, sizes, l1, l2, y / n, tol)
    found, _, gap = solve_dual(s * Z, r * y, sizes, s * r * l1, s**2 * l2, r * y / n, r**2 * tol)
    assert gap <= r**2 * tol
    np.testing.assert_allclose(found * s / r, expected, atol=1e-6 * max(np.abs(expected).max(), 1))


@settings(max_examples=40)
@given(seeds, scales)
def test_grid_of_elastic_nets(seed, s):
    Z, y, _ = draw_regression(seed)
    grid = ElasticNetGrid((0.5, 0.05), (0.3, 0.99), tol=1e-8)
    expected = fit_elastic_nets(Z - Z.mean(axis=0), y, grid)
    found = fit_elastic_nets(s * (Z - Z.mean(axis=0)), s * y, grid)
    assert found.gaps.max() <= 1e-8
    np.testing.assert_allclose(found.coefs, expected.coefs, atol=1e-3)


@settings(max_examples=40)
@given(seeds, scales, scales, st.sampled_from([0.0, 0.5]))
def test_laplacian_cca(seed, s, r, gamma):
    X, y, _ = draw_regression(seed)
    Y = np.column_stack([y, X[:, 0] ** 2])
    expected = LaplacianKCCA(1, 0.3, 0.2, gamma, gamma).fit(X, Y)
    found = LaplacianKCCA(1, 0.3, 0.2, gamma, gamma).fit(s * X, r * Y)
    np.testing.assert_allclose(found.canonical_correlations_, expected.canonical_correlations_, rtol=1e-7)
    assert found.equivalent_eps_x_ == pytest.approx(expected.equivalent_eps_x_, rel=1e-7)


@given(seeds, st.floats(-300, 300).map(lambda power: 10.0**power), st.floats(1e-3, 1e3))
def test_norms_and_proximal_points(seed, s, alpha):
    w, k = np.random.default_rng(seed).normal(size=9), 1 + seed % 9
    assert norm(s * w, k) == pytest.approx(s * norm(w, k), rel=1e-12)
    assert dual_norm(s * w, k) == pytest.approx(s * dual_norm(w, k), rel=1e-12)
    np.testing.assert_allclose(prox(s * w, k, alpha) / s, prox(w, k, alpha), atol=1e-12 * (1 + alpha))
