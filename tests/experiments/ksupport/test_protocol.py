"""Paths solve their problems, nested choices do not depend on the test part, and permuted splits leak."""

import numpy as np
import pandas as pd
import pytest
from scipy.ndimage import gaussian_filter1d
from scipy.stats import pearsonr
from sklearn.linear_model import ElasticNet, Lasso, Ridge

from ermlab.metrics.splits import Sampling
from ermlab.sparse import norm
from reproduction.experiments.fmri_studies.studies import Scaling, Study
from reproduction.experiments.ksupport import train_paths
from reproduction.experiments.ksupport.protocol import (
    METHODS,
    Grids,
    best_rows,
    chosen_rows,
    correlations,
    curvature_bound,
    fit_methods,
    mean_paths,
    score_nested,
    score_split,
)

ROUGH = Grids(alphas=(1, 0.3, 0.1), l1_ratios=(0.2,), ks=(3,), ksupport_alphas=(0.1, 1.0), tol=1e-3)
GRIDS = Grids(
    alphas=(1, 0.3, 0.1), l1_ratios=(0.5, 0.1), ks=(1, 3, 100), ksupport_alphas=(0.1, 1.0), tol=1e-6
)


def study(n, d, seed=0, signal=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=(n, 1))
    return X, signal * (X[:, 0] - X[:, 1]) + rng.normal(size=n)


@pytest.mark.parametrize(("n", "d"), [(20, 40), (60, 12)])
def test_paths_are_those_of_scikit_learn(n, d):
    X, y = study(n, d)
    X, y = Scaling.of(X)(X), Scaling.of(y)(y)
    fits = fit_methods(X, y, GRIDS)
    largest = np.abs(X.T @ y).max() / n
    lasso, net, ksupport = (fits[method] for method in METHODS)
    assert not lasso.coefs[0].any()
    for share, coef in zip(lasso.strength[1:], lasso.coefs[1:], strict=True):
        peer = Lasso(share * largest, tol=1e-8, fit_intercept=False).fit(X, y)
        np.testing.assert_allclose(coef, peer.coef_, atol=2e-3)
    for ratio, share, coef in zip(net.shape, net.strength, net.coefs, strict=True):
        peer = ElasticNet(share * largest / ratio, l1_ratio=ratio, tol=1e-8, fit_intercept=False).fit(X, y)
        np.testing.assert_allclose(coef, peer.coef_, atol=2e-3)
    top = np.linalg.eigvalsh(X.T @ X / n)[-1]
    assert ksupport.shape.tolist() == [1, 1, 3, 3, d, d]
    for k, strength, coef in zip(ksupport.shape, ksupport.strength, ksupport.coefs, strict=True):
        alpha = strength * curvature_bound(k, top)
        if k == d:
            peer = Ridge(n * alpha, fit_intercept=False).fit(X, y)
            np.testing.assert_allclose(coef, peer.coef_, atol=2e-3)
        if k == 1:
            peer = Lasso(alpha * norm(coef, 1), tol=1e-8, fit_intercept=False).fit(X, y)
            np.testing.assert_allclose(coef, peer.coef_, atol=2e-3)
    assert max(models.gaps.max() for models in fits.values()) <= 1e-6


def test_correlation_is_pearsons_and_0_for_constants():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(9, 3)), rng.normal(size=9)
    coefs = np.array([[1.0, 2, 0], [0, 0, 0]])
    found = correlations(X, y, coefs)
    assert found[0] == pytest.approx(pearsonr(y, X @ coefs[0])[0])
    assert found[1] == 0
    assert correlations(X, np.ones(9), coefs).tolist() == [0, 0]


def nested(X, y, kind="permuted", count=6, gap=0):
    sampling = Sampling(kind, len(y), gap)
    tables = [
        score_nested(X, y, sampling, split, ROUGH, 3, i).assign(split=i)
        for i, split in enumerate(sampling.splits(count, 0.2, 0))
    ]
    return pd.concat(tables, ignore_index=True)


def test_a_signal_is_found_and_none_without_it():
    X, y = study(80, 15)
    strong = chosen_rows(nested(X, y))
    assert strong.groupby("method")["correlation"].mean().min() > 0.5
    X, _ = study(60, 200)
    means = []
    for seed in range(5):
        noise = np.random.default_rng([9, seed]).normal(size=60)
        means.append(chosen_rows(nested(X, noise)).groupby("method")["correlation"].mean())
    assert np.abs(np.mean(means, axis=0)).max() < 0.15


def test_the_choice_does_not_see_the_test_part():
    X, y = study(60, 20)
    sampling = Sampling("permuted", 60)
    (split,) = sampling.splits(1, 0.2, 0)
    spoiled_X, spoiled_y = X.copy(), y.copy()
    spoiled_X[split.test], spoiled_y[split.test] = 1e3, -(y[split.test] ** 3)
    clean = score_nested(X, y, sampling, split, GRIDS, 3, 0)
    spoiled = score_nested(spoiled_X, spoiled_y, sampling, split, GRIDS, 3, 0)
    unseen = ["method", "shape", "strength", "nonzeros", "gap", "inner"]
    pd.testing.assert_frame_equal(clean[unseen], spoiled[unseen])
    assert not np.allclose(clean["correlation"], spoiled["correlation"])


def test_permuted_volumes_leak_and_stretches_do_not():
    """Features and target are unrelated slow noise: only neighbors in time predict the target."""
    means = {"permuted": [], "stretches": []}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = gaussian_filter1d(rng.normal(size=(100, 120)), 3, axis=0)
        y = gaussian_filter1d(rng.normal(size=100), 3)
        for kind, values in means.items():
            table = nested(X, y, kind, count=5, gap=10 if kind == "stretches" else 0)
            values.append(chosen_rows(table).groupby("method")["correlation"].mean())
    assert np.mean(means["permuted"], axis=0).min() > 0.5
    assert np.abs(np.mean(means["stretches"], axis=0)).max() < 0.3


def test_splits_are_numbered_over_all_scans_and_chosen_by_inner_folds(tmp_path):
    X, y = study(24, 4)
    runs = np.repeat([0, 1, 2], 8)
    whole = Study(X.astype(np.float32), y, np.ones((4, 1, 1), bool), np.eye(4), "runs", runs=runs)
    whole.write(tmp_path / "study.npz")
    inputs, outputs = {"study": tmp_path / "study.npz"}, {"paths": tmp_path / "paths.csv"}
    options = {"seed": 0, "protocol": "fair", "numbers": [1, 2], "first": 3, "share": 0.2, "grids": ROUGH}
    train_paths.main(inputs, outputs, folds=5, **options)
    table = pd.read_csv(outputs["paths"])
    sampling = whole.sampling("runs")
    splits = sampling.splits(3, 0.2, 0)
    # Two runs are left for training, so five folds become two.
    expected = [score_nested(whole.X, y, sampling, splits[i], ROUGH, 2, [0, 3 + i]) for i in (1, 2)]
    assert table["split"].tolist() == [4] * len(expected[0]) + [5] * len(expected[1])
    for column in ("correlation", "inner"):
        np.testing.assert_allclose(table[column], pd.concat(expected)[column])
    train_paths.main(inputs, outputs, folds=0, **(options | {"protocol": "permuted"}))
    table = pd.read_csv(outputs["paths"])
    assert "inner" not in table
    split = whole.sampling("permuted").splits(2, 0.2, 0)[1]
    first = table[table["split"] == 4]["correlation"]
    np.testing.assert_allclose(first, score_split(whole.X, y, split, ROUGH)["correlation"])


def test_chosen_and_best_rows():
    table = pd.DataFrame(
        {
            "split": [0, 0, 1, 1],
            "method": "lasso",
            "shape": 1.0,
            "strength": [0.5, 0.1, 0.5, 0.1],
            "nonzeros": [2, 6, 4, 8],
            "correlation": [0.3, 0.1, 0.0, 0.4],
            "inner": [0.2, 0.5, 0.2, 0.2],
        }
    )
    assert chosen_rows(table)["strength"].tolist() == [0.1, 0.5]
    paths = mean_paths(table)
    assert paths["correlation"].tolist() == [0.15, 0.25]
    assert paths["deviation"].tolist() == pytest.approx([0.3 / 2**0.5, 0.3 / 2**0.5])
    best = best_rows(paths)["lasso"]
    assert (best["strength"], best["nonzeros"]) == (0.1, 7)
    assert "inner" not in paths


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones((4, 2)), np.arange(3.0), r"X has shape \(4, 2\) and y \(3,\)"),
        (np.array([[1, np.nan]] * 4), np.arange(4.0), r"X\[0, 1\] is nan: expected finite numbers"),
        (np.ones((4, 2)), np.array([0, 1, np.inf, 2]), r"y\[2\] is inf"),
        (np.ones((4, 2)), np.full(4, 3.0), "y is 3.0 everywhere: expected a target that varies"),
    ],
)
def test_broken_input(X, y, message):
    (split,) = Sampling("permuted", 4).splits(1, 0.25, 0)
    with pytest.raises(ValueError, match=message):
        score_split(X, y, split, GRIDS)
