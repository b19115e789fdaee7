"""The Gram matrix of planes in some of their coordinates, updated if coordinates or planes change."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab.optimize.planes import Planes

Vector = NDArray[np.float64]
# Rounding errors of this many updates may add up before the matrix is computed anew.
MAX_UPDATES = 20


class FreeGram:
    """The matrix ``A_F diag(1 / lam_F) A_F'`` for a set ``F`` of coordinates, initially the given ones."""

    def __init__(self, planes: Planes, lam: Vector, free: NDArray[np.bool_]):
        self._planes, self._lam, self._free = planes, lam, free
        self._compute()

    def __call__(self, free: NDArray[np.bool_] | None = None) -> Vector:
        """Return the matrix of the coordinates ``free``, by default the same as before."""
        if free is not None and not np.array_equal(free, self._free):
            changed = np.flatnonzero(free != self._free)
            if self._updates == MAX_UPDATES or 2 * changed.size > np.count_nonzero(free):
                self._free = free
                self._compute()
            else:
                self._update(changed, np.where(free[changed], 1.0, -1.0))
                self._free = free
        return self._gram[: self._count, : self._count]

    def plane_added(self) -> None:
        """Add a row and a column for the newest plane."""
        m = self._count
        if m == len(self._gram):
            larger = np.empty((2 * m + 4, 2 * m + 4))
            larger[:m, :m] = self._gram
            self._gram = larger
        newest = np.where(self._free, self._planes.A[-1] / self._lam, 0.0)
        self._gram[m, : m + 1] = self._gram[: m + 1, m] = self._planes.products(newest)
        self._count = m + 1

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Drop all planes except the ``chosen`` ones."""
        self._gram = self()[np.ix_(chosen, chosen)]
        self._count = len(self._gram)

    def _compute(self) -> None:
        A = self._planes.A[:, self._free] / np.sqrt(self._lam[self._free])
        with one_blas_thread():
            self._gram = A @ A.T
        self._count, self._updates = len(A), 0

    def _update(self, changed: NDArray[np.int64], signs: Vector) -> None:
        """Add or subtract the contributions of the ``changed`` coordinates."""
        A = self._planes.A[:, changed]
        with one_blas_thread():
            self._gram[: self._count, : self._count] += (A * (signs / self._lam[changed])) @ A.T
        self._updates += 1
