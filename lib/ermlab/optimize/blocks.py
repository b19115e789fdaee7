"""Regularized risk minimization for means over samples: ``min_w alpha/2 |w|^2 + (1/n) sum_i risk_i(w)``.

While `ermlab.optimize.minimize` bounds the whole risk by one plane per call, planes are kept here for each
sample, as in the problem with one slack per sample (thesis, eq. 2.13 to 2.16). The dual variables of a sample
lie in their own simplex, and block-coordinate ascent solves for one sample after the other, exactly. Each
call of the risk adds planes; cheap passes over the known planes follow.
"""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ermlab.optimize._box import Bounds, Box
from ermlab.optimize._search import Search, check_limits
from ermlab.optimize.bundle import minimize, units_of
from ermlab.optimize.evaluation import ROUNDING, Evaluation, evaluate
from ermlab.optimize.plane_blocks import BoxPlaneBlocks, PlaneBlocks
from ermlab.optimize.planes import Planes
from ermlab.optimize.regularizers import L2
from ermlab.optimize.result import Result

Vector = NDArray[np.float64]
# A sample is skipped while its own gap is below this fraction of the required gap.
SAMPLE_PRECISION = 0.1
# The passes over the known planes end when the gap of the model is below this fraction of the whole gap.
MODEL_PRECISION = 0.3
# Precision, as a fraction of the required gap, and limit of the search for the best multiple of w.
MULTIPLE_PRECISION = 0.1
MULTIPLE_ITER = 20
# Regularizers beyond this size, or its inverse, leave no room for that search between underflow and overflow.
SMALLEST_WEIGHT = 1e-100


@runtime_checkable
class BlockRisk(Protocol):
    """The mean over samples of convex, non-negative functions."""

    @property
    def dimension(self) -> int:
        """Length of ``w``."""

    def __len__(self) -> int:
        """Return the number of samples."""

    def __call__(self, w: Vector) -> tuple[float, Vector]:
        """Return the mean and a subgradient at ``w``."""

    def plane(self, i: int, w: Vector) -> tuple[Vector, float]:
        """Return ``a, b``: ``<a, u> + b`` is below the function of sample ``i``, and equal to it at ``w``."""


class BlockDual(Protocol):
    """A point of the dual problem: for each sample, planes and a convex combination of them.

    `PlaneBlocks` works for every `BlockRisk`; a risk with more structure can provide a faster dual with a
    method ``block_dual(alpha)``.
    """

    @property
    def w(self) -> Vector:
        """The weights that belong to the combinations."""

    @property
    def n_planes(self) -> int:
        """Number of planes that are kept."""

    def collect(self) -> tuple[float, Vector]:
        """Return risk and subgradient at ``w``, and keep the planes that are violated there."""

    def along(self, factor: float) -> tuple[float, float]:
        """Return the risk at ``factor * w``, or a lower bound from the last `collect`, and its derivative."""

    def ascend(self, order: NDArray[np.int64], precision: float) -> float:
        """Solve for the samples one by one; return the mean of their gaps, each before its solution.

        Samples with a gap of at most ``precision`` are skipped.
        """

    def aggregate(self) -> tuple[Vector, float]:
        """Return ``a, b``, the mean of the combinations: a plane below the risk; set ``w = -a / alpha``."""


def minimize_blocks(
    risk: BlockRisk,
    regularizer: L2,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    passes: int = 10,
    seed: int = 0,
    max_time: float | None = None,
    bounds: Bounds | None = None,
) -> Result:
    """Minimize ``regularizer(w) + risk(w)`` for a risk that is a mean over samples.

    The lower bound is the dual value of a feasible point and the value comes from a full call of the risk, so
    the gap certifies the result as that of `ermlab.optimize.minimize` does. Faster than `minimize` if ``w``
    has more entries than there are samples, in particular with weak regularization; slower if ``w`` is short.
    Memory is needed for several planes per sample.

    Parameters
    ----------
    risk : BlockRisk
        For example a `ermlab.structured.StructuredRisk`. A method ``planes_at(w)`` may return the planes of
        all samples; ``grows`` and ``known`` are as in `ermlab.optimize.minimize`.
    regularizer : L2
        The regularizer.
    tol : float, default=1e-3
        Relative gap to reach: ``value - lower_bound <= tol |value|``.
    max_iter : int, default=1000
        Maximum number of calls of the risk, where ``plane`` for all samples is one call; ``converged`` is
        false if it was reached.
    passes : int, default=10
        Maximum number of passes over the known planes between two calls.
    seed : int, default=0
        Seed of the order of the samples.
    max_time : float, optional
        Limit in seconds, checked before each call of the risk except the first; ``converged`` is false if it
        was reached.
    bounds : pair of array-like, optional
        Lower and upper bounds of the weights, as in `ermlab.optimize.minimize`. The method ``block_dual`` of
        a risk is not used with them.

    Returns
    -------
    Result
        Best point, its value, and a lower bound of the minimum.

    Raises
    ------
    ValueError
        If values and planes contradict each other, which those of a convex risk do not.
    """
    check_limits(tol, max_iter, max_time)
    if not isinstance(regularizer, L2):
        raise ValueError(f"regularizer is {regularizer!r}: expected an L2")
    if not isinstance(risk, BlockRisk):
        raise ValueError(f"risk is {risk!r}: expected a mean with `dimension`, `len` and `plane`")
    if not passes >= 1:
        raise ValueError(f"passes is {passes}: expected at least 1")
    box = Box.of(bounds, risk.dimension)
    units = units_of(regularizer, risk.dimension) if box is None else None
    if units is not None:
        risk, regularizer = units.risk(risk), L2(1.0)
    search = _Search(risk, regularizer, tol, box)
    rng = np.random.default_rng(seed)
    search.call()
    while search.goes_on(max_iter, max_time):
        search.ascend(rng, passes)
        search.call()
        if not search.converged and search.n_iter < max_iter:
            search.call_where_promising()
    return search.result() if units is None else search.result().in_units(units.inverse())


class _Search(Search):
    """A search whose bounds come from a `BlockDual`."""

    def __init__(self, risk: BlockRisk, regularizer: L2, tol: float, box: Box | None):
        super().__init__(risk, regularizer, tol)
        self._box, alpha = box, regularizer.alpha
        if box is not None:
            self._dual = BoxPlaneBlocks(risk, regularizer.strengths(risk.dimension), box)
        else:
            self._dual = risk.block_dual(alpha) if hasattr(risk, "block_dual") else PlaneBlocks(risk, alpha)
        self._bound()

    def call(self) -> None:
        """Call the risk at the ``w`` of the dual point, for its value and for new planes."""
        w = self._dual.w.copy()
        self._add(evaluate(lambda _: self._dual.collect(), w, 0.0))

    def call_where_promising(self) -> None:
        """Call the risk at the best multiple of ``w`` if that may close the gap.

        The dual value is often exact long before the value is: small slacks of many samples remain, which a
        slightly longer ``w`` avoids. Finding the multiple is a regularized risk problem in one variable.
        """
        w = self._dual.w
        weight = 2.0 * self._regularizer(w)
        if not SMALLEST_WEIGHT < weight < 1.0 / SMALLEST_WEIGHT:
            return

        def risk_along(factor: NDArray) -> tuple[float, NDArray]:
            value, derivative = self._dual.along(factor[0])
            return value, np.array([derivative])

        line = minimize(
            risk_along,
            L2(weight),
            w0=[1.0],
            tol=MULTIPLE_PRECISION * self._tol,
            max_iter=MULTIPLE_ITER,
            bounds=None if self._box is None else self._box.multiples(w),
        )
        if line.value - self._lower <= self._tol * abs(line.value):
            w = line.w[0] * w
            self._add(evaluate(self._risk, w if self._box is None else self._box.project(w), 0.0))

    def ascend(self, rng: np.random.Generator, passes: int) -> None:
        """Pass over the known planes until the model is nearly solved, and bound the optimum."""
        for _ in range(passes):
            order = rng.permutation(len(self._risk))
            gap = self._dual.ascend(order, SAMPLE_PRECISION * self._tol * abs(self._value))
            if gap <= MODEL_PRECISION * self.gap:
                break
        self._bound()

    def result(self) -> Result:
        """Return the best point so far; its planes are the two on which the certificate relies."""
        planes = Planes(self.best.w.size)
        for a, b in (self._plane, *self.best.planes):
            planes.add(a, b)
        return self._result(planes)

    def _bound(self) -> None:
        """Bound the optimum from below by the minimum of the regularizer plus the aggregate plane."""
        a, b = self._dual.aggregate()
        if self._box is None:
            scaled = a / math.sqrt(self._regularizer.alpha)  # a * a alone may underflow
            lower = b - 0.5 * float(np.sum(scaled * scaled))
        else:
            terms = self._box.least_terms(self._regularizer.strengths(a.size), a)
            lower = b + float(np.sum(terms)) - ROUNDING * (abs(b) + float(np.sum(np.abs(terms))))
        if lower > self._lower:
            self._plane, self._lower = (a, b), lower
            self._compare_bounds()

    def _compare_bounds(self) -> None:
        """Make sure that the bounds do not contradict each other."""
        if self.best is not None and self._lower > self._value:
            self._check_bound(self.best.magnitude + abs(self._value) + abs(self._plane[1]))

    def _add(self, new: Evaluation) -> None:
        """Count a call, keep the better point, and record the state."""
        self.n_iter += 1
        self._offer(new, self._objective(new))
        self._compare_bounds()
        self._record(self._dual.n_planes)
