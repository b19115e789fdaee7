"""What both solvers of the taxonomic SVM work on: ``lam/2 |w|^2`` and the mean of the violations."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.taxonomy import _planes_numba as kernels
from ermlab.taxonomy._joint_kernel import JointKernel

Matrix = NDArray[np.float64]
#: A gap of this share of the objective is rounding.
ROUNDING = 1e-12
#: Error of a sum of products, as a share of the sizes of its terms.
PRECISION = 8 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Labels:
    """The true classes of each sample: ``classes[starts[i]:starts[i + 1]]``."""

    starts: NDArray[np.int64]
    classes: NDArray[np.int64]

    @classmethod
    def from_indicators(cls, indicators: NDArray[np.bool_]) -> Self:
        """Take a row a sample and a column a class."""
        counts = indicators.sum(axis=1)
        return cls(np.append(0, np.cumsum(counts)), np.nonzero(indicators)[1])


@dataclass(frozen=True)
class Pairs:
    """For each sample a true class and the one that violates most, -1 for none; and the mean violation."""

    true: NDArray[np.int16]
    other: NDArray[np.int16]
    risk: float


@dataclass(frozen=True)
class Point:
    """A ``w``: its coefficients, its scores ``K alpha B``, its squared length."""

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
        cls, K: ArrayLike, y: ArrayLike, B: ArrayLike, C: float, n_threads: int | None = None
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
        n_threads : int, default=None
            Number of threads of a product with the kernel; by default one per core.
        """
        K, B = np.ascontiguousarray(K, dtype=np.float64), np.ascontiguousarray(B, dtype=np.float64)
        labels = Labels(np.arange(len(K) + 1), np.asarray(y, dtype=np.int64))
        kernel = JointKernel(K, B, n_threads=n_threads)
        return cls(kernel, labels, 1.0 - np.eye(len(B)), False, 1.0 / (C * len(K)))

    def zero(self) -> Point:
        """Return ``w = 0``."""
        shape = self.kernel.shape
        return Point(np.zeros(shape), np.zeros(shape), 0.0)

    def point(self, alpha: Matrix) -> Point:
        """Return the ``w`` of some coefficients: one product with the kernel."""
        scores = self.kernel.scores(alpha)
        norm2 = float(np.sum(alpha * scores))
        # Where the terms cancel, rounding may leave less than 0; it matters if the objective can tell.
        allowed = max(1e-9 * float(np.sum(np.abs(alpha * scores))), 2 * ROUNDING * self.loss.max() / self.lam)
        if not norm2 >= -max(allowed, self.norm2_error(self.lengths(alpha))):
            raise ValueError(
                f"|w|^2 is {norm2:.3g} for some w: expected a positive semidefinite kernel, of a scale at "
                "which rounding does not matter"
            )
        return Point(alpha, scores, max(norm2, 0.0))

    def lengths(self, alpha: Matrix) -> NDArray[np.float64]:
        """Return the sum over samples of ``|phi(x)| |alpha|`` for each class.

        However much of a ``w`` cancels, its scores are as exact as rounding of these leaves them.
        """
        return self.kernel.radii @ np.abs(alpha)

    def norm2_error(self, lengths: NDArray[np.float64]) -> float:
        """Return how much rounding may have changed ``|w|^2`` by, from the lengths of its terms."""
        return PRECISION * float(lengths @ np.abs(self.kernel.B) @ lengths)

    def value_error(self, point: Point) -> float:
        """Return how much rounding may have changed the objective at a point by."""
        # |K| is at most the product of the radii: so large are the terms of a score.
        lengths = self.lengths(point.alpha)
        score = PRECISION * float(np.mean(self.kernel.radii) * np.max(lengths @ np.abs(self.kernel.B)))
        risk = 2.0 * score * (float(self.loss.max()) if self.slack else 1.0)
        return risk + 0.5 * self.lam * self.norm2_error(lengths)

    def most_violated(self, scores: Matrix) -> Pairs:
        """Return for each sample the pair of classes that violates most (thesis, eq. 5.17)."""
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
    """Limits of a solver: a number of iterations, and of seconds unless that is None."""

    max_iter: int
    max_time: float | None = None

    def allow(self, seconds: list[float]) -> bool:
        """Return whether one more iteration may follow those that took so many seconds each."""
        return len(seconds) < self.max_iter and (self.max_time is None or sum(seconds) <= self.max_time)


class Bounds:
    """Lower bounds of the optimum: the best as computed, and the best whatever rounding did to it."""

    def __init__(self, problem: Problem):
        self._problem = problem
        self.computed, self._certified = 0.0, 0.0

    def add(self, bound: float, error: float) -> None:
        """Take in a bound and what rounding may have added to it."""
        self.computed, self._certified = max(self.computed, bound), max(self._certified, bound - error)

    def certified(self, best: Point) -> float:
        """Return the lower bound, less what rounding may have taken from the value of the best point."""
        return self._certified - self._problem.value_error(best)

    def relative_gap(self, best: Point, value: float, at_zero: float) -> float:
        """Return the relative gap of the best point."""
        return relative_gap(value, self.certified(best), self.computed, at_zero)


@dataclass(frozen=True)
class Solution:
    """Where a solver stopped: the optimum lies in ``[lower, value]``, rounding included."""

    point: Point
    value: float
    lower: float
    computed: float  #: the lower bound as if there were no rounding
    value_at_zero: float
    seconds: list[float]  #: of each iteration

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the value, or of its distance from that of ``w = 0`` if that is less."""
        return relative_gap(self.value, self.lower, self.computed, self.value_at_zero)


def relative_gap(value: float, lower: float, computed: float, at_zero: float) -> float:
    """Return the gap as a share of the value, or of its distance from the value of ``w = 0`` if that is less.

    A small C makes all values alike: by the first share alone ``w = 0`` would do, which knows nothing. But
    where the lower bound as computed is the value, nothing better than ``w = 0`` may be there to be found.
    """
    gap = value - lower
    if gap <= ROUNDING * value:
        return 0.0
    scale = value if value - computed <= ROUNDING * value else min(value, at_zero - value)
    return gap / scale if scale > 0 else np.inf
