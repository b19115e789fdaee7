"""Inner products of sparse rows as a dense matrix, faster than a sparse product."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ermlab._utils.parallel import over_ranges
from ermlab.kernels._sparse_product_numba import add_products, entries_of_columns, mirror, spread

#: Columns with entries in more than this share of the rows are multiplied as a dense matrix.
_DENSE = 0.25
#: Integers below are exact, as are their sums in any order.
_EXACT = 2.0**53


def linear_kernel(A: csr_array, B: csr_array | None = None, n_jobs: int | None = None) -> NDArray[np.float64]:
    """Compute ``<a, b>`` for each row of ``A`` and of ``B`` (by default ``A``) as a dense matrix.

    Sums are in ascending order of the columns. If all entries are integers, such as counts, any order has the
    same result, and columns with many entries are multiplied as a dense matrix.

    Parameters
    ----------
    A, B : sparse matrices of shape (n_rows, n_columns)
        Finite numbers.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    """
    A = csr_array(A, dtype=np.float64)
    other = A if B is None else csr_array(B, dtype=np.float64)
    if A.shape[1] != other.shape[1]:
        raise ValueError(f"rows of {A.shape[1]} and {other.shape[1]} columns: expected the same number")
    place = np.full(A.shape[1], -1, dtype=np.int32)
    if _are_counts(A) and (other is A or _are_counts(other)):
        many = np.bincount(other.indices, minlength=len(place)) > _DENSE * other.shape[0]
        place[many] = np.arange(np.count_nonzero(many))
    left = _dense_columns(A, place)
    product = left @ (left if other is A else _dense_columns(other, place)).T
    columns = entries_of_columns(other.indptr, other.indices, other.data, place)

    def work(first: int, last: int) -> None:
        add_products(A.indptr, A.indices, A.data, place, *columns, other is A, first, last, product)

    over_ranges(work, A.shape[0], n_jobs)
    if other is A:
        mirror(product)
    return product


def _are_counts(A: csr_array) -> bool:
    """Return whether all entries are integers whose products have exact sums."""
    largest, longest = np.abs(A.data).max(initial=0.0), np.diff(A.indptr).max(initial=0)
    return bool(longest * largest**2 < _EXACT and (A.data == np.rint(A.data)).all())


def _dense_columns(A: csr_array, place: NDArray[np.int32]) -> NDArray[np.float64]:
    dense = np.zeros((A.shape[0], place.max(initial=-1) + 1))
    spread(A.indptr, A.indices, A.data, place, dense)
    return dense
