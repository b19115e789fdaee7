"""The bridge loss of partial annotations, for outputs that can be listed (cheap data, section 1.3).

Each sample has ``K`` outputs with features ``Phi(x, y)``; the annotation says which of them are
*compatible* with it. The loss compares the best incompatible output, its output loss added, with the
best compatible one. It is a difference of convex functions:
``|P - R|_+ = max(P, R) - R``, with no constraint left over.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, eq=False)
class BridgeRisk:
    """Weighted mean of bridge losses (cheap data, eq. 1.5).

    Parameters
    ----------
    features
        Joint features ``Phi(x_n, y)``, shape (N, K, d).
    losses
        Output losses ``Delta(y_n*, y)``, shape (N, K); only those of incompatible outputs are used.
    compatible
        Which outputs agree with the annotation, shape (N, K): in each row at least one does and one does not.
    weights
        Weight of each sample, shape (N,); by default ``1 / N``.
    """

    features: NDArray[np.float64]
    losses: NDArray[np.float64]
    compatible: NDArray[np.bool_]
    weights: NDArray[np.float64] | None = None

    def __post_init__(self):
        shape = np.shape(self.compatible)
        if (
            np.ndim(self.features) != 3
            or np.shape(self.features)[:2] != shape
            or np.shape(self.losses) != shape
        ):
            raise ValueError(
                f"features, losses and compatible have shapes {np.shape(self.features)}, "
                f"{np.shape(self.losses)} and {shape}: expected (N, K, d), (N, K) and (N, K)"
            )
        if not len(self.features):
            raise ValueError("there are no samples: expected at least 1")
        if self.weights is not None and np.shape(self.weights) != shape[:1]:
            raise ValueError(f"weights have shape {np.shape(self.weights)}: expected {shape[:1]}")
        for name in ("features", "losses", "weights"):
            values = getattr(self, name)
            if values is not None and not np.isfinite(values).all():
                raise ValueError(f"{name} hold NaN or infinity: expected finite numbers")
        lone = np.all(self.compatible, axis=1) | ~np.any(self.compatible, axis=1)
        if lone.any():
            raise ValueError(
                f"sample {int(np.argmax(lone))} has only one kind of output: "
                "expected at least one compatible and one incompatible"
            )

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        n = len(self.features)
        return np.full(n, 1 / n) if self.weights is None else np.asarray(self.weights, dtype=float)

    def sample_losses(self, W: ArrayLike) -> NDArray[np.float64]:
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

    def convex_part(self, w: ArrayLike) -> tuple[float, NDArray[np.float64]]:
        """Return the mean of ``max(P, R)`` at ``w`` and a subgradient."""
        with _overflow_checked_later():
            augmented = self.features @ np.asarray(w, dtype=float) + np.where(self.compatible, 0, self.losses)
            return self._best(_finite(augmented))

    def reward(self, w: ArrayLike) -> tuple[float, NDArray[np.float64]]:
        """Return the mean of ``R`` at ``w``, the part that is subtracted, and a subgradient."""
        with _overflow_checked_later():
            scores = _finite(self.features @ np.asarray(w, dtype=float))
            return self._best(np.where(self.compatible, scores, -np.inf))

    def _best(self, values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        rows, best = np.arange(len(values)), values.argmax(axis=1)
        mean = float(_finite(values[rows, best] @ self._weights))
        return mean, _finite(self._weights @ self.features[rows, best])


def _overflow_checked_later() -> np.errstate:
    """Return a context without numpy's warnings about what `_finite` refuses."""
    return np.errstate(over="ignore", invalid="ignore")


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values, or raise a ValueError if they are not finite."""
    if not np.isfinite(values).all():
        raise ValueError("scores or losses are NaN or infinity: expected finite weights that do not overflow")
    return values
