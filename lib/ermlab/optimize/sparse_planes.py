"""Cutting planes that are mostly zeros: the filled entries alone are kept, and worked with."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.optimize import _sparse_planes_numba as kernels

Vector = NDArray[np.float64]


class SparseRows:
    """A matrix that grows by rows, for products with vectors from either side."""

    # numpy leaves `vector @ rows` to `__rmatmul__`.
    __array_ufunc__ = None

    def __init__(self, dimension: int):
        self.shape = (0, dimension)
        self._starts = np.zeros(1, dtype=np.int64)
        self._columns, self._values = np.empty(0, dtype=np.int32), np.empty(0)

    def append(self, row: Vector) -> None:
        """Add a row."""
        columns = np.flatnonzero(row).astype(np.int32)
        self._columns = np.concatenate([self._columns, columns])
        self._values = np.concatenate([self._values, row[columns]])
        self._starts = np.append(self._starts, self._columns.size)
        self.shape = (self.shape[0] + 1, self.shape[1])

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Drop the rows that are not ``chosen``."""
        lengths = np.diff(self._starts)
        entries = np.repeat(chosen, lengths)
        self._columns, self._values = self._columns[entries], self._values[entries]
        self._starts = np.append(0, np.cumsum(lengths[chosen]))
        self.shape = (int(np.sum(chosen)), self.shape[1])

    def __matmul__(self, w: Vector) -> Vector:
        out = np.empty(self.shape[0])
        kernels.products(self._starts, self._columns, self._values, w, out)
        return out

    def __rmatmul__(self, alpha: Vector) -> Vector:
        out = np.zeros(self.shape[1])
        self.add_to(out, alpha)
        return out

    def add_to(self, w: Vector, alpha: Vector) -> None:
        """Add ``alpha @ self`` to ``w``."""
        kernels.combine(self._starts, self._columns, self._values, alpha, w)


class SparsePlanes:
    """A growing set of planes ``<a, w> + b``, as `ermlab.optimize.planes.Planes`.

    Attributes
    ----------
    A, b
        Subgradients as `SparseRows`, and offsets.
    gram
        ``A A'``.
    """

    def __init__(self, dimension: int):
        if dimension < 1:
            raise ValueError(f"dimension is {dimension}: expected at least 1")
        self.dimension = dimension
        self.A, self.b, self.gram = SparseRows(dimension), np.empty(0), np.empty((0, 0))

    def __len__(self) -> int:
        return len(self.b)

    def add(self, a: ArrayLike, b: float) -> bool:
        """Add the plane ``<a, w> + b``; return false if the very same is there already."""
        a = np.asarray(a, dtype=np.float64)
        if a.shape != (self.dimension,):
            raise ValueError(f"plane of shape {a.shape}: expected ({self.dimension},)")
        if not (np.isfinite(a).all() and np.isfinite(b)):
            raise ValueError("a plane must be finite: found NaN or infinity")
        if any(np.array_equal(self._row(i), a) for i in np.flatnonzero(self.b == b)):
            return False
        self.A.append(a)
        products = self.A @ a
        gram = np.empty((len(products), len(products)))
        gram[:-1, :-1], gram[-1], gram[:, -1] = self.gram, products, products
        self.b, self.gram = np.append(self.b, b), gram
        return True

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Drop the planes that are not ``chosen``."""
        self.A.keep(chosen)
        self.b, self.gram = self.b[chosen], self.gram[np.ix_(chosen, chosen)]

    def products(self, w: Vector) -> Vector:
        """Return ``A w``."""
        return self.A @ w

    def combine(self, alpha: Vector) -> Vector:
        """Return ``A' alpha``."""
        return alpha @ self.A

    def add_to(self, w: Vector, alpha: Vector) -> None:
        """Add ``A' alpha`` to ``w``."""
        self.A.add_to(w, alpha)

    def _row(self, i: int) -> Vector:
        return np.eye(1, len(self), i)[0] @ self.A
