"""Kernel matrices centered on the paired samples, and expansions in a centered kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import pairwise_kernels

from ermlab._utils.validation import real_array

Kernel = str | Callable[[NDArray, NDArray], NDArray]

#: Number of columns of which a centered copy stays in the cache.
COLUMNS_AT_A_TIME = 1024
#: Largest trace of a kernel matrix, relative to that of the centered one, that loses few digits.
LARGEST_MEAN = 1e3
ROUNDING = np.finfo(np.float64).eps
#: Traces of a kernel matrix between which squares of its eigenvalues neither overflow nor vanish.
SMALLEST, LARGEST = 1e-100, 1e100


@dataclass(frozen=True)
class Rows:
    """Samples of one view: the paired ones, and the unpaired ones or None.

    ``name`` is ``"X"`` or ``"Y"``, for messages.
    """

    name: str
    kernel: Kernel
    paired: NDArray
    unpaired: NDArray | None = None

    @property
    def is_linear(self) -> bool:
        """Whether the kernel is the inner product of two rows."""
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def parts(self) -> list[NDArray]:
        """Paired and unpaired rows, not stacked as they may be large."""
        return [self.paired] if self.unpaired is None else [self.paired, self.unpaired]

    @property
    def size(self) -> int:
        """Number m of samples, paired and unpaired."""
        return sum(len(part) for part in self.parts)

    def against(self, A: NDArray) -> NDArray[np.float64]:
        """Return the kernel of the rows of ``A`` with all samples, not centered."""
        if self.kernel == "precomputed":
            return np.asarray(A, dtype=np.float64)
        B = np.vstack(self.parts)
        K = self.kernel(A, B) if callable(self.kernel) else pairwise_kernels(A, B, metric=self.kernel)
        K = real_array(K, f"the kernel of {self.name}")
        if K.shape != (len(A), len(B)):
            raise ValueError(f"the kernel of {self.name} has shape {K.shape}: expected {(len(A), len(B))}")
        if not np.isfinite(K).all():
            raise ValueError(f"the kernel of {self.name} returned values that are not finite")
        return K


@dataclass(frozen=True)
class CenteredGram:
    """Inner products of the samples of one view in feature space, relative to the mean of the paired ones.

    Attributes
    ----------
    K : ndarray of shape (m, m)
        Kernel matrix, paired samples first.
    n : int
        Number of paired samples.
    noise : float
        Rounding error of the eigenvalues of ``K``.
    rank : int
        Upper bound of the rank of ``K``.
    """

    name: str
    K: NDArray[np.float64]
    n: int
    noise: float
    rank: int

    @classmethod
    def of(cls, rows: Rows) -> CenteredGram:
        """Return the centered kernel matrix of all samples."""
        n = len(rows.paired)
        with np.errstate(over="ignore", invalid="ignore"):
            if rows.is_linear:
                K, magnitude = _linear_gram(rows)
            else:
                K = rows.against(np.vstack(rows.parts))
                magnitude = np.abs(np.diag(K)).sum()
                _require_symmetry(K, rows.name)
                K = _center(K, K, n)
        _require_ordinary(K, magnitude, rows.name)
        rank = min(rows.size, rows.paired.shape[1]) if rows.is_linear else rows.size
        return cls(rows.name, K, n, rows.size * ROUNDING * magnitude, rank)

    @property
    def mean_eigenvalue(self) -> float:
        """Mean eigenvalue of the kernel matrix of the paired samples, the unit of eps."""
        return float(np.trace(self.K[: self.n, : self.n])) / self.n

    @property
    def squared_distances(self) -> NDArray[np.float64]:
        """Squared distances in feature space between all samples."""
        squares = np.diag(self.K)
        return np.maximum(squares[:, None] + squares - 2 * self.K, 0.0)

    def require_variation(self) -> None:
        """Raise ValueError if the paired samples are all the same."""
        if not self.mean_eigenvalue > self.noise:
            raise ValueError(f"{self.name} is constant over the {self.n} pairs: expected samples that differ")

    def split(
        self, train: NDArray[np.int64], test: NDArray[np.int64], name: str
    ) -> tuple[CenteredGram, NDArray[np.float64]]:
        """Return the kernel matrix of the training pairs, and the kernel of the test pairs with them.

        Both are centered on the mean of the training pairs; unpaired samples are kept.
        """
        kept = np.concatenate([train, np.arange(self.n, len(self.K))])
        K, K_test = self.K[np.ix_(kept, kept)], self.K[np.ix_(test, kept)]
        part = replace(self, name=name, K=_center(K, K, len(train)), n=len(train))
        return part, _center(K_test, K, len(train))


class Expansion:
    """Functions ``f(x) = sum_j alpha_j <phi(x) - mu, phi(x_j) - mu>`` with ``mu`` the mean of the pairs.

    Written as ``f(x) = sum_j beta_j k(x, x_j) - offset``, so that new samples need no centering. The
    coefficients ``alpha`` have shape (m, n_components).
    """

    def __init__(self, rows: Rows, alpha: NDArray[np.float64]):
        n = len(rows.paired)
        self.rows = rows
        self.beta = alpha.copy()
        self.beta[:n] -= alpha.sum(axis=0) / n

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """Weight of each column in each function, for a linear kernel (d, n_components)."""
        if not self.rows.is_linear:
            raise AttributeError(f"weights of {self.rows.name} exist for a linear kernel only")
        bounds = np.cumsum([len(part) for part in self.rows.parts])[:-1]
        betas = np.split(self.beta, bounds)
        return sum((part.T @ beta for part, beta in zip(self.rows.parts, betas, strict=True)), start=0.0)

    def __call__(self, A: NDArray) -> NDArray[np.float64]:
        """Return the values at the rows of ``A``."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._uncentered(A) - self._offset
        if not np.isfinite(values).all():
            row = int(np.argmax(~np.isfinite(values).all(axis=1)))
            raise ValueError(
                f"the projection of row {row} of {self.rows.name} is not finite: expected entries in the "
                "units of the training samples"
            )
        return values

    @cached_property
    def _offset(self) -> NDArray[np.float64]:
        return self._uncentered(self.rows.paired).mean(axis=0)

    def _uncentered(self, A: NDArray) -> NDArray[np.float64]:
        if self.rows.is_linear:
            return A @ self.weights
        return self.rows.against(A) @ self.beta


def _linear_gram(rows: Rows) -> tuple[NDArray[np.float64], float]:
    """Return the centered Gram matrix, and the magnitude that its rounding errors are relative to."""
    n = len(rows.paired)
    if all(part.dtype == np.float64 for part in rows.parts):
        K = rows.paired @ rows.paired.T
        if rows.unpaired is not None:
            cross = rows.paired @ rows.unpaired.T
            K = np.block([[K, cross], [cross.T, rows.unpaired @ rows.unpaired.T]])
        centered = _center(K, K, n)
        if np.trace(K) <= LARGEST_MEAN * np.trace(centered):
            return centered, np.trace(K)
    return _gram_of_centered_columns(rows)


def _gram_of_centered_columns(rows: Rows) -> tuple[NDArray[np.float64], float]:
    """Center before the product, block by block of columns, so that a large mean costs no digits."""
    n, m = len(rows.paired), rows.size
    K, square_of_mean = np.zeros((m, m)), 0.0
    for start in range(0, rows.paired.shape[1], COLUMNS_AT_A_TIME):
        columns = slice(start, start + COLUMNS_AT_A_TIME)
        B = np.concatenate([part[:, columns] for part in rows.parts], dtype=np.float64)
        mean = B[:n].mean(axis=0)
        B -= mean
        K += B @ B.T
        square_of_mean += mean @ mean
    return K, np.trace(K) + ROUNDING * m * square_of_mean


def _center(K_rows: NDArray[np.float64], K: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Subtract the mean of the first ``n`` samples from the kernel ``K_rows`` of samples with all samples.

    ``K`` is the kernel of all samples with each other.
    """
    to_mean = K[:n].mean(axis=0)
    return K_rows - K_rows[:, :n].mean(axis=1, keepdims=True) - to_mean + to_mean[:n].mean()


def _require_ordinary(K: NDArray[np.float64], magnitude: float, name: str) -> None:
    """Raise ValueError if products of entries overflow or vanish."""
    if not np.isfinite(K).all() or magnitude > LARGEST or 0 < magnitude < SMALLEST:
        raise ValueError(
            f"squared lengths of the samples of {name} sum to {magnitude:.3g}: expected {SMALLEST:g} to "
            f"{LARGEST:g}, scale the samples (sklearn.preprocessing.StandardScaler)"
        )


def _require_symmetry(K: NDArray[np.float64], name: str) -> None:
    gap = np.abs(K - K.T).max()
    if gap > 1e-8 * np.abs(K).max():
        raise ValueError(
            f"the kernel matrix of {name} differs from its transpose by {gap:.2g}: "
            "expected it to be symmetric"
        )
