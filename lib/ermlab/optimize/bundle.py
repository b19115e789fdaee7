"""Regularized risk minimization by cutting planes: ``min_w regularizer(w) + <v, w> + risk(w)``.

Each call of the risk gives a plane below it. The planes form a model of the risk. The model plus the
regularizer is minimized exactly (the *master problem*), which bounds the objective from below and proposes
the next point.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import as_number, check_choice, real_array
from ermlab.optimize._box import Bounds, Box
from ermlab.optimize._master_box import BoxMaster
from ermlab.optimize._master_l1 import L1Master, UnsolvableError
from ermlab.optimize._master_l2 import L2Master
from ermlab.optimize._search import Search, check_limits
from ermlab.optimize._units import Units
from ermlab.optimize.evaluation import Evaluation, Proposer, Risk, evaluate, part_count
from ermlab.optimize.planes import Planes
from ermlab.optimize.regularizers import L1, L2
from ermlab.optimize.result import Result

Vector = NDArray[np.float64]
METHODS = ("level", "cutting-plane")
# The master problem is solved to this fraction of the required gap.
MASTER_PRECISION = 1e-2
# A proposal is good if it leaves at most this fraction of the gap.
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
    bounds: Bounds | None = None,
) -> Result:
    """Minimize ``regularizer(w) + <linear, w> + constant + risk(w)`` for a convex ``risk``.

    Parameters
    ----------
    risk : callable
        ``risk(w)`` returns ``(value, subgradient)``. An attribute ``dimension`` gives the length of ``w`` if
        no other argument does. With an attribute ``n_parts`` the risk is a sum of that many convex parts and
        returns one value and one row of subgradients per part: each part then has its own planes, which are
        tighter than planes of the sum (L2 only). A method ``rounding(w)`` may return the error of the last
        value; it is needed if terms of the risk cancel in the subgradient. If calls can raise the risk at
        earlier points, for example if it is the maximum of the planes that an approximate search has found so
        far, an attribute ``grows`` must be true. A method ``known(w)`` may then return value and subgradient
        without a new search. The result is not ``exact``.
    regularizer : L1 or L2
        With `L2` the master problem is a QP on the simplex, with `L1` a linear program.
    tol : float, default=1e-3
        Relative gap to reach: ``value - lower_bound <= tol |value|``.
    max_iter : int, default=1000
        Maximum number of calls of ``risk``. The search ends earlier if rounding keeps the gap from falling.
        In both cases ``converged`` is false.
    w0 : array-like, optional
        First point. By default 0, or the minimizer of the model if ``planes`` are given.
    planes : Planes, optional
        Planes below the same risk from an earlier run; they are copied.
    linear : array-like, optional
        Slope ``v`` of a linear term in the objective (cheap data, eq. 1.6).
    constant : float, default=0.0
        Constant term of the objective.
    risk_lower_bound : float or None, default=0.0
        Lower bound of every part of the risk; 0 holds for all risks of this library. It gives a constant
        plane, without which L1 master problems are unbounded, and the lower bound of the objective relies on
        it. A call that returns less raises a ValueError. None if no bound is known.
    method : {"level", "cutting-plane"}, default="level"
        ``"level"`` calls the risk near the best point, where the model is at a level between the lower bound
        and the best value (L2: the projection onto that level set; L1: towards the minimizer of the model).
        ``"cutting-plane"`` calls it at the minimizer of the model.
    level : float, optional
        Level as a fraction of the gap, by default 0.4 for L2 and 0.7 for L1.
    max_idle : int or None, default=50
        Remove planes that supported none of the last ``max_idle`` solutions; None keeps all.
    start : Evaluation, optional
        A known evaluation of ``risk``, used in place of ``w0`` without a call.
    propose : callable, optional
        ``propose(best, gap)`` returns the next point given the best evaluation and the gap, as `Surrogate`
        does. After a proposal that does not halve the gap, ``method`` chooses the next point, after another
        one the next two, then four, and so on. The bounds use planes of ``risk`` only.
    max_time : float, optional
        Limit in seconds, checked before each call of ``risk`` except the first; ``converged`` is false if it
        was reached.
    bounds : pair of array-like, optional
        Lower and upper bounds of the weights, ``lower <= w <= upper``: each a number, one number per weight,
        or None; infinite entries are no bounds. The risk is called, and the minimum bounded, inside the
        bounds only; ``w0``, proposals and the point of ``start`` are moved to the nearest point there.

    Returns
    -------
    Result
        Best point, its value, and a lower bound of the minimum.

    Raises
    ------
    ValueError
        If values and subgradients contradict each other, which no convex risk does; see `check_risk`.
    """
    check_limits(tol, max_iter, max_time)
    _check_options(method, level, max_idle)
    planes, v, w = _resolve_start(risk, w0, planes, linear, start)
    box = Box.of(bounds, v.size)
    units = units_of(regularizer, v.size) if box is None else None
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
    if box is not None and start is not None and not box.contains(start.w):
        _keep_planes(planes, start)
        w, start = start.w, None
    search = _Search(risk, regularizer, tol, constant, v, planes, box)
    if start is None:
        if w is None:
            w = search.minimize_model() if planes.bounds_all_parts else np.zeros(planes.dimension)
        w = w if box is None else box.project(w)
        search.add(evaluate(risk, w, risk_lower_bound), n_iter=1)
    else:
        search.add(start, n_iter=0)
    proposals = _Proposals(propose)
    while search.goes_on(max_iter, max_time):
        w = proposals.next_point(search)
        if w is not None and box is not None:
            w = box.project(w)
        if w is None:
            w = search.level_point(level) if method == "level" else search.minimizer
        if max_idle is not None:
            search.drop_idle(max_idle)
        search.add(evaluate(risk, w, risk_lower_bound), n_iter=1)
    return search.result() if units is None else search.result().in_units(units.inverse())


class _Search(Search):
    """A search whose bounds come from the master problem."""

    def __init__(
        self,
        risk: Risk,
        regularizer: L1 | L2,
        tol: float,
        constant: float,
        v: NDArray,
        planes: Planes,
        box: Box | None,
    ):
        super().__init__(risk, regularizer, tol, constant)
        masters = {L1: L1Master, L2: L2Master if box is None else BoxMaster}
        if type(regularizer) not in masters:
            raise ValueError(f"regularizer is {regularizer!r}: expected an L1 or an L2")
        self._v, self._planes = v, planes
        limits = () if box is None else (box,)
        self._master = masters[type(regularizer)](regularizer, v, planes, *limits)
        self._idle = np.zeros(len(planes), dtype=np.int64)
        self.minimizer = v

    def minimize_model(self) -> Vector:
        """Solve the master problem; return its minimizer."""
        precision = 0.0 if self.best is None else abs(self._value + self._constant)
        bound, self.minimizer = self._master.solve(MASTER_PRECISION * self._tol * precision, precision)
        self._lower = max(self._lower, bound)
        return self.minimizer

    def add(self, new: Evaluation, n_iter: int) -> None:
        """Take in an evaluation that cost ``n_iter`` calls of the risk, and solve the master problem."""
        self.n_iter += n_iter
        with np.errstate(over="ignore", invalid="ignore"):  # checked next
            value = self._objective(new)
        if not math.isfinite(value):
            raise ValueError(
                f"the objective is {value} for weights up to {np.abs(new.w).max():.3g}: expected weights "
                "with a finite objective"
            )
        self._offer(new, value)
        try:
            self._add_planes(new)
            self.minimize_model()
        except UnsolvableError:
            if self.n_iter <= 1:
                raise
            self._failed = True  # the bounds found so far hold
        if self._lower > self._value:
            linear = float(np.sum(np.abs(self._v * self.best.w)))
            scale = self.best.magnitude + self._regularizer(self.best.w) + linear
            self._check_bound(scale + abs(self._value) + abs(self._lower))
        self._record(len(self._planes))

    def _objective(self, new: Evaluation) -> float:
        return super()._objective(new) + float(np.sum(self._v * new.w))

    def level_point(self, level: float | None) -> Vector:
        """Return the next point of the level method."""
        if not math.isfinite(self._lower):
            return self.minimizer
        level = self._master.default_level if level is None else level
        target = self._lower + level * self.gap
        return self._master.level_point(self.best.w, target, self.gap, MASTER_PRECISION * self.gap)

    def drop_idle(self, max_idle: int) -> None:
        """Remove planes that supported none of the last ``max_idle`` solutions."""
        self._idle = np.where(self._master.support, 0, self._idle + 1)
        chosen = self._idle <= max_idle
        if not chosen.all():
            self._planes.keep(chosen)
            self._master.keep(chosen)
            self._idle = self._idle[chosen]

    def result(self) -> Result:
        """Return the best point so far with its bounds."""
        return self._result(self._planes)

    def _add_planes(self, new: Evaluation) -> None:
        for part, (a, b) in enumerate(new.planes):
            if self._planes.add(a, b, part):
                self._master.plane_added()
                self._idle = np.append(self._idle, 0)


class _Proposals:
    """Ask a proposer for the next point, less often the more often its proposals were bad."""

    def __init__(self, propose: Proposer | None):
        self._propose = propose
        self._pause, self._waiting = 1, 0
        self._gap_before: float | None = None

    def next_point(self, search: _Search) -> Vector | None:
        """Return a point, or None if it is not the proposer's turn or it has no proposal."""
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
    """Return units in which all strengths are 1 if an `L2` has one per weight; else None."""
    if not isinstance(regularizer, L2) or np.ndim(regularizer.alpha) == 0:
        return None
    return Units(np.sqrt(regularizer.strengths(dimension)))


def _check_options(method: str, level: float | None, max_idle: int | None) -> None:
    check_choice("method", method, METHODS)
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
) -> tuple[Planes, Vector, Vector | None]:
    """Return planes, linear term and first point (None for the minimizer of the model)."""
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
        raise ValueError(f"planes of {planes.n_parts} parts for a risk of {n_parts}: expected equal numbers")
    return planes.copy(), v, w


def agreed_dimension(given: dict[str, int | None]) -> int:
    """Return the common dimension of all arguments that have one."""
    given = {name: size for name, size in given.items() if size is not None}
    if not given:
        raise ValueError("the dimension is unknown: give w0, or a risk with the attribute `dimension`")
    if len(set(given.values())) > 1:
        raise ValueError(f"the dimensions differ: {given}")
    return next(iter(given.values()))


def finite_vector(name: str, vector: ArrayLike, dimension: int) -> Vector:
    """Return a copy as a vector of floats, or raise a ValueError."""
    vector = np.array(real_array(vector, name))
    if vector.shape != (dimension,) or not np.isfinite(vector).all():
        raise ValueError(f"{name} has shape {vector.shape}: expected ({dimension},) and finite numbers")
    return vector


def _keep_planes(planes: Planes, start: Evaluation) -> None:
    """Add the planes of an evaluation outside the bounds, which is no point to start at."""
    for part, (a, b) in enumerate(start.planes):
        planes.add(a, b, part)


def _add_constant_plane(planes: Planes, height: float) -> None:
    """Add a constant plane to each part unless there is one that is at least as high."""
    high = ~planes.A.any(axis=1) & (planes.b >= height)
    for part in np.setdiff1d(np.arange(planes.n_parts), planes.part[high]):
        planes.add(np.zeros(planes.dimension), height, int(part))
