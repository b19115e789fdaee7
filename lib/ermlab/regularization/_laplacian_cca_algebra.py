"""Two-view eigenproblem of eq. 4.12 in coordinates in which every penalty is cheap.

The functions of a view are ``f = Z v`` on all its samples, with ``|f|_H = |v|``; one eigendecomposition of
the kernel matrix gives ``Z``. The denominator of a view is then ``v' (B_gamma + eps kappa I) v``, and one
more eigendecomposition, of ``B_gamma``, serves every ``eps``.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from ermlab.regularization._laplacian_cca_kernel import CentredGram

Laplacian = Callable[[NDArray[np.float64]], NDArray[np.float64]]

INDEFINITE = (
    1e-8  # negative eigenvalues of a kernel matrix up to this share of the largest are rounding errors
)
SQUARE_SAFELY = 1e-3  # singular values above this share of the largest keep ten digits when squared


@dataclass(frozen=True)
class PenalisedView:
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

    def __init__(self, gram: CentredGram, laplacian: Laplacian):
        gram.require_variation()
        eigenvalues, U = np.linalg.eigh(gram.K)
        if eigenvalues[0] < -INDEFINITE * eigenvalues[-1] - gram.noise:
            raise ValueError(
                f"the kernel matrix of {gram.name} has the eigenvalue {eigenvalues[0]:.2g}: "
                "expected it to be positive semi-definite"
            )
        kept = eigenvalues > gram.noise
        roots = np.sqrt(eigenvalues[kept])
        self.name, self.n, self.unit = gram.name, gram.n, gram.mean_eigenvalue
        self.Z, self.to_dual = U[:, kept] * roots, U[:, kept] / roots
        paired = self.Z[: self.n]
        self.covariance = paired.T @ paired
        L = np.asarray(laplacian(gram.squared_distances))
        if L.shape != gram.K.shape:
            raise ValueError(f"the Laplacian of {gram.name} has shape {L.shape}: expected {gram.K.shape}")
        self.roughness = self.Z.T @ (L @ self.Z) * (self.n / len(self.Z))

    @property
    def rank(self) -> int:
        """Number of coordinates."""
        return self.Z.shape[1]

    def penalised(self, gamma: float) -> PenalisedView:
        """Return the view with ``B_gamma = Z_n' Z_n + gamma n / m Z' L Z`` diagonal."""
        b, V = np.linalg.eigh(self.covariance + gamma * self.roughness)
        if b[0] < -INDEFINITE * b[-1]:
            raise ValueError(f"the Laplacian of {self.name} is not positive semi-definite: expected it to be")
        return PenalisedView(self.name, self.Z[: self.n] @ V, V, b, self.unit, gamma)

    def equivalent_eps(self, eps: float, gamma: float) -> float:
        """Return the ``eps`` at which the penalty without a Laplacian comes closest.

        If the Laplacian's term is ``c`` times the covariance, ``(1 + gamma c)`` can be taken out of the
        denominator, which leaves ``eps / (1 + gamma c)``; ``c`` is that of least squares.
        """
        c = np.vdot(self.roughness, self.covariance) / np.vdot(self.covariance, self.covariance)
        return float(eps / (1 + gamma * c))


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
        if squares[0] > SQUARE_SAFELY**2 * squares[-1]:
            values, right = np.sqrt(squares[::-1]), right[:, ::-1]
            return values, M @ right / values, right
    left, values, right = np.linalg.svd(M, full_matrices=False)
    return values[:k], left[:, :k], right[:k].T
