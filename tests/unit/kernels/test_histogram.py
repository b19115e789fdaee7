"""Histogram kernels against scikit-learn, sums written out, and what they must be: symmetric and definite."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array, dia_array
from sklearn.metrics.pairwise import additive_chi2_kernel
from sklearn.metrics.pairwise import chi2_kernel as sklearn_exponential_chi2_kernel

from ermlab.kernels import (
    chi2_distances,
    chi2_kernel,
    exponential_chi2_kernel,
    intersection_kernel,
    median_gamma,
    sparse_chi2_kernel,
)

ALL = (chi2_kernel, intersection_kernel, chi2_distances, exponential_chi2_kernel)
entries = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))
pairs = st.integers(0, 6).flatmap(
    lambda bins: st.tuples(*(arrays(float, (n, bins), elements=entries) for n in (4, 3)))
)


@given(pairs)
def test_equal_to_scikit_learn(pair):
    X, Y = pair
    if X.shape[1] == 0:  # scikit-learn refuses histograms without bins
        assert not chi2_distances(X, Y).any()
        return
    distances = -additive_chi2_kernel(X, Y)
    assert np.allclose(chi2_distances(X, Y), distances, rtol=1e-12)
    assert np.allclose(
        exponential_chi2_kernel(X, Y, gamma=0.3), sklearn_exponential_chi2_kernel(X, Y, gamma=0.3)
    )
    sums = X.sum(axis=1)[:, None] + Y.sum(axis=1)
    assert np.allclose(chi2_kernel(X, Y), (sums - distances) / 2, rtol=1e-9)
    assert np.allclose(intersection_kernel(X, Y), np.minimum(X[:, None], Y).sum(axis=2), rtol=1e-12)


@given(pairs)
def test_sparse_rows_are_compared_as_full_ones_are(pair):
    X, Y = pair
    np.testing.assert_array_equal(sparse_chi2_kernel(csr_array(X), csr_array(Y)), chi2_kernel(X, Y))


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        ([[1.0, 2.0]], [[1.0]], "X has 2 bins and Y 1"),
        ([[1.0, np.nan]], [[1.0, 2.0]], "X has an entry nan"),
        ([[1.0, 2.0]], [[-1.0, 2.0]], r"Y has an entry -1\.0: expected finite numbers above 0"),
    ],
)
def test_sparse_rows_that_are_no_histograms_are_rejected(X, Y, message):
    with pytest.raises(ValueError, match=message):
        sparse_chi2_kernel(csr_array(X), csr_array(Y))


@given(pairs)
def test_symmetric_and_positive_semidefinite(pair):
    X = np.vstack(pair)
    for kernel in (chi2_kernel, intersection_kernel, exponential_chi2_kernel):
        K = kernel(X)
        assert np.array_equal(K, K.T)
        assert np.allclose(K, kernel(X, X), rtol=1e-12)
        assert np.linalg.eigvalsh(K).min() >= -1e-10 * np.abs(K).max()
    assert np.allclose(np.diag(chi2_kernel(X)), X.sum(axis=1))
    assert not np.diag(chi2_distances(X)).any()


def test_small_and_large_numbers_neither_vanish_nor_overflow():
    for size in (1e-300, 1e300):
        assert np.allclose(chi2_kernel([[size]], [[3 * size]]) / size, 1.5)
        assert np.allclose(chi2_distances([[size]], [[3 * size]]) / size, 1.0)


@pytest.mark.parametrize("kernel", ALL)
def test_any_number_of_threads_gives_the_same(kernel):
    rng = np.random.default_rng(0)
    X, Y = (rng.poisson(0.3, size=(n, 200)).astype(float) for n in (31, 23))
    assert np.array_equal(kernel(X, n_jobs=1), kernel(X, n_jobs=3))
    assert np.array_equal(kernel(X, Y, n_jobs=1), kernel(X, Y, n_jobs=3))


def test_median_gamma():
    # distances 1 (twice) and 2
    assert median_gamma([[1, 0, 0], [0, 0, 0], [0, 1, 0]]) == 1.0
    with pytest.raises(ValueError, match="1 histograms: expected at least 2"):
        median_gamma([[1.0]])
    with pytest.raises(ValueError, match="median distance is 0"):
        median_gamma(np.ones((3, 2)))


@pytest.mark.parametrize("kernel", ALL)
@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        ([[0, 1], [2, -1]], None, "X is -1.0 in row 1, bin 1"),
        ([[0, 1]], [[np.nan, 0]], "Y is nan in row 0, bin 0"),
        ([[np.inf]], None, "X is inf"),
        ([1, 2], None, r"X has shape \(2,\)"),
        ([[1, 2]], [[1]], "X has 2 bins and Y 1"),
    ],
)
def test_bad_input(kernel, X, Y, message):
    with pytest.raises(ValueError, match=message):
        kernel(X, Y)


@pytest.mark.parametrize("gamma", [0, -1, np.nan])
def test_bad_gamma(gamma):
    with pytest.raises(ValueError, match="gamma is"):
        exponential_chi2_kernel([[1]], gamma=gamma)


def test_sparse_rows_with_a_bin_twice():
    twice = csr_array(([1.0, 2.0], [0, 0], [0, 2]), shape=(1, 2))
    np.testing.assert_allclose(sparse_chi2_kernel(twice, csr_array([[3.0, 0.0]])), 3.0)


@pytest.mark.parametrize("index", [-1, 2, 10**6])
def test_sparse_rows_with_a_bin_out_of_range(index):
    broken, sound = (csr_array([[1.0, 2.0]]) for _ in range(2))
    broken.indices[1] = index
    for arguments in ((broken, sound), (sound, broken)):
        with pytest.raises(ValueError, match=f"has the index {index}: expected 0 to 1"):
            sparse_chi2_kernel(*arguments)


def test_sums_that_overflow_are_refused():
    X = np.full((2, 3), np.finfo(float).max)
    for kernel in (chi2_kernel, intersection_kernel, chi2_distances):
        with pytest.raises(ValueError, match="row 0 of X sums to inf"):
            kernel(X)


def other_byte_order(matrix, *names):
    matrix = matrix.copy()
    for name in names:
        values = getattr(matrix, name)
        setattr(matrix, name, values.astype(values.dtype.newbyteorder()))
    return matrix


@pytest.mark.parametrize("names", [("indices",), ("indptr",), ("indices", "indptr", "data")])
def test_indices_in_another_byte_order_mean_the_same(names):
    X = csr_array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
    swapped = other_byte_order(X, *names)
    np.testing.assert_array_equal(sparse_chi2_kernel(swapped, X), sparse_chi2_kernel(X, X))
    np.testing.assert_array_equal(sparse_chi2_kernel(X, swapped), sparse_chi2_kernel(X, X))


def test_index_that_is_small_in_another_byte_order_only_is_refused():
    X = csr_array(np.eye(2))
    X.indices = np.array([0, 1 << 24], dtype=np.int32).astype(np.dtype(np.int32).newbyteorder())
    with pytest.raises(ValueError, match="index 16777216"):
        sparse_chi2_kernel(X, X)


@pytest.mark.parametrize(
    ("what", "values"), [("indices", np.array([0.0, 1.0])), ("indices", np.array([[0], [1]]))]
)
def test_indices_of_another_kind_are_refused(what, values):
    X = csr_array(np.eye(2))
    setattr(X, what, values)
    with pytest.raises(ValueError, match="expected vectors of whole numbers"):
        sparse_chi2_kernel(X, X)


def test_diagonals_without_offsets_are_refused():
    X = dia_array(np.eye(4))
    X.data = np.ones((1000, 4))
    with pytest.raises(ValueError, match="one offset per diagonal"):
        sparse_chi2_kernel(X, csr_array(np.eye(4)))


@pytest.mark.parametrize("X", [[[1 + 1j]], np.ma.array([[1.0]], mask=[[True]])])
def test_numbers_that_would_lose_a_part_are_refused(X):
    with pytest.raises(ValueError, match=r"complex|masked"):
        chi2_kernel(X)
