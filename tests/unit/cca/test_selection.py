import numpy as np
import pytest
from sklearn.base import clone

from ermlab.cca.laplacian_kcca import LaplacianKCCA
from ermlab.cca.selection import (
    EPS_GRID,
    GAMMA_GRID,
    Grid,
    LaplacianKCCACV,
    contiguous_folds,
    holdout_correlations,
)

EPS, GAMMA = (0.01, 1.0, 30.0), (0.0, 0.5, 20.0)


def two_views(n, d_x=8, d_y=3, seed=0):
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, 2))
    return tuple(latent @ rng.normal(size=(2, d)) + 2 * rng.normal(size=(n, d)) + 5 for d in (d_x, d_y))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    ("d_x", "d_y", "n_components", "of_y"),
    [(8, 1, 1, (1.0, 0.0)), (40, 40, 2, (None, None)), (40, 3, 1, (None, 0.3)), (8, 40, 3, (0.2, None))],
)
def test_scores_of_folds_are_those_of_refitting(kernel, d_x, d_y, n_components, of_y):
    X, Y = two_views(38, d_x, d_y)
    n, folds = 30, np.repeat(["run 1", "run 2", "run 3"], [8, 12, 10])
    extra = X[n:], Y[n:]
    model = LaplacianKCCACV(n_components, EPS, GAMMA, *of_y, kernel=kernel)
    model.fit(X[:n], Y[:n], *extra, groups=folds)
    for f, fold in enumerate(np.unique(folds)):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        for i, eps in enumerate(EPS):
            for j, gamma in enumerate(GAMMA):
                eps_y, gamma_y = (own if y is None else y for own, y in zip((eps, gamma), of_y, strict=True))
                plain = LaplacianKCCA(n_components, eps, eps_y, gamma, gamma_y, kernel=kernel)
                score = plain.fit(X[train], Y[train], *extra).score(X[test], Y[test])
                assert model.fold_scores_[f, i, j] == pytest.approx(score, abs=1e-8)
    np.testing.assert_allclose(model.scores_, model.fold_scores_.mean(axis=0))


@pytest.mark.parametrize("gamma_y", [None, 0.0])
def test_scores_of_the_spectrum_are_those_of_refitting(gamma_y):
    X, Y = two_views(30, d_y=4)
    n = 24
    model = LaplacianKCCACV(1, EPS, GAMMA, None, gamma_y, criterion="spectrum", n_permutations=2)
    model.fit(X[:n], Y[:n], X[n:], Y[n:])
    random = np.random.RandomState(0)
    orders = [random.permutation(n) for _ in range(2)]
    for i, eps in enumerate(EPS):
        for j, gamma in enumerate(GAMMA):
            plain = LaplacianKCCA(4, eps, eps, gamma, gamma if gamma_y is None else gamma_y)

            def spectrum(order, plain=plain):
                return plain.fit(X[:n], Y[:n][order], X[n:], Y[n:]).canonical_correlations_

            for p, order in enumerate(orders):
                distance = np.linalg.norm(spectrum(np.arange(n)) - spectrum(order))
                assert model.fold_scores_[p, i, j] == pytest.approx(distance, abs=1e-9)


@pytest.mark.parametrize("criterion", ["folds", "spectrum"])
def test_last_fit_is_that_of_the_choice(criterion):
    X, Y = two_views(30)
    model = LaplacianKCCACV(1, EPS, GAMMA, criterion=criterion).fit(X[:24], Y[:24], X[24:])
    i, j = np.unravel_index(model.scores_.argmax(), model.scores_.shape)
    assert (model.eps_, model.gamma_) == (EPS[i], GAMMA[j])
    plain = LaplacianKCCA(1, model.eps_, model.eps_, model.gamma_, 0.0).fit(X[:24], Y[:24], X[24:])
    np.testing.assert_array_equal(model.x_weights_, plain.x_weights_)
    np.testing.assert_array_equal(model.canonical_correlations_, plain.canonical_correlations_)


def test_nested_cross_validation_is_a_loop_over_fits():
    X, Y = two_views(44)
    n, outer, inner = 36, contiguous_folds(36, 3), contiguous_folds(36, 9)
    model = LaplacianKCCACV(2, EPS, GAMMA)
    found = holdout_correlations(model, X[:n], Y[:n], outer, X[n:], Y[n:], groups=inner)
    for f in range(3):
        train, test = np.flatnonzero(outer != f), np.flatnonzero(outer == f)
        direct = clone(model).fit(X[train], Y[train], X[n:], Y[n:], groups=inner[train])
        assert (found.models[f].eps_, found.models[f].gamma_) == (direct.eps_, direct.gamma_)
        np.testing.assert_allclose(found.correlations[f], direct.correlations(X[test], Y[test]), atol=1e-8)
    np.testing.assert_array_equal(found.folds, [0, 1, 2])
    plain = holdout_correlations(LaplacianKCCA(kernel="rbf"), X, Y, contiguous_folds(44, 4))
    assert plain.correlations.shape == (4, 1)


def test_what_is_held_out_takes_no_part_in_the_choice():
    X, Y = two_views(40)
    folds = contiguous_folds(40, 4)
    model = LaplacianKCCACV(1, EPS, GAMMA)
    honest = holdout_correlations(model, X, Y, folds).models[2]
    X, Y = X.copy(), Y.copy()
    X[folds == 2], Y[folds == 2] = np.random.default_rng(1).normal(size=(2, 10, 1)) * 100
    disturbed = holdout_correlations(model, X, Y, folds).models[2]
    np.testing.assert_allclose(disturbed.scores_, honest.scores_, atol=1e-9)


def test_choice_at_an_edge_is_rejected():
    grid = Grid((0.1, 1.0, 10.0), (0.0, 1.0), None, None)
    assert grid.edges((0, 1)) == ("eps at its least, 0.1", "gamma at its largest, 1")
    assert grid.edges((2, 0)) == ("eps at its largest, 10",)
    assert grid.edges((1, 0)) == ()
    assert Grid((1.0,), (2.0,), None, None).edges((0, 0)) == ()
    # A signal in all of many noisy columns wants a large penalty, beyond this grid.
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    X = y[:, None] + 3 * rng.normal(size=(60, 200))
    model = LaplacianKCCACV(eps=(1e-6, 1e-5), gamma=(0.0,)).fit(X, y)
    assert model.at_edge_ == ("eps at its largest, 1e-05",)


def test_equals_are_decided_for_the_simplest():
    grid = Grid((0.1, 1.0, 10.0), (0.0, 1.0), None, None)
    assert grid.best(np.array([[0.5, 0.5], [0.5, 0.5 + 1e-12], [0.4, 0.4]])) == (1, 0)
    # One column projects to itself, whatever the penalty.
    X, Y = two_views(30, d_x=1, d_y=1)
    model = LaplacianKCCACV(1, EPS, GAMMA).fit(X, Y)
    np.testing.assert_allclose(model.scores_, model.scores_[0, 0])
    assert (model.eps_, model.gamma_) == (EPS[-1], 0)


def test_default_grid_spans_decades():
    assert EPS_GRID[-1] / EPS_GRID[0] >= 1e8
    assert GAMMA_GRID[0] == 0
    assert len(EPS_GRID) == len(GAMMA_GRID) == 10


def test_folds_are_blocks():
    np.testing.assert_array_equal(contiguous_folds(7, 3), [0, 0, 0, 1, 1, 2, 2])


X, Y = two_views(20)


@pytest.mark.parametrize(
    ("params", "groups", "message"),
    [
        ({"criterion": "luck"}, None, "criterion is 'luck': expected one of"),
        ({"eps": ()}, None, r"eps is \(\): expected a list of values"),
        ({"eps": 1.0}, None, "eps is 1.0: expected a list of values"),
        ({"eps": (1.0, -1.0)}, None, "eps is -1.0: expected a number of at least 0"),
        ({"gamma": (1.0, 0.0)}, None, r"gamma is \(1.0, 0.0\): expected increasing values"),
        ({"eps_y": -2.0}, None, "eps_y is -2.0"),
        ({"n_splits": 1}, None, "1 folds of 20 samples"),
        ({"n_splits": 11}, None, "11 folds of 20 samples"),
        ({"criterion": "spectrum", "n_permutations": 0}, None, "n_permutations is 0"),
        ({}, np.arange(19), r"folds of shape \(19,\): expected one for each of 20 pairs"),
        ({}, np.ones(20), "all pairs are in fold 1.0: expected at least 2 folds"),
        ({}, np.arange(20) == 3, "fold True has 1 pair: expected at least 2"),
    ],
)
def test_bad_input_is_named(params, groups, message):
    with pytest.raises(ValueError, match=message):
        LaplacianKCCACV(**params).fit(X, Y, groups=groups)


def test_fold_without_which_a_view_is_constant_is_named():
    y = np.where(np.arange(20) < 10, X[:, 0], 7.0)
    with pytest.raises(ValueError, match="Y without fold 0 is constant over the 10 pairs"):
        LaplacianKCCACV(n_splits=2).fit(X, y)
    with pytest.raises(ValueError, match="folds of shape"):
        holdout_correlations(LaplacianKCCA(), X, Y, [0, 1])
