"""Chi-squared distances of sparse histograms against scikit-learn, and the kernel made of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.metrics.pairwise import additive_chi2_kernel

from ermlab.kernels import sparse_histogram as module
from ermlab.kernels.sparse_histogram import generalized_gaussian, median_distance, sparse_chi2_distances

entries = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))
pairs = st.integers(1, 6).flatmap(
    lambda words: st.tuples(*(arrays(float, (n, words), elements=entries) for n in (5, 4)))
)


@given(pairs, st.sampled_from([1, 2, 3, 2048]), st.booleans())
def test_equal_to_scikit_learn_whatever_the_block(pair, block, is_sparse):
    X, Y = pair
    given_X, given_Y = (sparse.csr_array(X), sparse.csr_array(Y)) if is_sparse else (X, Y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        between, within = sparse_chi2_distances(given_X, given_Y), sparse_chi2_distances(given_X)
    scale = max(X.sum(), Y.sum(), 1.0)
    np.testing.assert_allclose(between, -additive_chi2_kernel(X, Y), atol=1e-13 * scale)
    np.testing.assert_allclose(within, -additive_chi2_kernel(X), atol=1e-13 * scale)
    assert np.array_equal(within, within.T)
    assert not np.diag(within).any()
    assert (between >= 0).all()


def documents(n, seed=0):
    X = sparse.random_array((n, 400), density=0.05, rng=np.random.default_rng(seed), format="csr")
    return X / np.maximum(X.sum(axis=1), 1e-300)[:, None]


def test_threads_repeats_and_unsorted_or_doubled_entries_change_nothing():
    X = documents(300).tocsr()
    distances = sparse_chi2_distances(X, n_jobs=1)
    assert np.array_equal(distances, sparse_chi2_distances(X, n_jobs=2))
    coo = X.tocoo()
    order = np.random.default_rng(1).permutation(coo.nnz)
    halves = sparse.coo_array(
        (
            np.tile(coo.data[order] / 2, 2),
            (np.tile(coo.coords[0][order], 2), np.tile(coo.coords[1][order], 2)),
        ),
        shape=coo.shape,
    )
    before = halves.data.copy()
    np.testing.assert_allclose(sparse_chi2_distances(halves), distances, atol=1e-14)
    assert np.array_equal(halves.data, before)


def test_kernel_with_the_median_of_different_pairs():
    X = documents(40)
    distances = sparse_chi2_distances(X)
    bandwidth = median_distance(distances)
    assert bandwidth == np.median([distances[i, j] for i in range(40) for j in range(i)])
    K = generalized_gaussian(distances, bandwidth)
    np.testing.assert_allclose(K, np.exp(-distances / bandwidth), rtol=1e-14)
    assert np.linalg.eigvalsh(K)[0] > 0
    assert distances[0, 1] > 0, "the distances are left as they were"


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0.0, np.nan]], "X is nan in row 0, column 1"),
        ([[1.0, 0.0], [0.0, -2.0]], "X is -2.0 in row 1, column 1"),
        (sparse.csr_array(np.array([[1.0, 0.0], [np.inf, 0.0]])), "X is inf in row 1, column 0"),
        (np.ones(3), r"X has shape \(3,\)"),
    ],
)
def test_what_is_no_histogram_is_named(X, message):
    with pytest.raises(ValueError, match=message):
        sparse_chi2_distances(X)


def test_other_mistakes_are_named():
    with pytest.raises(ValueError, match="X has 3 bins and Y 2"):
        sparse_chi2_distances(np.ones((2, 3)), np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"shape \(2, 3\)"):
        median_distance(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"median distance is 0\.0"):
        median_distance(np.zeros((3, 3)))
    for bandwidth in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="bandwidth is"):
            generalized_gaussian(np.ones((2, 2)), bandwidth)


def test_complex_numbers_are_refused():
    for call in (
        lambda: sparse_chi2_distances(np.ones((2, 2)) * (1 + 1j)),
        lambda: median_distance(np.ones((2, 2)) * 1j),
        lambda: generalized_gaussian(np.ones((2, 2)) * 1j, 1.0),
    ):
        with pytest.raises(ValueError, match="complex"):
            call()
    with pytest.raises(ValueError, match="bandwidth is 'wide'"):
        generalized_gaussian([[1.0]], "wide")
