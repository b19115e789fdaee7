"""The joint kernel ``K (x) B`` of samples and classes, which is never formed (thesis, eq. 5.28 and 5.29)."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.parallel import over_ranges

Matrix = NDArray[np.float64]
#: Rows of K per product: fixed, so that sums do not depend on the number of threads.
BLOCK = 256


class JointKernel:
    """Products with ``K (x) B`` for coefficients ``alpha`` of shape (n_samples, n_classes).

    ``K`` is a kernel matrix or, with ``factor=True``, the features ``X`` of the kernel ``X X'``.
    """

    def __init__(self, K: Matrix, B: Matrix, *, factor: bool = False, n_jobs: int | None = None):
        self.K, self.B = K, B
        self._factor, self._n_jobs = factor, n_jobs

    @cached_property
    def radii(self) -> NDArray[np.float64]:
        """Norm ``sqrt(k(x, x))`` of each sample."""
        return np.sqrt(np.sum(self.K * self.K, axis=1) if self._factor else np.diagonal(self.K))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and of classes."""
        return len(self.K), len(self.B)

    def scores(self, alpha: Matrix) -> Matrix:
        """Return ``K alpha B`` (thesis, eq. 5.29): the compatibility of each sample with each class."""
        with one_blas_thread():
            right = alpha @ self.B
            if self._factor:
                right = self.K.T @ right
            return _row_blocks(self.K, right, self._n_jobs)


def _row_blocks(left: Matrix, right: Matrix, n_jobs: int | None) -> Matrix:
    """Return ``left @ right``; threads share blocks of rows."""
    out = np.empty((len(left), right.shape[1]))

    def work(start: int, stop: int) -> None:
        for block in range(start, stop):
            rows = slice(block * BLOCK, (block + 1) * BLOCK)
            np.matmul(left[rows], right, out=out[rows])

    over_ranges(work, -(-len(left) // BLOCK), n_jobs)
    return out


def scores_of(K: Matrix, alpha: Matrix, B: Matrix, n_jobs: int | None = None) -> Matrix:
    """Return ``K alpha B`` for the kernel of samples (rows) with the training samples (columns)."""
    with one_blas_thread():
        return _row_blocks(K, alpha @ B, n_jobs)
