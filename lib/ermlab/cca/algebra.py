"""The two-view eigenproblem of eq. 4.12, in coordinates in which many penalties can be tried cheaply.

The functions of a view are ``f = Z v`` on all its samples, with ``|f|_H = |v|``; one eigendecomposition of
the kernel matrix gives ``Z``. The denominator of a view is then ``v' (B_gamma + eps kappa I) v``, and another
eigendecomposition, of ``B_gamma``, serves every ``eps``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.lapack import dpstrf

from ermlab._utils.validation import real_array
from ermlab.cca.centered_kernels import CenteredGram

Laplacian = Callable[[NDArray[np.float64]], NDArray[np.float64]]

#: Negative eigenvalues of a kernel matrix up to this share of the largest are rounding errors.
INDEFINITE = 1e-8
#: Singular values above this share of the largest keep ten digits when squared.
SQUARE_SAFELY = 1e-3


@dataclass(frozen=True)
class PenalizedView:
    """A view with its Laplacian at one ``gamma``, in the basis of the eigenvectors of ``B_gamma``.

    Attributes
    ----------
    T : ndarray of shape (n, r)
        Values of the coordinate functions at the paired samples.
    V : ndarray of shape (r, r)
        Eigenvectors of ``B_gamma``.
    b : ndarray of shape (r,)
        Eigenvalues of ``B_gamma``.
    unit : float
        ``kappa``, the mean eigenvalue of the kernel matrix of the paired samples.
    """

    name: str
    T: NDArray[np.float64]
    V: NDArray[np.float64]
    b: NDArray[np.float64]
    unit: float
    gamma: float

    def whitening(self, eps: float) -> NDArray[np.float64]:
        """Return the diagonal of ``(B_gamma + eps kappa I)^(-1/2)``, 0 where the denominator is 0."""
        n = len(self.T)
        rounding = len(self.b) * np.finfo(np.float64).eps * self.b[-1]
        seen = self.b > rounding
        if eps == 0 and self.gamma == 0 and np.count_nonzero(seen) >= n - 1:
            raise ValueError(
                f"eps of {self.name} is 0 and its {n} paired samples are linearly independent, so that every "
                "correlation is 1: expected eps > 0"
            )
        denominator = np.where(seen, self.b, 0.0) + eps * self.unit
        return np.divide(1.0, np.sqrt(denominator), out=np.zeros_like(denominator), where=denominator > 0)


class View:
    """Coordinates of a view.

    Parameters
    ----------
    gram : CenteredGram
        Kernel matrix.
    laplacian : callable
        Function from squared distances to a Laplacian.

    Attributes
    ----------
    n : int
        Number of paired samples.
    Z : ndarray of shape (m, r)
        Values of the coordinate functions at all samples.
    to_dual : ndarray of shape (m, r)
        Map from coordinates to coefficients of the kernel expansion.
    covariance : ndarray of shape (r, r)
        ``Z_n' Z_n`` over the paired samples.
    """

    def __init__(self, gram: CenteredGram, laplacian: Laplacian):
        gram.require_variation()
        eigenvalues, U = _decompose(gram)
        kept = eigenvalues > gram.noise
        roots = np.sqrt(eigenvalues[kept])
        self.name, self.n, self.unit = gram.name, gram.n, gram.mean_eigenvalue
        self.Z, self.to_dual = U[:, kept] * roots, U[:, kept] / roots
        paired = self.Z[: self.n]
        self.covariance = paired.T @ paired
        self._gram, self._laplacian = gram, laplacian

    @cached_property
    def roughness(self) -> NDArray[np.float64]:
        """Matrix ``n / m Z' L Z`` that ``gamma`` multiplies, computed only if ``gamma`` is not 0."""
        L = real_array(self._laplacian(self._gram.squared_distances), f"the Laplacian of {self.name}")
        if L.shape != self._gram.K.shape:
            raise ValueError(
                f"the Laplacian of {self.name} has shape {L.shape}: expected {self._gram.K.shape}"
            )
        if not np.isfinite(L).all():
            raise ValueError(f"the Laplacian of {self.name} has entries that are not finite")
        return self.Z.T @ (L @ self.Z) * (self.n / len(self.Z))

    @property
    def rank(self) -> int:
        """Number of coordinates."""
        return self.Z.shape[1]

    def penalized(self, gamma: float) -> PenalizedView:
        """Return the view with ``B_gamma = Z_n' Z_n + gamma n / m Z' L Z`` diagonal."""
        with np.errstate(over="ignore", invalid="ignore"):
            B = self.covariance + gamma * self.roughness if gamma > 0 else self.covariance
        if not np.isfinite(B).all():
            raise ValueError(
                f"gamma of {self.name} is {gamma:.3g}, times its Laplacian infinite: expected less"
            )
        b, V = np.linalg.eigh(B)
        if b[0] < -INDEFINITE * b[-1]:
            raise ValueError(f"the Laplacian of {self.name} is not positive semi-definite: expected it to be")
        return PenalizedView(self.name, self.Z[: self.n] @ V, V, b, self.unit, gamma)

    def equivalent_eps(self, eps: float, gamma: float) -> float:
        """Return the ``eps`` at which the penalty without a Laplacian is closest.

        If the term of the Laplacian is ``c`` times the covariance, a factor ``(1 + gamma c)`` of the
        denominator leaves ``eps / (1 + gamma c)``; ``c`` is found by least squares.
        """
        if gamma == 0:
            return float(eps)
        c = np.vdot(self.roughness, self.covariance) / np.vdot(self.covariance, self.covariance)
        return float(eps / (1 + gamma * c))


def _decompose(gram: CenteredGram) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return eigenvalues and eigenvectors of the kernel matrix; for low rank only the non-zero ones."""
    if gram.rank < len(gram.K):
        # Pivoted Cholesky: K = F F' with as many columns as the rank, and an eigenproblem of the small F' F.
        factor, pivots, rank, _ = dpstrf(gram.K, lower=1, tol=gram.noise / len(gram.K))
        F = np.empty((len(gram.K), rank))
        F[pivots - 1] = np.tril(factor)[:, :rank]
        eigenvalues, V = np.linalg.eigh(F.T @ F)
        seen = eigenvalues > 0
        return eigenvalues[seen], F @ V[:, seen] / np.sqrt(eigenvalues[seen])
    eigenvalues, U = np.linalg.eigh(gram.K)
    if eigenvalues[0] < -INDEFINITE * eigenvalues[-1] - gram.noise:
        raise ValueError(
            f"the kernel matrix of {gram.name} has the eigenvalue {eigenvalues[0]:.2g}: "
            "expected it to be positive semi-definite"
        )
    return eigenvalues, U


def leading_pairs(
    M: NDArray[np.float64], k: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the ``k`` largest singular values of ``M``, with left and right vectors as columns."""
    if M.shape[0] < M.shape[1]:
        values, right, left = leading_pairs(M.T, k)
        return values, left, right
    r = M.shape[1]
    # An eigenproblem for few pairs takes a tenth of the time of all singular vectors.
    if 4 * k < r:
        squares, right = eigh(M.T @ M, subset_by_index=(r - k, r - 1), check_finite=False)
        # LAPACK silently returns none if all eigenvalues are nearly equal.
        if len(squares) == k and squares[0] > SQUARE_SAFELY**2 * squares[-1]:
            values, right = np.sqrt(squares[::-1]), right[:, ::-1]
            return values, M @ right / values, right
    left, values, right = np.linalg.svd(M, full_matrices=False)
    return values[:k], left[:, :k], right[:k].T
