"""Regularized risk minimization for sums over samples: ``min_w lam/2 |w|^2 + (1/n) sum_i risk_i(w)``.

Where `ermlab.optimize.minimize` bounds the whole risk by one plane a call, planes are kept here for each
sample, as in the problem with a slack a sample (thesis, eq. 2.13 to 2.16). The dual variables of a sample
lie in a simplex of their own, and block-coordinate ascent solves for one sample after the other, exactly. A
call of the risk brings new planes; cheap passes over the known planes follow.
"""

import math
import time
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ermlab.optimize._consistency import check_bound, check_tangents
from ermlab.optimize._plane_blocks import PlaneBlocks
from ermlab.optimize.bundle import check_limits, minimize, units_of
from ermlab.optimize.evaluation import Evaluation, evaluate
from ermlab.optimize.planes import Planes
from ermlab.optimize.regularizers import L2
from ermlab.optimize.result import History, Result

# A sample is left alone while its own gap is below this share of the gap asked for.
SAMPLE_PRECISION = 0.1
# The passes over the known planes end when these have a gap of less than this share of the whole gap.
MODEL_PRECISION = 0.3
# Precision, as a share of the gap asked for, and limit of the search for the best multiple of w.
MULTIPLE_PRECISION = 0.1
MULTIPLE_CALLS = 20
# Regularizers beyond this size, or its inverse, leave no room for that search between underflow and overflow.
SMALLEST_WEIGHT = 1e-100


@runtime_checkable
class BlockRisk(Protocol):
    """The mean over samples of convex functions that are not negative."""

    @property
    def dimension(self) -> int:
        """Length of ``w``."""

    def __len__(self) -> int:
        """Return the number of samples."""

    def __call__(self, w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the mean and a subgradient at ``w``."""

    def plane(self, i: int, w: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """Return ``a, b``: ``<a, u> + b`` is below the function of sample ``i``, and equal to it at ``w``."""


class BlockDual(Protocol):
    """A point of the dual problem: for each sample its planes and a convex combination of them.

    `PlaneBlocks` does for every `BlockRisk`; a risk with more structure brings a faster one by a method
    ``block_dual(alpha)``.
    """

    @property
    def w(self) -> NDArray[np.float64]:
        """The weights that belong to the combinations."""

    @property
    def n_planes(self) -> int:
        """Number of planes that are kept."""

    def collect(self) -> tuple[float, NDArray[np.float64]]:
        """Return risk and subgradient at ``w``, and keep the planes that are violated there."""

    def along(self, factor: float) -> tuple[float, float]:
        """Return the risk at ``factor * w``, as far as the last `collect` tells, and its derivative."""

    def ascend(self, order: NDArray[np.int64], precision: float) -> float:
        """Solve for the samples one by one; return the mean of the gaps found, each before its solution.

        Samples with a gap of at most ``precision`` are left as they are.
        """

    def aggregate(self) -> tuple[NDArray[np.float64], float]:
        """Return ``a, b``, the mean of the combinations: a plane below the risk; set ``w = -a / lam``."""


def minimize_blocks(
    risk: BlockRisk,
    regularizer: L2,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    passes: int = 10,
    seed: int = 0,
    max_time: float | None = None,
) -> Result:
    """Minimize ``regularizer(w) + risk(w)`` for a risk that is a mean over samples.

    The lower bound is the dual value of a feasible point and the value comes from a full call of the risk, so
    the gap is as good a certificate as that of `ermlab.optimize.minimize`. Better than that where ``w`` has
    more entries than there are samples, far better if the regularization is weak, too: one plane for all
    samples is then too coarse. Worse where ``w`` is short. Needs memory for some planes of each sample.

    Parameters
    ----------
    risk
        A `BlockRisk`, such as `ermlab.structured.structured_svm.StructuredRisk`.
    regularizer
        An `L2`.
    tol
        Relative gap to reach: ``value - lower_bound <= tol |value|``.
    max_iter
        Limit on the calls of the risk (``plane`` for all samples is a call); ``converged`` is false when it
        was met.
    passes
        The most passes over the known planes between two calls.
    seed
        Seed of the order of the samples.
    max_time
        Limit in seconds, checked before each call of the risk but the first; by default there is none.
        ``converged`` is false when it was met.

    Raises
    ------
    ValueError
        If values and planes contradict each other, as those of a convex risk cannot: then no bound could be
        trusted.
    """
    check_limits(tol, max_iter, max_time)
    if not isinstance(regularizer, L2):
        raise ValueError(f"regularizer is {regularizer!r}: expected an L2")
    if not isinstance(risk, BlockRisk):
        raise ValueError(
            f"risk is {risk!r}: expected a mean over samples, with `dimension`, `len` and `plane`"
        )
    if not passes >= 1:
        raise ValueError(f"passes is {passes}: expected at least 1")
    units = units_of(regularizer, risk.dimension)
    if units is not None:
        risk, regularizer = units.risk(risk), L2(1.0)
    search = _Search(risk, regularizer, tol)
    rng = np.random.default_rng(seed)
    search.call()
    while search.goes_on(max_iter, max_time):
        search.ascend(rng, passes)
        search.call()
        if not search.converged and search.n_iter < max_iter:
            search.call_where_promising()
    return search.result() if units is None else search.result().in_units(units.inverse())


class _Search:
    """The state of one minimization: the dual point, the best point, bounds."""

    def __init__(self, risk: BlockRisk, regularizer: L2, tol: float):
        self._risk, self._regularizer, self._tol = risk, regularizer, float(tol)
        alpha = regularizer.alpha
        self._dual = risk.block_dual(alpha) if hasattr(risk, "block_dual") else PlaneBlocks(risk, alpha)
        self._best: Evaluation | None = None
        self._value, self._lower = np.inf, -np.inf
        self._bound()
        self._history, self._began = History(), time.perf_counter()
        self.n_iter = 0

    @property
    def _gap(self) -> float:
        return max(self._value - self._lower, 0.0)

    @property
    def converged(self) -> bool:
        """Whether the relative gap is reached."""
        return bool(self._gap <= self._tol * abs(self._value))

    def goes_on(self, max_iter: int, max_time: float | None) -> bool:
        """Whether another call of the risk is needed, allowed and worthwhile."""
        if self.converged or self._history.stalled or self.n_iter >= max_iter:
            return False
        return max_time is None or time.perf_counter() - self._began <= max_time

    def call(self) -> None:
        """Call the risk at the dual point's ``w``, for its value and for new planes."""
        w = self._dual.w.copy()
        self._take_in(evaluate(lambda _: self._dual.collect(), w, 0.0))

    def call_where_promising(self) -> None:
        """Call the risk at the best multiple of ``w`` if that may close the gap.

        The dual value is long exact when slacks of a thousandth, times the number of samples, still spoil the
        value; a slightly longer ``w`` has none. The multiple is a regularized risk problem of one variable.
        """
        w = self._dual.w
        weight = float(np.sum(w * w)) * self._regularizer.alpha
        if not SMALLEST_WEIGHT < weight < 1.0 / SMALLEST_WEIGHT:
            return

        def risk_along(factor: NDArray) -> tuple[float, NDArray]:
            value, derivative = self._dual.along(factor[0])
            return value, np.array([derivative])

        line = minimize(
            risk_along, L2(weight), w0=[1.0], tol=MULTIPLE_PRECISION * self._tol, max_iter=MULTIPLE_CALLS
        )
        if line.value - self._lower <= self._tol * abs(line.value):
            self._take_in(evaluate(self._risk, line.w[0] * w, 0.0))

    def ascend(self, rng: np.random.Generator, passes: int) -> None:
        """Pass over the known planes until they have no more to give, and bound the optimum."""
        for _ in range(passes):
            order = rng.permutation(len(self._risk))
            gap = self._dual.ascend(order, SAMPLE_PRECISION * self._tol * abs(self._value))
            if gap <= MODEL_PRECISION * self._gap:
                break
        self._bound()

    def result(self) -> Result:
        """Return where the search stands; its planes are the two that the certificate rests on."""
        best, planes = self._best, Planes(self._best.w.size)
        planes.add(*self._plane)
        for a, b in best.planes:
            planes.add(a, b)
        return Result(
            w=best.w,
            value=self._value,
            lower_bound=self._value - self._gap,
            converged=self.converged,
            n_iter=self.n_iter,
            planes=planes,
            best=best,
            history=self._history,
        )

    def _bound(self) -> None:
        """Bound the optimum from below by the least value of the regularizer and the aggregate plane."""
        a, b = self._dual.aggregate()
        scaled = a / math.sqrt(self._regularizer.alpha)  # a * a alone may underflow
        lower = b - 0.5 * float(np.sum(scaled * scaled))
        if lower > self._lower:
            self._plane, self._lower = (a, b), lower
            self._check_bound()

    def _check_bound(self) -> None:
        """Make sure that the bounds do not contradict each other."""
        if self._best is not None and self._lower > self._value:
            scale = self._best.magnitude + abs(self._value) + abs(self._plane[1])
            check_bound(self._risk, self._lower, self._value, scale)

    def _take_in(self, new: Evaluation) -> None:
        """Count a call, keep the better point, write the history."""
        self.n_iter += 1
        if self._best is not None:
            check_tangents(self._risk, self._best, new)
        value = new.risk + self._regularizer(new.w)
        if value < self._value:
            self._best, self._value = new, value
            self._check_bound()
        self._history.add(
            value=self._value,
            lower_bound=self._lower,
            gap=self._gap,
            planes=self._dual.n_planes,
            n_iter=self.n_iter,
            seconds=time.perf_counter() - self._began,
        )
