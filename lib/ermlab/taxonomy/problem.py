"""The optimization problem of the taxonomic SVM: ``lam/2 |w|^2`` plus the mean violation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.taxonomy import _planes_numba as kernels
from ermlab.taxonomy._joint_kernel import JointKernel

Matrix = NDArray[np.float64]
#: A gap below this share of the objective is due to rounding.
ROUNDING = 1e-12
#: Rounding error of a sum of products, relative to the magnitudes of its terms.
PRECISION = 8 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Labels:
    """True classes of each sample: ``classes[starts[i]:starts[i + 1]]``."""

    starts: NDArray[np.int64]
    classes: NDArray[np.int64]

    @classmethod
    def from_indicators(cls, indicators: NDArray[np.bool_]) -> Self:
        """Return the labels of an indicator matrix of shape (n_samples, n_classes)."""
        counts = indicators.sum(axis=1)
        return cls(np.append(0, np.cumsum(counts)), np.nonzero(indicators)[1])


@dataclass(frozen=True)
class Pairs:
    """A true class and the most violating class (-1 for none) of each sample, and the mean violation."""

    true: NDArray[np.int16]
    other: NDArray[np.int16]
    risk: float


@dataclass(frozen=True)
class Point:
    """A weight vector ``w``: its coefficients, its scores ``K alpha B``, its squared norm."""

    alpha: Matrix
    scores: Matrix
    norm2: float


@dataclass(frozen=True)
class Problem:
    """``min_w lam/2 |w|^2 + (1/n) sum_i max violation of sample i`` (thesis, eq. 5.16 to 5.18)."""

    kernel: JointKernel
    labels: Labels
    loss: Matrix
    slack: bool
    lam: float

    @classmethod
    def multiclass(
        cls, K: ArrayLike, y: ArrayLike, B: ArrayLike, C: float, n_jobs: int | None = None
    ) -> Self:
        """Return the problem of samples with one class each and the 0-1 loss.

        Parameters
        ----------
        K : array-like of shape (n_samples, n_samples)
            Kernel matrix of the samples.
        y : array-like of shape (n_samples,)
            Class of each sample, a row of ``B``.
        B : array-like of shape (n_classes, n_classes)
            Covariance of the classes.
        C : float
            Inverse regularization strength.
        n_jobs : int, default=None
            Number of threads of a product with the kernel; by default one per core.
        """
        K, B = np.ascontiguousarray(K, dtype=np.float64), np.ascontiguousarray(B, dtype=np.float64)
        labels = Labels(np.arange(len(K) + 1), np.asarray(y, dtype=np.int64))
        kernel = JointKernel(K, B, n_jobs=n_jobs)
        return cls(kernel, labels, 1.0 - np.eye(len(B)), False, 1.0 / (C * len(K)))

    def zero(self) -> Point:
        """Return ``w = 0``."""
        shape = self.kernel.shape
        return Point(np.zeros(shape), np.zeros(shape), 0.0)

    def point(self, alpha: Matrix) -> Point:
        """Return the ``w`` of the coefficients ``alpha``, with one product with the kernel."""
        scores = self.kernel.scores(alpha)
        norm2 = float(np.sum(alpha * scores))
        # Where terms cancel, rounding may leave a negative number; it matters if it affects the objective.
        allowed = max(1e-9 * float(np.sum(np.abs(alpha * scores))), 2 * ROUNDING * self.loss.max() / self.lam)
        if not norm2 >= -max(allowed, self.norm2_error(self.lengths(alpha))):
            raise ValueError(
                f"|w|^2 is {norm2:.3g}: expected a positive semidefinite kernel, with entries of a magnitude "
                "at which rounding is negligible"
            )
        return Point(alpha, scores, max(norm2, 0.0))

    def lengths(self, alpha: Matrix) -> NDArray[np.float64]:
        """Return the sum over samples of ``|phi(x)| |alpha|`` for each class, to bound rounding errors."""
        return self.kernel.radii @ np.abs(alpha)

    def norm2_error(self, lengths: NDArray[np.float64]) -> float:
        """Return a bound of the rounding error of ``|w|^2`` from the lengths of its terms."""
        return PRECISION * float(lengths @ np.abs(self.kernel.B) @ lengths)

    def value_error(self, point: Point) -> float:
        """Return a bound of the rounding error of the objective at a point."""
        # Entries of K, and so the terms of a score, are at most products of the radii.
        lengths = self.lengths(point.alpha)
        score = PRECISION * float(np.mean(self.kernel.radii) * np.max(lengths @ np.abs(self.kernel.B)))
        risk = 2.0 * score * (float(self.loss.max()) if self.slack else 1.0)
        return risk + 0.5 * self.lam * self.norm2_error(lengths)

    def most_violated(self, scores: Matrix) -> Pairs:
        """Return the most violated pair of classes of each sample (thesis, eq. 5.17)."""
        n = len(scores)
        true, other = np.empty(n, dtype=np.int16), np.empty(n, dtype=np.int16)
        risk = kernels.most_violated(
            scores, self.labels.starts, self.labels.classes, self.loss, self.slack, true, other
        )
        return Pairs(true, other, float(risk))

    def value(self, point: Point) -> float:
        """Return the objective."""
        return 0.5 * self.lam * point.norm2 + self.most_violated(point.scores).risk


@dataclass(frozen=True)
class Limits:
    """Limits of a solver: a number of iterations, and a number of seconds or None."""

    max_iter: int
    max_time: float | None = None

    def allow(self, seconds: list[float]) -> bool:
        """Return whether another iteration may follow those that took ``seconds``."""
        return len(seconds) < self.max_iter and (self.max_time is None or sum(seconds) <= self.max_time)


class Bounds:
    """Lower bounds of the optimum: the best one as computed, and with rounding errors subtracted."""

    def __init__(self, problem: Problem):
        self._problem = problem
        self.computed, self._certified = 0.0, 0.0

    def add(self, bound: float, error: float) -> None:
        """Add a bound and its rounding error."""
        self.computed, self._certified = max(self.computed, bound), max(self._certified, bound - error)

    def certified(self, best: Point) -> float:
        """Return the lower bound minus the rounding error of the value of the best point."""
        return self._certified - self._problem.value_error(best)

    def relative_gap(self, best: Point, value: float, at_zero: float) -> float:
        """Return the relative gap of the best point."""
        return relative_gap(value, self.certified(best), self.computed, at_zero)


@dataclass(frozen=True)
class Solution:
    """Result of a solver: the optimum lies in ``[lower, value]``, rounding included."""

    point: Point
    value: float
    lower: float
    computed: float  #: the lower bound without rounding errors subtracted
    value_at_zero: float
    seconds: list[float]  #: of each iteration

    @property
    def relative_gap(self) -> float:
        """The relative gap, see `relative_gap`."""
        return relative_gap(self.value, self.lower, self.computed, self.value_at_zero)


def relative_gap(value: float, lower: float, computed: float, at_zero: float) -> float:
    """Return the gap relative to the value, or to its distance from the value of ``w = 0`` if that is less.

    With a small C all values are similar, and relative to the value alone ``w = 0`` would suffice. If the
    computed lower bound equals the value, ``w = 0`` may be optimal.
    """
    gap = value - lower
    if gap <= ROUNDING * value:
        return 0.0
    scale = value if value - computed <= ROUNDING * value else min(value, at_zero - value)
    return gap / scale if scale > 0 else np.inf
