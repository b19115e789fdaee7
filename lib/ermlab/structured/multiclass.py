"""Classification into several classes, the simplest structured prediction problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.saving import remembers_arguments
from ermlab._utils.validation import real_array
from ermlab.structured._multiclass_dual import MultiClassDual
from ermlab.structured._multiclass_numba import most_violated, risk_and_subgradient

# Losses up to this size can be multiplied with margins and weights, and summed, without overflow.
LARGEST_LOSS = 1e150
Vector = NDArray[np.float64]


@remembers_arguments
class MultiClassTask:
    """Classes ``0 .. n_classes - 1``, with ``phi(x, y)`` the features ``x`` in the block of class ``y``.

    Parameters
    ----------
    n_classes, n_features : int
        Sizes; ``w`` is the flattened matrix with one row of weights per class.
    losses : array-like of shape (n_classes, n_classes), optional
        Loss of predicting the column for the row, by default 0 on the diagonal and 1 elsewhere.
    """

    def __init__(self, n_classes: int, n_features: int, losses: ArrayLike | None = None):
        if n_classes < 2 or n_features < 1:
            raise ValueError(f"{n_classes} classes, {n_features} features: expected at least 2 and 1")
        self.n_classes, self.n_features = n_classes, n_features
        self.losses = 1.0 - np.eye(n_classes) if losses is None else np.array(real_array(losses, "losses"))
        shape = (n_classes, n_classes)
        if self.losses.shape != shape or not (self.losses >= 0).all() or np.diag(self.losses).any():
            raise ValueError(
                f"losses of shape {self.losses.shape}: expected {shape}, non-negative, 0 on the diagonal"
            )
        if self.losses.max() > LARGEST_LOSS:
            raise ValueError(f"losses up to {self.losses.max()}: expected at most {LARGEST_LOSS:.3g}")

    @property
    def dimension(self) -> int:
        """Length of ``w``."""
        return self.n_classes * self.n_features

    def joint_feature(self, x: Vector, y: int) -> Vector:
        """Return ``x`` in the block of class ``y``, 0 elsewhere."""
        if not isinstance(y, (int, np.integer)) or not 0 <= y < self.n_classes:
            raise ValueError(f"class {y!r}: expected a whole number from 0 to {self.n_classes - 1}")
        x = real_array(x, "x")
        if x.shape != (self.n_features,):
            raise ValueError(f"features of shape {x.shape}: expected ({self.n_features},)")
        feature = np.zeros((self.n_classes, self.n_features))
        feature[y] = x
        return feature.ravel()

    def loss(self, y: int, z: int) -> float:
        """Return the loss of predicting ``z`` for ``y``."""
        return float(self.losses[y, z])

    def predict(self, w: Vector, x: Vector) -> int:
        """Return the class of the highest score."""
        return int(self.batch_predict(w, np.atleast_2d(x))[0])

    def most_violated(self, w: Vector, x: Vector, y: int, rescaling: str) -> int:
        """Return the most violated class, ``y`` itself if none is violated."""
        X, Y = self.prepare_batch(np.atleast_2d(x), [y])
        return int(most_violated(self.scores(w, X), Y, self.losses, rescaling == "slack")[0][0])

    def prepare_batch(self, X: ArrayLike, Y: ArrayLike) -> tuple[Vector, NDArray[np.int64]]:
        """Return features and classes as arrays, or raise a ValueError."""
        X, Y = self._features(X), np.asarray(Y)
        if Y.shape != (len(X),) or not np.issubdtype(Y.dtype, np.integer):
            raise ValueError(f"classes of type {Y.dtype}, shape {Y.shape}: expected {len(X)} integers")
        if Y.min() < 0 or Y.max() >= self.n_classes:
            raise ValueError(f"classes from {Y.min()} to {Y.max()}: expected 0 to {self.n_classes - 1}")
        return X, Y.astype(np.int64)

    def batch_risk(self, w: Vector, X: Vector, Y: NDArray[np.int64], rescaling: str) -> tuple[float, Vector]:
        """Return the mean hinge loss and a subgradient."""
        scores = self.scores(w, X)
        value, subgradient = risk_and_subgradient(X, Y, scores, self.losses, rescaling == "slack")
        return value, subgradient.ravel()

    def batch_predict(self, w: Vector, X: ArrayLike) -> NDArray[np.int64]:
        """Return the class of the highest score for each row of ``X``."""
        return self.scores(w, self._features(X)).argmax(axis=0)

    def block_dual(self, X: Vector, Y: NDArray[np.int64], rescaling: str, alpha: float) -> MultiClassDual:
        """Return the dual, which solves for all classes of a sample by sorting."""
        return MultiClassDual(self, X, Y, rescaling, alpha)

    def scores(self, w: Vector, X: Vector) -> Vector:
        """Return the scores, one row per class and one column per sample."""
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):  # checked next
            scores = np.ascontiguousarray(w.reshape(self.n_classes, self.n_features) @ X.T)
        if not np.isfinite(scores).all():
            raise ValueError(
                f"features up to {np.abs(X).max():.3g} have scores that overflow: scale the features, for "
                "example with sklearn.preprocessing.StandardScaler"
            )
        return scores

    def _features(self, X: ArrayLike) -> Vector:
        X = np.ascontiguousarray(real_array(X, "X"))
        if X.ndim != 2 or X.shape[1] != self.n_features or not np.isfinite(X).all():
            raise ValueError(f"features of shape {X.shape}: expected (n, {self.n_features}), finite")
        return X
