"""Gaussian kernel ridge regression over a grid against scikit-learn, model by model."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from reproduction.experiments.graph_kernels.gaussian_ridge import gaussian_ridge_predictions


def test_every_model_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, y, X_new = rng.normal(size=(20, 7)), rng.normal(size=20), rng.normal(size=(5, 7))
    bandwidths, ridges = (0.3, 1.0, 4.0), (2.0, 0.01)
    found = gaussian_ridge_predictions(X, y, X_new, bandwidths, ridges)
    distances = np.linalg.norm(X[:, None] - X, axis=2)[np.triu_indices(20, 1)]
    expected = []
    for bandwidth in bandwidths:
        gamma = 1 / (2 * bandwidth**2 * np.median(distances**2))
        for ridge in ridges:
            model = KernelRidge(alpha=20 * ridge, kernel="rbf", gamma=gamma).fit(X, y - y.mean())
            expected.append(model.predict(X_new))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("X", "y", "bandwidths", "message"),
    [
        (np.ones((4, 2)), np.arange(4.0), [1.0], "median squared distance between samples is 0.0"),
        (np.full((4, 2), np.nan), np.arange(4.0), [1.0], "a sample is NaN or infinite"),
        (np.eye(4)[:, :2], np.arange(3.0), [1.0], r"samples \(4, 2\) with target \(3,\)"),
        (np.eye(4)[:, :2], np.arange(4.0), [0.0], r"bandwidths is \[0.0\]: expected numbers above 0"),
        (np.eye(4)[:, :2], np.arange(4.0), [], r"bandwidths is \[\]"),
    ],
)
def test_broken_input(X, y, bandwidths, message):
    with pytest.raises(ValueError, match=message):
        gaussian_ridge_predictions(X, y, np.zeros((1, 2)), bandwidths, [1.0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("scale", "bandwidth"), [(1e-99, 1e-70), (1e99, 1e100), (1.0, 1e-100)])
def test_widths_that_overflow_or_vanish(scale, bandwidth):
    rng = np.random.default_rng(0)
    X, y = scale * rng.normal(size=(8, 2)), rng.normal(size=8)
    (found,) = gaussian_ridge_predictions(X, y, X, [bandwidth], [1.0])
    # All samples are apart, or all are the same.
    expected = (y - y.mean()) / 9 if bandwidth < 1 else np.zeros(8)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.filterwarnings("error")
def test_targets_that_overflow_are_refused():
    X = np.random.default_rng(0).normal(size=(4, 2))
    with pytest.raises(ValueError, match="y has entries up to"):
        gaussian_ridge_predictions(X, np.full(4, 1.5e308), X, [1.0], [1.0])
    with pytest.raises(ValueError, match="X has complex entries"):
        gaussian_ridge_predictions(X + 1j, np.ones(4), X, [1.0], [1.0])
    with pytest.raises(ValueError, match="bandwidths"):
        gaussian_ridge_predictions(X, np.ones(4), X, ["wide"], [1.0])
