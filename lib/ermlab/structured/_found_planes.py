"""Planes of the outputs that an approximate search has found for a sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.blas import one_blas_thread

Vector = NDArray[np.float64]
# A plane is dropped after this many consecutive searches in which it was not the highest.
MAX_IDLE = 50


class FoundPlanes:
    """A set of planes below the violation of one sample; those that have been idle for long are dropped.

    The number of planes is bounded by the number of searches that a plane may be idle.
    """

    def __init__(self, dimension: int):
        self._A, self._b = np.zeros((0, dimension)), np.zeros(0)
        self._idle = np.zeros(0, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._b)

    def add(self, a: Vector, b: float) -> None:
        """Add the plane that a search has found."""
        self._idle += 1
        chosen = self._idle <= MAX_IDLE
        if not chosen.all():
            self._A, self._b, self._idle = self._A[chosen], self._b[chosen], self._idle[chosen]
        known = self._b == b
        if known.any() and (self._A[known] == a).all(axis=1).any():
            return
        self._A, self._b = np.vstack([self._A, a]), np.append(self._b, b)
        self._idle = np.append(self._idle, 0)

    def highest(self, w: Vector) -> tuple[Vector, float]:
        """Return slope and offset of the highest plane at ``w``; the plane 0 if there are none."""
        if not len(self):
            return np.zeros_like(w), 0.0
        with one_blas_thread():
            top = int(np.argmax(self._A @ w + self._b))
        self._idle[top] = 0
        return self._A[top], float(self._b[top])
