"""The bridge loss of partial annotations, for outputs that can be listed (cheap data, section 1.3).

Each sample has ``K`` outputs with features ``Phi(x, y)``; the annotation says which of them are *compatible*
with it. The loss compares the best incompatible output, including its output loss, with the best compatible
one. It is a difference of convex functions: ``|P - R|_+ = max(P, R) - R``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import require_finite

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BridgeRisk:
    """Weighted mean of bridge losses (cheap data, eq. 1.5).

    Parameters
    ----------
    features : ndarray of shape (N, K, d)
        Joint features ``Phi(x_n, y)``.
    losses : ndarray of shape (N, K)
        Output losses ``Delta(y_n*, y)``; only those of incompatible outputs are used.
    compatible : ndarray of bool, shape (N, K)
        Which outputs agree with the annotation: in each row at least one does and one does not.
    weights : ndarray of shape (N,), optional
        Weight of each sample, by default ``1 / N``.
    """

    features: Vector
    losses: Vector
    compatible: NDArray[np.bool_]
    weights: Vector | None = None

    def __post_init__(self):
        shape = np.shape(self.compatible)
        features, losses = np.shape(self.features), np.shape(self.losses)
        if len(features) != 3 or not features[:2] == losses == shape:
            raise ValueError(
                f"features, losses and compatible have shapes {features}, {losses} and {shape}: "
                "expected (N, K, d), (N, K) and (N, K)"
            )
        if not len(self.features):
            raise ValueError("there are no samples: expected at least 1")
        if self.weights is not None and np.shape(self.weights) != shape[:1]:
            raise ValueError(f"weights have shape {np.shape(self.weights)}: expected {shape[:1]}")
        for name in ("features", "losses", "weights"):
            values = getattr(self, name)
            if values is not None:
                require_finite(values, f"{name} hold NaN or infinity: expected finite numbers")
        lone = np.all(self.compatible, axis=1) | ~np.any(self.compatible, axis=1)
        if lone.any():
            raise ValueError(
                f"sample {int(np.argmax(lone))} has only one kind of output: "
                "expected at least one compatible and one incompatible"
            )

    @cached_property
    def _weights(self) -> Vector:
        n = len(self.features)
        return np.full(n, 1 / n) if self.weights is None else np.asarray(self.weights, dtype=float)

    def sample_losses(self, W: ArrayLike) -> Vector:
        """Return the bridge loss of each sample, shape (N,), or (m, N) for m rows of weights."""
        with _overflow_checked_later():
            scores = _finite(np.einsum("nkd,...d->...nk", self.features, np.asarray(W, dtype=float)))
            penalty = np.where(self.compatible, -np.inf, scores + self.losses).max(axis=-1)
            reward = np.where(self.compatible, scores, -np.inf).max(axis=-1)
            return _finite(np.maximum(penalty - reward, 0))

    def __call__(self, w: ArrayLike) -> float:
        """Return the risk at ``w``."""
        with _overflow_checked_later():
            return float(_finite(self.sample_losses(w) @ self._weights))

    def convex_part(self, w: ArrayLike) -> tuple[float, Vector]:
        """Return the mean of ``max(P, R)`` at ``w`` and a subgradient."""
        with _overflow_checked_later():
            augmented = self.features @ np.asarray(w, dtype=float) + np.where(self.compatible, 0, self.losses)
            return self._best(_finite(augmented))

    def reward(self, w: ArrayLike) -> tuple[float, Vector]:
        """Return the mean of ``R`` at ``w``, the part that is subtracted, and a subgradient."""
        with _overflow_checked_later():
            scores = _finite(self.features @ np.asarray(w, dtype=float))
            return self._best(np.where(self.compatible, scores, -np.inf))

    def _best(self, values: Vector) -> tuple[float, Vector]:
        rows, best = np.arange(len(values)), values.argmax(axis=1)
        mean = float(_finite(values[rows, best] @ self._weights))
        return mean, _finite(self._weights @ self.features[rows, best])


def _overflow_checked_later() -> np.errstate:
    """Return a context without numpy's warnings about values that `_finite` rejects."""
    return np.errstate(over="ignore", invalid="ignore")


def _finite(values: Vector) -> Vector:
    message = "scores or losses are NaN or infinity: expected finite weights that do not overflow"
    return require_finite(values, message)
