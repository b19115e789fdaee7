"""Two-view eigenproblem of eq. 4.12 in coordinates in which every penalty is cheap.

The functions of a view are ``f = Z v`` on all its samples, with ``|f|_H = |v|``; one eigendecomposition of
the kernel matrix gives ``Z``. The denominator of a view is then ``v' (B_gamma + eps kappa I) v``, and one
more eigendecomposition, of ``B_gamma``, serves every ``eps``.
"""

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

INDEFINITE = (
    1e-8  # negative eigenvalues of a kernel matrix up to this share of the largest are rounding errors
)
SQUARE_SAFELY = 1e-3  # singular values above this share of the largest keep ten digits when squared


@dataclass(frozen=True)
class PenalizedView:
    """A view with its Laplacian at one ``gamma``, in the eigenvectors of ``B_gamma``.

    Attributes
    ----------
    T
        Values of the coordinate functions at the paired samples (n, r).
    V
        Eigenvectors of ``B_gamma`` (r, r).
    b
        Its eigenvalues.
    unit
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
    laplacian
        Makes the Laplacian of squared distances.

    Attributes
    ----------
    n
        Number of paired samples.
    Z
        Values of the coordinate functions at all samples (m, r).
    to_dual
        Takes coordinates to coefficients of the kernel expansion (m, r).
    covariance
        ``Z_n' Z_n`` over the paired samples.
    roughness
        ``n / m Z' L Z``: what ``gamma`` multiplies.
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
        """``n / m Z' L Z``; a view without a Laplacian never asks for it."""
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
                f"gamma of {self.name} is {gamma:.3g}, which times its Laplacian overflows: expected less"
            )
        b, V = np.linalg.eigh(B)
        if b[0] < -INDEFINITE * b[-1]:
            raise ValueError(f"the Laplacian of {self.name} is not positive semi-definite: expected it to be")
        return PenalizedView(self.name, self.Z[: self.n] @ V, V, b, self.unit, gamma)

    def equivalent_eps(self, eps: float, gamma: float) -> float:
        """Return the ``eps`` at which the penalty without a Laplacian comes closest.

        If the Laplacian's term is ``c`` times the covariance, ``(1 + gamma c)`` can be taken out of the
        denominator, which leaves ``eps / (1 + gamma c)``; ``c`` is that of least squares.
        """
        if gamma == 0:
            return float(eps)
        c = np.vdot(self.roughness, self.covariance) / np.vdot(self.covariance, self.covariance)
        return float(eps / (1 + gamma * c))


def _decompose(gram: CenteredGram) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return eigenvalues and eigenvectors of the kernel matrix, of low rank those that are not 0."""
    if gram.rank < len(gram.K):
        # Pivoted Cholesky, K = F F' with as many columns as the rank, and the small F' F have it all.
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
    """Return the ``k`` largest singular values of ``M``, their left and their right vectors as columns."""
    if M.shape[0] < M.shape[1]:
        values, right, left = leading_pairs(M.T, k)
        return values, left, right
    r = M.shape[1]
    # An eigenproblem for a few pairs takes a tenth of the time of all singular vectors.
    if 4 * k < r:
        squares, right = eigh(M.T @ M, subset_by_index=(r - k, r - 1), check_finite=False)
        # LAPACK finds none, and does not say so, where all eigenvalues are nearly the same.
        if len(squares) == k and squares[0] > SQUARE_SAFELY**2 * squares[-1]:
            values, right = np.sqrt(squares[::-1]), right[:, ::-1]
            return values, M @ right / values, right
    left, values, right = np.linalg.svd(M, full_matrices=False)
    return values[:k], left[:, :k], right[:k].T
