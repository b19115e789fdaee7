"""Cutting planes: linear lower bounds ``<a, w> + b <= risk(w)`` with their Gram matrix."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.validation import real_array

Vector = NDArray[np.float64]
# Slopes up to this size can be squared and summed without overflow.
LARGEST_SLOPE = 1e145


class Planes:
    """A growing set of planes with slopes ``A`` and offsets ``b`` (cheap data, eq. 1.6).

    The Gram matrix ``A A'`` grows along, at one matrix-vector product per plane. A set can be passed from one
    `ermlab.optimize.minimize` to the next as long as the risk is the same function.

    Parameters
    ----------
    dimension : int
        Length of each slope.
    n_parts : int, default=1
        Number of parts of the risk; each plane is below one of them.
    """

    def __init__(self, dimension: int, n_parts: int = 1):
        for name, number in (("dimension", dimension), ("n_parts", n_parts)):
            if number < 1:
                raise ValueError(f"{name} is {number}: expected at least 1")
        self._count, self.n_parts = 0, n_parts
        self._part = np.zeros(4, dtype=np.int64)
        self._A = np.empty((4, dimension))
        self._b = np.empty(4)
        self._gram = np.empty((4, 4))

    def __len__(self) -> int:
        return self._count

    @property
    def dimension(self) -> int:
        """Length of each slope."""
        return self._A.shape[1]

    @property
    def A(self) -> Vector:
        """Slopes, one per row."""
        return self._A[: self._count]

    @property
    def b(self) -> Vector:
        """Offsets."""
        return self._b[: self._count]

    @property
    def part(self) -> NDArray[np.int64]:
        """Part of the risk to which each plane belongs."""
        return self._part[: self._count]

    @property
    def bounds_all_parts(self) -> bool:
        """Whether there is a plane below each part."""
        return len(np.unique(self.part)) == self.n_parts

    @property
    def gram(self) -> Vector:
        """``A A'``."""
        return self._gram[: self._count, : self._count]

    def add(self, a: ArrayLike, b: float, part: int = 0) -> bool:
        """Add the plane ``<a, w> + b`` of a part; return false if the set has it already."""
        a = real_array(a, "a plane")
        if a.shape != (self.dimension,):
            raise ValueError(f"plane of shape {a.shape}: expected ({self.dimension},)")
        _check_size(a, b)
        if not 0 <= part < self.n_parts:
            raise ValueError(f"plane of part {part}: expected 0 to {self.n_parts - 1}")
        if any(np.array_equal(self._A[i], a) for i in np.flatnonzero((self.b == b) & (self.part == part))):
            return False
        m = self._count
        if m == len(self._b):
            self._resize(2 * m)
        self._A[m], self._b[m], self._part[m] = a, b, part
        self._count = m + 1
        self._gram[m, : m + 1] = self._gram[: m + 1, m] = self.products(a)
        return True

    @classmethod
    def of(cls, A: ArrayLike, b: ArrayLike, part: ArrayLike | None = None, n_parts: int = 1) -> Self:
        """Return a set of distinct planes."""
        A, b = np.ascontiguousarray(real_array(A, "A")), real_array(b, "b")
        part = np.zeros(b.shape, dtype=np.int64) if part is None else np.asarray(part)
        if A.ndim != 2 or not b.shape == part.shape == A.shape[:1]:
            raise ValueError(
                f"A, b, part of shapes {A.shape}, {b.shape}, {part.shape}: expected (m, d), (m,), (m,)"
            )
        planes = cls(A.shape[1], n_parts)
        if not len(A):
            return planes
        if part.dtype.kind not in "iu" or not 0 <= part.min() <= part.max() < n_parts:
            raise ValueError(f"planes of parts {part}: expected whole numbers, 0 to {n_parts - 1}")
        _check_size(A, b)
        planes._count, planes._A, planes._b = len(A), A.copy(), b.copy()
        planes._part = part.astype(np.int64)
        with one_blas_thread():
            planes._gram = A @ A.T
        return planes

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Drop all planes except the ``chosen`` ones."""
        A, b, part = self.A[chosen], self.b[chosen], self.part[chosen]
        gram = self.gram[np.ix_(chosen, chosen)]
        m = self._count = len(b)
        self._A[:m], self._b[:m], self._part[:m], self._gram[:m, :m] = A, b, part, gram

    def products(self, w: Vector) -> Vector:
        """Return ``A w``."""
        with one_blas_thread():
            return self.A @ w

    def combine(self, alpha: Vector) -> Vector:
        """Return ``A' alpha``."""
        with one_blas_thread():
            return alpha @ self.A

    def value(self, w: Vector) -> float:
        """Return ``max_i <a_i, w> + b_i``, summed over parts: a lower bound of the risk at ``w``."""
        return self.height(self.products(w) + self.b)

    def height(self, heights: Vector) -> float:
        """Return the largest of the given heights of all planes, summed over parts."""
        if self.n_parts == 1:
            return float(np.max(heights, initial=-np.inf))
        tops = np.full(self.n_parts, -np.inf)
        np.maximum.at(tops, self.part, heights)
        return float(np.sum(tops))

    def copy(self) -> Self:
        """Return an independent copy."""
        other = type(self)(self.dimension, self.n_parts)
        other._count = self._count
        other._A, other._b, other._gram = self._A.copy(), self._b.copy(), self._gram.copy()
        other._part = self._part.copy()
        return other

    def _resize(self, capacity: int) -> None:
        m = self._count
        A, b, gram = np.empty((capacity, self.dimension)), np.empty(capacity), np.empty((capacity, capacity))
        A[:m], b[:m], gram[:m, :m] = self.A, self.b, self.gram
        self._A, self._b, self._gram = A, b, gram
        self._part = np.resize(self._part, capacity)


def _check_size(slopes: Vector, offsets: ArrayLike) -> None:
    """Raise a ValueError unless planes are finite and their products are."""
    if not (np.isfinite(slopes).all() and np.isfinite(offsets).all()):
        raise ValueError("a plane must be finite: found NaN or infinity")
    if (largest := np.abs(slopes).max()) > LARGEST_SLOPE:
        raise ValueError(
            f"a plane has a slope of {largest:.3g}, whose square would overflow: scale the features, for "
            "example with sklearn.preprocessing.StandardScaler"
        )
