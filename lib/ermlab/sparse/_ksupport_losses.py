"""Losses of a linear model as functions of its predictions, minimized over the intercept.

The minimum over the intercept is a smooth function of the predictions whose gradient sums to 0, as required
by the dual problem; the solver for the weights needs no intercept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlogy

Vector = NDArray[np.float64]
# Limit of Newton's method for the intercept of the logistic loss, which rounding stops long before.
MAX_NEWTON_STEPS = 100


@dataclass(frozen=True)
class Loss(ABC):
    """Mean over samples of a smooth convex loss of prediction and ``y``."""

    y: Vector
    fit_intercept: bool

    @property
    @abstractmethod
    def curvature(self) -> float:
        """Upper bound of the second derivative of the loss of a sample."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """Typical loss: differences that are many orders smaller are due to rounding."""

    @abstractmethod
    def intercept(self, z: Vector) -> float:
        """Return the optimal intercept for the predictions ``z``."""

    @abstractmethod
    def risk(self, z: Vector) -> float:
        """Return the mean loss of the predictions ``z``."""

    @abstractmethod
    def slopes(self, z: Vector) -> Vector:
        """Return the gradient of `risk`."""

    @abstractmethod
    def second_slopes(self, z: Vector) -> Vector:
        """Return the second derivative of `risk` in each prediction."""

    @abstractmethod
    def conjugate(self, alpha: Vector) -> float:
        """Return the convex conjugate of `risk`, for gradients of it."""

    def best(self, z: Vector) -> tuple[float, Vector]:
        """Return the risk of ``z`` with the optimal intercept added, and its gradient."""
        z = self.complete(z)
        return self.risk(z), self.slopes(z)

    def curvatures(self, z: Vector) -> Vector:
        """Return the second derivatives with the optimal intercept added."""
        return self.second_slopes(self.complete(z))

    def complete(self, z: Vector) -> Vector:
        """Return ``z`` with the optimal intercept added if ``fit_intercept``."""
        return z + self.intercept(z) if self.fit_intercept else z


class SquaredLoss(Loss):
    """``1/2 (z - y)^2``."""

    @property
    def curvature(self) -> float:
        return 1.0

    @property
    def scale(self) -> float:
        return 0.5 * float(np.mean(self.y**2))

    def intercept(self, z: Vector) -> float:
        return float(np.mean(self.y - z))

    def risk(self, z: Vector) -> float:
        return 0.5 * float(np.mean((z - self.y) ** 2))

    def slopes(self, z: Vector) -> Vector:
        return (z - self.y) / len(z)

    def second_slopes(self, z: Vector) -> Vector:
        return np.full(len(z), 1.0 / len(z))

    def conjugate(self, alpha: Vector) -> float:
        """Return ``n/2 |alpha|^2 + <alpha, y>``."""
        return float(0.5 * len(alpha) * np.sum(alpha**2) + np.sum(alpha * self.y))


class LogisticLoss(Loss):
    """``log(1 + exp(-y z))`` for ``y`` of -1 and 1."""

    @property
    def curvature(self) -> float:
        return 0.25

    @property
    def scale(self) -> float:
        return 1.0

    def intercept(self, z: Vector) -> float:
        """Return the intercept at which the mean probability is the share of positive labels."""
        positive = np.mean(self.y > 0)
        odds = np.log(positive / (1.0 - positive))
        low, high = odds - z.max(), odds - z.min()
        b = odds - float(np.mean(z))
        for _ in range(MAX_NEWTON_STEPS):
            p = expit(z + b)
            excess, slope = float(np.mean(p) - positive), float(np.mean(p * (1.0 - p)))
            low, high = (low, b) if excess > 0 else (b, high)
            new = b - excess / slope if slope > 0 else low
            if not low < new < high:
                new = 0.5 * (low + high)
            if abs(new - b) <= 1e-15 * max(1.0, abs(b)):
                break
            b = new
        return float(b)

    def risk(self, z: Vector) -> float:
        return float(np.mean(np.logaddexp(0.0, -self.y * z)))

    def slopes(self, z: Vector) -> Vector:
        """Return minus the label times the probability of the other one, divided by their number."""
        return -self.y * expit(-self.y * z) / len(z)

    def second_slopes(self, z: Vector) -> Vector:
        """Return the variances of the labels, divided by their number."""
        return expit(z) * expit(-z) / len(z)

    def conjugate(self, alpha: Vector) -> float:
        """Return minus the mean entropy of the probabilities ``-n y alpha``."""
        p = np.clip(-self.y * alpha * len(alpha), 0.0, 1.0)
        return float(np.mean(xlogy(p, p) + xlogy(1.0 - p, 1.0 - p)))


@dataclass(frozen=True)
class SmoothedHinge(Loss):
    """Smoothed hinge ``max_{0 <= s <= 1} s (1 - y z) - width/2 (s - center)^2``.

    It equals the hinge where ``s``, the dual variable of a sample, is its ``center``. The minimizer of the
    risk is therefore that of the hinge if the centers are its dual variables, for any width; the method of
    multipliers finds such centers.
    """

    width: float
    center: Vector

    @property
    def curvature(self) -> float:
        return 1.0 / self.width

    @property
    def scale(self) -> float:
        return 1.0

    def intercept(self, z: Vector) -> float:
        """Return the exact root of the derivative, which is linear between the corners of the losses."""
        # The derivative in b is the sum of clip((b - corner) / width, 0, 1) minus the number of positive y.
        positive = self.y > 0
        corners = np.where(
            positive, 1.0 - z - self.width * (1.0 - self.center), -1.0 - z - self.width * self.center
        )
        places = np.concatenate([corners, corners + self.width])
        turns = np.repeat([1.0, -1.0], len(z))
        order = np.argsort(places, kind="stable")
        places, slopes = places[order], np.cumsum(turns[order])[:-1]
        # Slopes are non-negative: rounding must not make the heights fall.
        heights = np.maximum.accumulate(
            np.concatenate([[0.0], np.cumsum(slopes * np.diff(places) / self.width)])
        )
        # The derivative may be constant at the root: return the middle of the interval.
        wanted, rounding = np.count_nonzero(positive), 1e-12 * len(z)
        return 0.5 * float(
            np.interp(wanted - rounding, heights, places) + np.interp(wanted + rounding, heights, places)
        )

    def risk(self, z: Vector) -> float:
        s = self._dual_variables(z)
        return float(np.mean(s * (1.0 - self.y * z) - 0.5 * self.width * (s - self.center) ** 2))

    def slopes(self, z: Vector) -> Vector:
        """Return the gradient, which is feasible for the dual of the hinge."""
        return -self.y * self._dual_variables(z) / len(z)

    def second_slopes(self, z: Vector) -> Vector:
        """Return the inverse width, divided by the number of samples, between the corners and 0 elsewhere."""
        s = self._dual_variables(z)
        return np.where((s > 0) & (s < 1), 1.0 / self.width, 0.0) / len(z)

    def conjugate(self, alpha: Vector) -> float:
        s = -self.y * alpha * len(alpha)
        return self.hinge_conjugate(alpha) + 0.5 * self.width * float(np.mean((s - self.center) ** 2))

    def hinge_risk(self, z: Vector) -> float:
        """Return the mean hinge with the intercept of the smoothed one."""
        return float(np.mean(np.maximum(1.0 - self.y * self.complete(z), 0.0)))

    def hinge_conjugate(self, alpha: Vector) -> float:
        """Return the conjugate of the hinge at a feasible point of its dual."""
        return float(np.sum(self.y * alpha))

    def recentered(self, z: Vector, width: float) -> SmoothedHinge:
        """Return the hinge smoothed around the dual variables of ``z``."""
        return replace(self, width=width, center=self._dual_variables(self.complete(z)))

    def _dual_variables(self, z: Vector) -> Vector:
        return np.clip(self.center + (1.0 - self.y * z) / self.width, 0.0, 1.0)
