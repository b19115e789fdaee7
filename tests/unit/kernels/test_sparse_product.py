"""Inner products of sparse rows against products of dense and of sparse matrices."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, random_array

from ermlab.kernels import linear_kernel


def rows(rng, n, density, *, counts):
    """Return sparse rows: some columns with many entries, most with few, some rows empty."""
    dense = random_array((n, 8), density=0.7, rng=rng).toarray()
    sparse = random_array((n, 300), density=density, rng=rng).toarray()
    matrix = np.hstack([sparse[:, :100], dense, sparse[:, 100:]])
    matrix[rng.random(n) < 0.1] = 0.0
    return csr_array(np.ceil(9 * matrix) if counts else matrix)


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (40, 40), (70, 33), (0, 5), (5, 0)])
def test_products_are_those_of_scipy_to_the_last_bit(counts, n_jobs, n, m):
    rng = np.random.default_rng(n)
    A, B = rows(rng, n, 0.02, counts=counts), rows(rng, m, 0.02, counts=counts)
    np.testing.assert_array_equal(linear_kernel(A, B, n_jobs), (A @ B.T).toarray())
    np.testing.assert_array_equal(linear_kernel(A, n_jobs=n_jobs), (A @ A.T).toarray())
    np.testing.assert_array_equal(linear_kernel(A, A.copy(), n_jobs), (A @ A.T).toarray())


def test_integers_whose_sums_are_not_exact_are_added_in_order():
    rng = np.random.default_rng(0)
    A = csr_array(np.round(rng.uniform(-1, 1, (30, 20)) * 2.0**40))
    np.testing.assert_array_equal(linear_kernel(A), (A @ A.T).toarray())


def test_other_formats_types_and_duplicates_are_allowed():
    rng = np.random.default_rng(1)
    A = rng.integers(-3, 4, (12, 9))
    double = coo_array((np.ones(4), ([0, 0, 1, 1], [2, 2, 2, 3])), shape=(2, 9))
    for matrix in (csr_array(A), csc_array(A), csr_array(A.astype(np.float32)), csr_array(A != 0)):
        expected = matrix.toarray().astype(float)
        np.testing.assert_array_equal(linear_kernel(matrix), expected @ expected.T)
        np.testing.assert_array_equal(linear_kernel(matrix, double), expected @ double.toarray().T)


def test_rows_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="rows of 3 and 4 columns: expected the same number"):
        linear_kernel(csr_array((2, 3)), csr_array((2, 4)))
