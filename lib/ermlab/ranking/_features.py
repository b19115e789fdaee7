"""Products with a feature matrix of any kind, in chunks of rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.parallel import over_ranges
from ermlab._utils.rows_numba import row_scores
from ermlab._utils.sparse_matrices import sound_csr
from ermlab._utils.validation import require_finite
from ermlab.ranking._rows_numba import widen

Vector = NDArray[np.float64]
# Entries of a chunk: a few megabytes where it has to be converted to float64.
CHUNK_ENTRIES = 1 << 19
# Error of a sum of products, relative to the sum of the absolute values of its terms.
ROUNDING = 8 * float(np.finfo(np.float64).eps)
# Smallest number of rows per thread.
_GRAIN = 4096


def sound_matrix(X: ArrayLike | sparse.sparray | sparse.spmatrix) -> ArrayLike | sparse.sparray:
    """Return a sparse matrix in CSR or CSC format with valid indices; dense input is returned unchanged.

    scipy does not check indices when it converts or multiplies, even if they point to other memory.
    """
    if not sparse.issparse(X):
        return X
    if X.format not in ("csr", "csc"):
        return sound_csr(X, "X")
    X.check_format(full_check=True)
    return X


class Features:
    """A matrix with one sample per row: dense of any type and order, memory-mapped, or sparse.

    It is never copied or converted as a whole. Sums run over chunks of fixed size in fixed order with one
    BLAS thread, or row by row, so that they do not depend on the number of threads.
    """

    def __init__(self, X: ArrayLike | sparse.sparray | sparse.spmatrix):
        X = sound_matrix(X) if sparse.issparse(X) else np.asarray(X)
        if X.ndim != 2 or 0 in X.shape or X.dtype.kind not in "fiub":
            raise ValueError(
                f"features of shape {X.shape} and type {X.dtype}: expected a matrix of real numbers, "
                "at least one row and one column"
            )
        self._X = X
        #: Largest absolute value of each column.
        self.extent = self._find_extent()
        message = f"features of shape {X.shape} hold NaN or infinity: expected finite numbers"
        require_finite(self.extent, message)

    def __len__(self) -> int:
        return self._X.shape[0]

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return self._X.shape[1]

    def scores(self, w: Vector) -> Vector:
        """Return ``X w``."""
        if np.shape(w) != (self.dimension,):
            raise ValueError(f"w has shape {np.shape(w)}: expected ({self.dimension},)")
        scores = self._products(w)
        if not np.isfinite(scores).all():
            i = int(np.argmin(np.isfinite(scores)))
            raise ValueError(f"the score of row {i} is {scores[i]}: expected finite weights and scores")
        return scores

    def combine(self, alpha: Vector, rows: NDArray[np.int64] | None = None) -> Vector:
        """Return ``X' alpha``, or ``X[rows]' alpha``; identical if ``rows`` are all rows in order."""
        if sparse.issparse(self._X):
            return (self._X if rows is None else self._X[rows]).T @ alpha
        total = np.zeros(self.dimension)
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):  # checked next
            for part, chunk in self._chunks(rows):
                total += alpha[part] @ chunk
        message = f"a weighted sum of {len(alpha)} rows of the features overflows: expected smaller features"
        return require_finite(total, message)

    def score_error(self, w: Vector) -> float:
        """Return a bound of the rounding error of any score."""
        return ROUNDING * float(np.sum(self.extent * np.abs(w)))

    def take(self, rows: NDArray[np.int64]) -> Features:
        """Return a copy of the given rows."""
        return Features(self._X[rows])

    def _products(self, w: Vector) -> Vector:
        """Return ``X w``, whether or not it is finite."""
        if sparse.issparse(self._X):
            return self._X @ w
        scores = np.empty(len(self))
        if self._X.dtype == np.float32 and self._X.flags.c_contiguous:
            over_ranges(
                lambda start, stop: row_scores(self._X, w, scores, start, stop), len(self), grain=_GRAIN
            )
            return scores
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            for rows, chunk in self._chunks():
                scores[rows] = chunk @ w
        return scores

    def _chunks(self, rows: NDArray[np.int64] | None = None) -> Iterator[tuple[slice, Vector]]:
        """Yield chunks of all rows, or of the given ones, each with its range."""
        step = max(CHUNK_ENTRIES // self.dimension, 1)
        for start in range(0, len(self) if rows is None else len(rows), step):
            part = slice(start, start + step)
            yield part, np.asarray(self._X[part if rows is None else rows[part]], dtype=np.float64)

    def _find_extent(self) -> Vector:
        extent = np.zeros(self.dimension)
        if not sparse.issparse(self._X):
            for _, chunk in self._chunks():
                widen(np.ascontiguousarray(chunk), extent)
            return extent
        columns = self._X.indices
        if self._X.format == "csc":
            columns = np.repeat(np.arange(self.dimension), np.diff(self._X.indptr))
        for start in range(0, self._X.nnz, CHUNK_ENTRIES):
            chunk = slice(start, min(start + CHUNK_ENTRIES, self._X.nnz))
            with np.errstate(invalid="ignore"):  # the caller rejects NaN
                np.maximum.at(extent, columns[chunk], np.abs(self._X.data[chunk].astype(np.float64)))
        return extent
