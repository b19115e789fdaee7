"""The dual of the multi-class structured SVM of Crammer and Singer, for any losses and both rescalings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab.structured._multiclass_dual_numba import ascend, choose_working
from ermlab.structured._multiclass_numba import most_violated, risk_and_subgradient

if TYPE_CHECKING:
    from ermlab.structured.multiclass import MultiClassTask

Vector = NDArray[np.float64]


class MultiClassDual:
    """An `ermlab.optimize.BlockDual` whose planes are pairs of a sample and a class, never formed explicitly.

    ``beta[i, k]`` is the weight of the plane of class ``k`` for sample ``i`` in ``w``.
    """

    def __init__(self, task: MultiClassTask, X: Vector, Y: NDArray[np.int64], rescaling: str, alpha: float):
        self._task, self._X, self._Y = task, X, Y
        self._alpha, self._slack = alpha, rescaling == "slack"
        self._squared_norms = _squared_norms(X)
        self._C = 1.0 / (alpha * len(X)) if 0 < alpha * len(X) < np.inf else 0.0
        if not 0 < self._C < np.inf:
            raise ValueError(f"alpha is {alpha} for {len(X)} samples: expected a finite 1 / (alpha n), not 0")
        self._beta = np.zeros((len(X), task.n_classes))
        self._working = np.zeros(self._beta.shape, dtype=np.bool_)
        self.w = np.zeros(task.dimension)
        self.n_planes = 0

    def collect(self) -> tuple[float, Vector]:
        """Return risk and subgradient at ``w``; the classes that are violated there join the working sets."""
        losses, Y, slack = self._task.losses, self._Y, self._slack
        self._scores = self._task.scores(self.w, self._X)
        self.n_planes = choose_working(self._scores, Y, losses, slack, self._beta, self._working)
        value, subgradient = risk_and_subgradient(self._X, Y, self._scores, losses, slack)
        return value, subgradient.ravel()

    def along(self, factor: float) -> tuple[float, float]:
        """Return the risk at ``factor * w`` and its derivative in the factor."""
        losses, Y, scores = self._task.losses, self._Y, self._scores
        classes, violations = most_violated(factor * scores, Y, losses, self._slack)
        samples = np.arange(len(Y))
        slopes = scores[classes, samples] - scores[Y, samples]
        if self._slack:
            slopes *= losses[Y, classes]
        return float(violations.mean()), float(slopes.mean())

    def ascend(self, order: NDArray[np.int64], precision: float) -> float:
        """Solve for the samples one by one, each over the classes in its working set."""
        W = self.w.reshape(self._task.n_classes, self._task.n_features)
        with one_blas_thread():
            samples = self._X, self._Y, self._squared_norms, self._task.losses, self._slack, self._C
            total = ascend(W, self._beta, self._working, *samples, order, precision)
        return total / len(self._X)

    def aggregate(self) -> tuple[Vector, float]:
        """Return the mean of all combinations, and recompute ``w`` without accumulated rounding errors."""
        weights = -self._beta
        weights[np.arange(len(self._Y)), self._Y] = self._beta.sum(axis=1)
        with one_blas_thread():
            self.w = np.ascontiguousarray(weights.T @ self._X).ravel()
        offsets = self._beta if self._slack else self._beta * self._task.losses[self._Y]
        return -self._alpha * self.w, self._alpha * float(offsets.sum())


def _squared_norms(X: Vector) -> Vector:
    """Return the squared norm of each row, or raise a ValueError if one overflows."""
    with np.errstate(over="ignore"):  # checked next
        norms = np.sum(X * X, axis=1)
    if not np.isfinite(norms).all():
        i = int(np.argmax(norms))
        raise ValueError(f"sample {i} has features up to {np.abs(X[i]).max()}: expected smaller ones")
    return norms
