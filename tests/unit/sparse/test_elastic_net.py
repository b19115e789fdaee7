"""The elastic net in its dual against coordinate descent; equal columns put together against all of them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path

from ermlab.sparse.elastic_net import DistinctColumns, ElasticNetGrid, fit_elastic_nets

GRID = ElasticNetGrid(alphas=(0.2, 0.8, 0.05), l1_ratios=(0.7, 0.05), tol=1e-12)


def by_descent(Z, y, share, ratio):
    """Return the weights of scikit-learn's coordinate descent."""
    y = y - y.mean()
    alpha = share * np.abs(y @ Z).max() / len(y) / ratio
    _, coefs, _ = enet_path(Z, y, l1_ratio=ratio, alphas=[alpha], tol=1e-12, max_iter=100000)
    return coefs[:, 0]


@given(st.integers(3, 12), st.integers(1, 60), st.integers(0, 10**6))
def test_weights_are_those_of_coordinate_descent(n, d, seed):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d)) @ np.diag(rng.uniform(0.1, 3, size=d))
    Z -= Z.mean(axis=0)
    y = rng.normal(size=n)
    fits = fit_elastic_nets(Z, y, GRID)
    assert (fits.gaps < 1e-9).all()
    for (share, ratio), found in zip(GRID.models, fits.coefs, strict=True):
        np.testing.assert_allclose(found, by_descent(Z, y, share, ratio), atol=1e-5)


def test_models_go_ratio_by_ratio_and_the_highest_price_comes_first():
    assert GRID.models == [(0.8, 0.7), (0.2, 0.7), (0.05, 0.7), (0.8, 0.05), (0.2, 0.05), (0.05, 0.05)]


@given(st.integers(3, 8), st.integers(1, 40), st.integers(0, 10**6))
def test_equal_columns_put_together(n, d, seed):
    """Whether the columns are many or put together, the models and their predictions are the same."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.3, size=(n, d)).astype(float)
    counts[:, rng.integers(0, d, size=d // 2)] = counts[:, :1]
    new = rng.poisson(0.3, size=(4, d)).astype(float)
    allowed = rng.random(d) < 0.8
    columns = DistinctColumns.of(csr_array(counts))
    varies = np.ptp(counts, axis=0) > 0
    assert columns.Z.shape[1] == len(set(map(tuple, counts[:, varies].T)))
    assert ((columns.numbers >= 0) == varies).all()

    used = np.flatnonzero(varies & allowed)
    y = rng.normal(size=n)
    deviation = counts[:, used].std(axis=0)
    Z = (counts[:, used] - counts[:, used].mean(axis=0)) / deviation
    fits = fit_elastic_nets(columns.Z, y, GRID, columns.sizes(allowed))
    plain = fit_elastic_nets(Z, y, GRID)
    np.testing.assert_allclose(fits.coefs[:, columns.numbers[used]], plain.coefs, atol=1e-6)
    Z_new = (new[:, used] - counts[:, used].mean(axis=0)) / deviation
    predicted = fits.predict(columns.means_of(csr_array(new), allowed))
    np.testing.assert_allclose(predicted, plain.predict(Z_new), atol=1e-6)
    for model in range(len(GRID.models)):
        # Weights of the size of the gap may be there in one and not in the other.
        small = np.abs(plain.coefs[model]) < 1e-6
        assert fits.nonzeros(model) - plain.nonzeros(model) <= small.sum()


def test_nothing_to_learn_is_no_weight():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(6, 4))
    assert not fit_elastic_nets(Z - Z.mean(axis=0), np.ones(6), GRID).coefs.any()
    assert not fit_elastic_nets(np.zeros((6, 4)), np.arange(6.0), GRID).coefs.any()
    constant = DistinctColumns.of(csr_array(np.ones((3, 5))))
    assert constant.Z.shape == (3, 0)
    assert fit_elastic_nets(constant.Z, np.arange(3.0), GRID).predict(np.zeros((2, 0))).shape == (6, 2)


def test_sparse_matrices_in_any_form():
    counts = np.array([[1.0, 0, 2, 2], [0, 1, 0, 0], [0, 0, 1, 1]])
    rows, columns = np.nonzero(counts)
    twice = csr_array((np.full(2 * len(rows), 0.5), (np.tile(rows, 2), np.tile(columns, 2))), shape=(3, 4))
    halves = csr_array((counts > 0).astype(float))
    assert np.array_equal(DistinctColumns.of(twice).Z, DistinctColumns.of(halves).Z)
    stored = csr_array(counts)
    stored.data[stored.indices == 0] = 0.0
    assert DistinctColumns.of(stored).numbers.tolist()[0] == -1
    assert len(stored.data) == 6  # the caller's matrix is left as it is


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ElasticNetGrid((0.5, 1.0), (0.5,)),
            r"alphas is \(0.5, 1.0\): expected numbers between 0 and 1",
        ),
        (lambda: ElasticNetGrid((0.5,), ()), r"l1_ratios is \(\): expected numbers"),
        (lambda: ElasticNetGrid((0.5,), (0.5,), 0.0), "tol is 0.0: expected a number above 0"),
        (lambda: fit_elastic_nets(np.zeros((3, 2)), np.zeros(4), GRID), r"features \(3, 2\), target \(4,\)"),
        (lambda: fit_elastic_nets(np.full((3, 2), np.nan), np.zeros(3), GRID), "a feature is NaN"),
        (lambda: fit_elastic_nets(np.zeros((2, 2)), [0, np.inf], GRID), "the target is NaN or infinite"),
        (lambda: fit_elastic_nets(np.zeros((2, 2)), [0, 1], GRID, [1, -1]), r"sizes of shape \(2,\)"),
        (lambda: DistinctColumns.of(np.ones((3, 2))), "a ndarray: expected a sparse matrix"),
        (lambda: DistinctColumns.of(csr_array(np.full((3, 2), np.nan))), "NaN or infinite"),
        (
            lambda: DistinctColumns.of(csr_array(np.eye(3))).means_of(csr_array(np.eye(2))),
            "2 columns: expected 3, as in training",
        ),
    ],
)
def test_broken_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_hardly_any_l2_penalty_leaves_no_weights_but_a_warning():
    # The weights are differences of products over l2, of which rounding leaves nothing.
    rng = np.random.default_rng(0)
    Z, y = 1e6 * rng.normal(size=(20, 6)), 1e-6 * rng.normal(size=20)
    with pytest.warns(ConvergenceWarning, match="StandardScaler"):
        found = fit_elastic_nets(Z - Z.mean(axis=0), y, ElasticNetGrid((0.5,), (1 - 1e-12,)))
    assert not found.coefs.any()
    assert found.gaps[0] == pytest.approx(1)


def test_models_that_do_not_converge_warn():
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(24, 4)) * 10.0 ** rng.integers(-9, 10, size=(24, 4)), rng.normal(size=24)
    with pytest.warns(ConvergenceWarning, match="StandardScaler"):
        fit_elastic_nets(Z, y, ElasticNetGrid((1e-9,), (1 - 1e-9,)))


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_features_whose_products_overflow_or_vanish(scale):
    with pytest.raises(ValueError, match=r"features have magnitudes up to .*StandardScaler"):
        fit_elastic_nets(scale * np.eye(3), np.arange(3.0), ElasticNetGrid((0.5,), (0.5,)))


def test_frames_are_taken_as_arrays():
    Z, y = np.random.default_rng(0).normal(size=(2, 9, 4))
    grid = ElasticNetGrid((0.5,), (0.5,))
    found = fit_elastic_nets(pd.DataFrame(Z), pd.Series(y[:, 0], index=range(5, 14)), grid)
    np.testing.assert_array_equal(found.coefs, fit_elastic_nets(Z, y[:, 0], grid).coefs)


def test_sparse_columns_out_of_range_are_refused():
    X = csr_array(np.eye(3))
    X.indices[2] = 3
    with pytest.raises(ValueError, match="X has the index 3: expected 0 to 2"):
        DistinctColumns.of(X)


@pytest.mark.filterwarnings("error")
def test_columns_that_differ_by_less_than_the_rounding_of_their_sums():
    X = np.array([[1e17, 1e17, 1e17, 0.0], [1.0, 2.0, 1.0, 0.0], [0.0, 0.0, 0.0, 5.0]])
    columns = DistinctColumns.of(csr_array(X))
    assert len(set(columns.numbers.tolist())) == 3
    assert columns.numbers[0] == columns.numbers[2] != columns.numbers[1]
    np.testing.assert_allclose(columns.means_of(csr_array(X)), columns.Z)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("largest", [1e200, 1e308])
def test_deviations_that_overflow_are_refused(largest):
    X = csr_array([[largest, -largest], [largest, 1.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="deviation of a feature is infinite"):
        DistinctColumns.of(X)


def test_allowed_columns_of_another_number_are_refused():
    X = csr_array(np.random.default_rng(0).normal(size=(4, 5)))
    columns = DistinctColumns.of(X)
    for call in (columns.sizes, lambda allowed: columns.means_of(X, allowed)):
        with pytest.raises(ValueError, match="boolean for each of 5 columns"):
            call(np.ones(3, dtype=bool))


def test_complex_features_are_refused():
    with pytest.raises(ValueError, match="Z has complex entries"):
        fit_elastic_nets(np.ones((3, 2)) * 1j, np.ones(3), ElasticNetGrid((0.5,), (0.5,)))
