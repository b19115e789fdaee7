"""Coordinates of the functions of a kernel on the samples, and their change to those of a Laplacian penalty.

On all m samples a function is ``h = Z v`` with ``|h|_H = |v|``. In coordinates ``u`` with
``|u|^2 = v' P v``, ``P = I + weight Z' L Z``, the penalty ``|h|_H^2 + weight h' L h`` is that of an ordinary
kernel machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.sparse import csr_array

Matrix = NDArray[np.float64]

ROUNDING = float(np.finfo(np.float64).eps)
#: Residuals of a factorization up to this share of the largest entry of the matrix are rounding errors.
INDEFINITE = 1e-8
#: Entries of ``weight Z' L Z`` above which a Cholesky factorization of ``P`` would lose the identity.
LARGEST_PENALTY = 1e8


@dataclass(frozen=True)
class LinearCoordinates:
    """The coordinates of a linear kernel are the features, relative to ``origin``; ``v`` are the weights."""

    Z: Matrix
    origin: Matrix

    @classmethod
    def of(cls, X: Matrix, origin: Matrix) -> Self:
        """Return the coordinates of the rows of ``X``."""
        return cls(X - origin, origin)


@dataclass(frozen=True)
class KernelCoordinates:
    """Coordinates from a pivoted Cholesky factorization of the kernel matrix, relative to ``origin``.

    Attributes
    ----------
    Z : ndarray of shape (m, r)
        Values of the coordinate functions at all samples.
    origin : ndarray of shape (r,)
        Coordinates that were subtracted.
    pivots : ndarray of shape (r,)
        Samples whose kernel functions span the space.
    """

    Z: Matrix
    origin: Matrix
    pivots: NDArray[np.int64]

    @classmethod
    def of(cls, K: Matrix, labeled: NDArray[np.bool_], *, centered: bool) -> Self:
        """Factorize a kernel matrix; raise a ValueError if it is not positive semi-definite."""
        m, largest = len(K), float(np.abs(K).max())
        if np.abs(K - K.T).max() > INDEFINITE * largest:
            raise ValueError("the kernel matrix is not symmetric: expected it to be")
        if largest == 0:
            return cls(np.zeros((m, 1)), np.zeros(1), np.zeros(1, dtype=np.int64))
        factor, order, rank, _ = dpstrf(K, lower=1, tol=m * ROUNDING * largest)
        Z = np.empty((m, rank))
        Z[order - 1] = np.tril(factor)[:, :rank]
        probe = np.random.default_rng(0).choice([-1.0, 1.0], m)
        residual = np.abs(K @ probe - Z @ (Z.T @ probe)).max()
        if rank == 0 or residual > INDEFINITE * m * largest:
            raise ValueError("the kernel matrix has negative eigenvalues: expected none")
        origin = Z[labeled].mean(axis=0) if centered else np.zeros(rank)
        return cls(Z - origin, origin, (order[:rank] - 1).astype(np.int64))

    def dual(self, V: Matrix) -> Matrix:
        """Return coefficients of the kernel functions of all samples for each column of coordinates ``V``."""
        triangle = self.Z[self.pivots] + self.origin
        coefficients = np.zeros((len(self.Z), V.shape[1]))
        if triangle.any():
            coefficients[self.pivots] = solve_triangular(triangle, V, lower=True, trans="T")
        return coefficients


class Deformation:
    """The change between coordinates ``v`` and ``u``, ``|u|^2 = v' P v``.

    Parameters
    ----------
    M : ndarray of shape (r, r)
        ``Z' L Z``, positive semi-definite.
    weight : float
        Weight of the penalty, ``P = I + weight M``.
    """

    def __init__(self, M: Matrix, weight: float):
        with np.errstate(over="ignore", invalid="ignore"):  # checked next
            penalty = weight * M
        largest = float(np.abs(penalty).max(initial=0.0))
        if not np.isfinite(largest):
            raise ValueError(
                f"laplacian_alpha is so large that the penalty, {weight:.3g} times a matrix with entries up "
                f"to {np.abs(M).max():.3g}, is infinite: expected less"
            )
        self._root: Matrix | None = None
        if largest <= LARGEST_PENALTY:
            try:
                self._factor = cholesky(np.eye(len(M)) + penalty, lower=True)
                return
            except LinAlgError as error:
                raise ValueError("the Laplacian has negative eigenvalues: expected none") from error
        b, self._V = eigh(M)
        noise = len(M) * ROUNDING * b[-1]
        if b[0] < -max(noise, INDEFINITE * b[-1]):
            raise ValueError("the Laplacian has negative eigenvalues: expected none")
        self._root = np.sqrt(1 + weight * np.where(b > noise, b, 0.0))

    def features(self, Z: Matrix) -> Matrix:
        """Return the features of samples in which the penalty is ``|u|^2``: ``Z v = features(Z) u``."""
        if self._root is None:
            return solve_triangular(self._factor, Z.T, lower=True).T
        return Z @ self._V / self._root

    def coordinates(self, U: Matrix) -> Matrix:
        """Return ``v`` for each column ``u``."""
        if self._root is None:
            return solve_triangular(self._factor, U, lower=True, trans="T")
        return self._V @ (U.T / self._root).T

    def inverse(self, V: Matrix) -> Matrix:
        """Return ``u`` for each column ``v``."""
        if self._root is None:
            return self._factor.T @ V
        return ((self._V.T @ V).T * self._root).T

    def inverse_features(self, A: Matrix) -> Matrix:
        """Return the rows ``Z`` whose `features` are ``A``."""
        if self._root is None:
            return A @ self._factor.T
        return (A * self._root) @ self._V.T


def roughness(Z: Matrix, L: csr_array) -> Matrix:
    """Return ``Z' L Z``, symmetric to the last digit."""
    M = Z.T @ (L @ Z)
    return (M + M.T) / 2


def solve_ridge(A: Matrix, Y: Matrix, alpha: float) -> Matrix:
    """Return the minimizers ``u`` of ``|A u - y|^2 + alpha |u|^2``, one column for each of ``Y``."""
    n, r = A.shape
    G = A @ A.T if n <= r else A.T @ A
    if alpha > len(G) * ROUNDING * np.trace(G):
        G[np.diag_indices_from(G)] += alpha
        factor = np.linalg.cholesky(G)
        solution = _solve_cholesky(factor, Y if n <= r else A.T @ Y)
        return A.T @ solution if n <= r else solution
    # The system is singular to the last digit: its singular values are needed.
    left, s, right = np.linalg.svd(A, full_matrices=False)
    s = np.where(s > len(G) * ROUNDING * s.max(initial=0.0), s, 0.0)
    shrunk = np.divide(s, s * s + alpha, out=np.zeros_like(s), where=s > 0)
    return right.T @ (shrunk[:, None] * (left.T @ Y))


def _solve_cholesky(factor: Matrix, Y: Matrix) -> Matrix:
    return solve_triangular(factor, solve_triangular(factor, Y, lower=True), lower=True, trans="T")
