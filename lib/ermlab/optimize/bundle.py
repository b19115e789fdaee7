"""Regularized risk minimization by cutting planes: ``min_w regularizer(w) + <v, w> + risk(w)``.

Each call of the risk gives a plane below it. The planes make a model of the risk; the model with the
regularizer is minimized exactly (the *master problem*), which bounds the objective from below and proposes
where to call next.
"""

import math
import time

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import as_number, real_array
from ermlab.optimize._consistency import check_bound, check_tangents
from ermlab.optimize._master_l1 import L1Master, UnsolvableError
from ermlab.optimize._master_l2 import L2Master
from ermlab.optimize._units import Units
from ermlab.optimize.evaluation import Evaluation, Proposer, Risk, evaluate, part_count
from ermlab.optimize.planes import Planes
from ermlab.optimize.regularizers import L1, L2
from ermlab.optimize.result import History, Result

METHODS = ("level", "cutting-plane")
# The master problem is solved to this share of the gap asked for.
MASTER_PRECISION = 1e-2
# A proposal is good if it leaves at most this share of the gap.
GOOD_PROPOSAL = 0.5


def minimize(
    risk: Risk,
    regularizer: L1 | L2,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    w0: ArrayLike | None = None,
    planes: Planes | None = None,
    linear: ArrayLike | None = None,
    constant: float = 0.0,
    risk_lower_bound: float | None = 0.0,
    method: str = "level",
    level: float | None = None,
    max_idle: int | None = 50,
    start: Evaluation | None = None,
    propose: Proposer | None = None,
    max_time: float | None = None,
) -> Result:
    """Minimize ``regularizer(w) + <linear, w> + constant + risk(w)`` for a convex ``risk``.

    Parameters
    ----------
    risk
        Any callable with ``risk(w) -> (value, subgradient)``. Its attribute ``dimension``, if it has one,
        gives the length of ``w`` where nothing else does. With an attribute ``n_parts`` it is a sum of so
        many convex parts, and returns a value and a row of subgradients for each: a part then has planes of
        its own, which bound it more tightly than planes of the sum do (L2 alone). A risk whose terms cancel
        in its subgradient, too, may have a method ``rounding(w)`` for the error of the value returned last.
    regularizer
        `L2` (master problem: a QP on the simplex) or `L1` (a linear program).
    tol
        Relative gap to reach: ``value - lower_bound <= tol |value|``.
    max_iter
        Limit on the calls of ``risk``; ``converged`` is false when it was met. The search ends earlier if the
        gap has stopped falling, which rounding can cause.
    w0
        Where to call first. By default 0, or the minimizer of the model when ``planes`` are given.
    planes
        Planes below the same risk from an earlier run; they are copied, not changed.
    linear, constant
        A linear term ``<v, w>`` and a constant in the objective (cheap data, eq. 1.6).
    risk_lower_bound
        A number that no part of the risk falls below: 0 for the non-negative risks of this library. It makes
        a constant plane, without which L1 master problems are unbounded; the lower bound of the objective
        rests on it. ``None`` when nothing is known. A call that returns less raises a ValueError.
    method
        ``"level"`` calls the risk near the best point so far, where the model lies ``level`` of the way up
        from the lower bound to the best value (L2: the projection onto that level set; L1: towards the
        minimizer of the model). ``"cutting-plane"`` is the textbook method, which calls it at the minimizer
        of the model. Lower bound and gap mean the same in both.
    level
        Share of the gap, by default 0.4 for L2 and 0.7 for L1.
    max_idle
        Remove a plane that held none of the last ``max_idle`` solutions; ``None`` keeps all.
    start
        An evaluation of ``risk`` that is known already; used in place of ``w0``, without a call.
    propose
        ``propose(best, gap)`` says from the best evaluation so far and the gap where to call next, such as a
        `Surrogate`. After a proposal that does not halve the gap, ``method`` has the next call, after another
        such the next two, then four, and so on. The bounds rest on planes of ``risk`` alone.
    max_time
        Limit in seconds, checked before each call of ``risk`` but the first; by default there is none.
        ``converged`` is false when it was met.

    Raises
    ------
    ValueError
        If values and subgradients contradict each other, as those of a convex risk cannot: then no bound
        could be trusted. See `ermlab.optimize.check_risk`.
    """
    check_limits(tol, max_iter, max_time)
    _check_options(method, level, max_idle)
    planes, v, w = _resolve_start(risk, w0, planes, linear, start)
    units = units_of(regularizer, v.size)
    if units is not None:
        regularizer, risk, planes, v = L2(1.0), units.risk(risk), units.planes(planes), units.slopes(v)
        w = None if w is None else units.variables(w)
        start = None if start is None else units.evaluation(start)
        propose = units.proposer(propose)
    for name, number in (("constant", constant), ("risk_lower_bound", risk_lower_bound)):
        if number is not None and not math.isfinite(as_number(number)):
            raise ValueError(f"{name} is {number}: expected a finite number")
    if risk_lower_bound is not None:
        _add_constant_plane(planes, float(risk_lower_bound))
    search = _Search(risk, regularizer, v, constant, planes, tol)
    if start is None:
        if w is None:
            w = search.minimize_model() if planes.bounds_all_parts else np.zeros(planes.dimension)
        search.add(evaluate(risk, w, risk_lower_bound), n_iter=1)
    else:
        search.add(start, n_iter=0)
    proposals = _Proposals(propose)
    while search.goes_on(max_iter, max_time):
        w = proposals.next_point(search)
        if w is None:
            w = search.level_point(level) if method == "level" else search.minimizer
        if max_idle is not None:
            search.drop_idle(max_idle)
        search.add(evaluate(risk, w, risk_lower_bound), n_iter=1)
    return search.result() if units is None else search.result().in_units(units.inverse())


class _Search:
    """The state of one minimization: planes, master problem, best point, bounds. Values lack the constant."""

    def __init__(
        self, risk: Risk, regularizer: L1 | L2, v: NDArray, constant: float, planes: Planes, tol: float
    ):
        masters = {L1: L1Master, L2: L2Master}
        if type(regularizer) not in masters:
            raise ValueError(f"regularizer is {regularizer!r}: expected an L1 or an L2")
        self._regularizer, self._v, self._constant, self._tol = regularizer, v, float(constant), float(tol)
        self._risk, self._planes = risk, planes
        self._master = masters[type(regularizer)](regularizer, v, planes)
        self._idle = np.zeros(len(planes), dtype=np.int64)
        self.best: Evaluation | None = None
        self._value, self._lower = np.inf, -np.inf
        self._history, self._began = History(), time.perf_counter()
        self.n_iter = 0
        self._failed = False
        self.minimizer = v

    @property
    def gap(self) -> float:
        """The best value less the lower bound, and what rounding may have taken from the value."""
        return max(self._value - self._lower, 0.0) + (0.0 if self.best is None else self.best.rounding)

    @property
    def converged(self) -> bool:
        """Whether the relative gap is reached."""
        return bool(self.gap <= self._tol * abs(self._value + self._constant))

    def goes_on(self, max_iter: int, max_time: float | None) -> bool:
        """Whether another call of the risk is needed, allowed and worthwhile."""
        if self.converged or self._failed or self._history.stalled or self.n_iter >= max_iter:
            return False
        return max_time is None or time.perf_counter() - self._began <= max_time

    def minimize_model(self) -> NDArray[np.float64]:
        """Solve the master problem; return its minimizer."""
        precision = 0.0 if self.best is None else abs(self._value + self._constant)
        bound, self.minimizer = self._master.solve(MASTER_PRECISION * self._tol * precision, precision)
        self._lower = max(self._lower, bound)
        return self.minimizer

    def add(self, new: Evaluation, n_iter: int) -> None:
        """Take in an evaluation that cost ``n_iter`` calls of the risk, and solve the master problem."""
        self.n_iter += n_iter
        if self.best is not None:
            check_tangents(self._risk, self.best, new)
        with np.errstate(over="ignore", invalid="ignore"):  # checked next
            value = new.risk + self._regularizer(new.w) + float(np.sum(self._v * new.w))
        if not math.isfinite(value):
            raise ValueError(
                f"the objective is {value} for weights up to {np.abs(new.w).max():.3g}: expected weights for "
                "which it is a finite number"
            )
        if value < self._value:
            self.best, self._value = new, value
        try:
            self._add_planes(new)
            self.minimize_model()
        except UnsolvableError:
            if self.n_iter <= 1:
                raise
            self._failed = True  # the bounds found so far hold
        if self._lower > self._value:
            check_bound(self._risk, self._lower, self._value, self._scale)
        self._record()

    def _add_planes(self, new: Evaluation) -> None:
        for part, (a, b) in enumerate(new.planes):
            if self._planes.add(a, b, part):
                self._master.plane_added()
                self._idle = np.append(self._idle, 0)

    def level_point(self, level: float | None) -> NDArray[np.float64]:
        """Return the next point of the level method."""
        if not math.isfinite(self._lower):
            return self.minimizer
        level = self._master.default_level if level is None else level
        target = self._lower + level * self.gap
        return self._master.level_point(self.best.w, target, self.gap, MASTER_PRECISION * self.gap)

    def drop_idle(self, max_idle: int) -> None:
        """Count for each plane the solutions it did not hold, and remove what is idle for too long."""
        self._idle = np.where(self._master.support, 0, self._idle + 1)
        chosen = self._idle <= max_idle
        if not chosen.all():
            self._planes.keep(chosen)
            self._master.keep(chosen)
            self._idle = self._idle[chosen]

    def result(self) -> Result:
        """Return where the search stands."""
        return Result(
            w=self.best.w,
            value=self._value + self._constant,
            lower_bound=self._value - self.gap + self._constant,
            converged=self.converged,
            n_iter=self.n_iter,
            planes=self._planes,
            best=self.best,
            history=self._history,
        )

    @property
    def _scale(self) -> float:
        """The size of the terms of the objective at the best point, of which rounding is a share."""
        best = self.best
        linear = float(np.sum(np.abs(self._v * best.w)))
        return best.magnitude + self._regularizer(best.w) + linear + abs(self._value) + abs(self._lower)

    def _record(self) -> None:
        self._history.add(
            value=self._value + self._constant,
            lower_bound=self._lower + self._constant,
            gap=self.gap,
            planes=len(self._planes),
            n_iter=self.n_iter,
            seconds=time.perf_counter() - self._began,
        )


class _Proposals:
    """Ask a proposer where to call next, the less often the more often its answers were no good."""

    def __init__(self, propose: Proposer | None):
        self._propose = propose
        self._pause, self._waiting = 1, 0
        self._gap_before: float | None = None

    def next_point(self, search: _Search) -> NDArray[np.float64] | None:
        """Return a point, or None if it is not the proposer's turn or it has nothing to say."""
        if self._propose is None:
            return None
        if self._gap_before is not None and search.gap > GOOD_PROPOSAL * self._gap_before:
            self._wait()
        self._gap_before = None
        if self._waiting > 0:
            self._waiting -= 1
            return None
        w = self._propose(search.best, search.gap)
        if w is None:
            self._wait()
            self._waiting -= 1
            return None
        self._gap_before = search.gap
        return finite_vector("the proposal", w, search.best.w.size)

    def _wait(self) -> None:
        self._waiting, self._pause = self._pause, 2 * self._pause


def units_of(regularizer: L1 | L2, dimension: int) -> Units | None:
    """Return units in which all strengths are 1 if an `L2` has several; None for other regularizers."""
    if not isinstance(regularizer, L2) or np.ndim(regularizer.alpha) == 0:
        return None
    return Units(np.sqrt(regularizer.strengths(dimension)))


def check_limits(tol: float, max_iter: int, max_time: float | None = None) -> None:
    """Raise a ValueError for a tolerance or a limit that cannot be."""
    if not as_number(tol) >= 0:
        raise ValueError(f"tol is {tol}: expected a number of at least 0")
    if not as_number(max_iter) >= 1:
        raise ValueError(f"max_iter is {max_iter}: expected at least 1")
    if max_time is not None and not as_number(max_time) > 0:
        raise ValueError(f"max_time is {max_time}: expected a positive number of seconds, or None")


def _check_options(method: str, level: float | None, max_idle: int | None) -> None:
    if method not in METHODS:
        raise ValueError(f"method is {method!r}: expected one of {METHODS}")
    if level is not None and not 0 < as_number(level) < 1:
        raise ValueError(f"level is {level}: expected a number between 0 and 1")
    if max_idle is not None and not as_number(max_idle) >= 1:
        raise ValueError(f"max_idle is {max_idle}: expected at least 1, or None")


def _resolve_start(
    risk: Risk,
    w0: ArrayLike | None,
    planes: Planes | None,
    linear: ArrayLike | None,
    start: Evaluation | None,
) -> tuple[Planes, NDArray[np.float64], NDArray[np.float64] | None]:
    """Return planes to work on, the linear term, and where to begin (None: at the model's minimizer)."""
    given = {
        "w0": None if w0 is None else np.size(w0),
        "start": None if start is None else np.size(start.w),
        "planes": None if planes is None else planes.dimension,
        "linear": None if linear is None else np.size(linear),
        "risk.dimension": getattr(risk, "dimension", None),
    }
    dimension = agreed_dimension(given)
    v = np.zeros(dimension) if linear is None else finite_vector("linear", linear, dimension)
    if w0 is not None:
        w = finite_vector("w0", w0, dimension)
    else:
        w = np.zeros(dimension) if planes is None or len(planes) == 0 else None
    n_parts = part_count(risk)
    if planes is None:
        return Planes(dimension, n_parts), v, w
    if planes.n_parts != n_parts:
        raise ValueError(f"planes of {planes.n_parts} parts for a risk of {n_parts}: expected as many")
    return planes.copy(), v, w


def agreed_dimension(given: dict[str, int | None]) -> int:
    """Return the dimension on which all that have one agree."""
    given = {name: size for name, size in given.items() if size is not None}
    if not given:
        raise ValueError("the dimension is unknown: give w0, or a risk with the attribute `dimension`")
    if len(set(given.values())) > 1:
        raise ValueError(f"the dimensions differ: {given}")
    return next(iter(given.values()))


def finite_vector(name: str, vector: ArrayLike, dimension: int) -> NDArray[np.float64]:
    """Return a fresh vector of floats, or raise a ValueError that names it."""
    vector = np.array(real_array(vector, name))
    if vector.shape != (dimension,) or not np.isfinite(vector).all():
        raise ValueError(f"{name} has shape {vector.shape}: expected ({dimension},) and finite numbers")
    return vector


def _add_constant_plane(planes: Planes, height: float) -> None:
    """Add the plane ``0 w + height`` to each part unless recycled planes hold it or a higher one."""
    high = ~planes.A.any(axis=1) & (planes.b >= height)
    for part in np.setdiff1d(np.arange(planes.n_parts), planes.part[high]):
        planes.add(np.zeros(planes.dimension), height, int(part))
