"""The concave-convex procedure: ``min_w regularizer(w) + P(w) - R(w)`` for convex ``P`` and ``R``.

Cheap data, Algorithm 1.1: the concave part ``-R`` is replaced by its tangent and the resulting convex problem
is solved by cutting planes, repeatedly. Only ``P`` is bounded by planes, so they can be recycled.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.progress import report
from ermlab._utils.validation import deadline_of
from ermlab.optimize._box import Bounds, Box
from ermlab.optimize.bundle import agreed_dimension, finite_vector, minimize
from ermlab.optimize.evaluation import Evaluation, Risk, evaluate, evaluate_again, part_count
from ermlab.optimize.planes import Planes
from ermlab.optimize.regularizers import L1, L2

# Limit in seconds of a convex problem that begins just before the limit of the whole descent.
SHORTEST_TIME = 1e-6


@dataclass
class CCCPHistory:
    """One entry per outer iteration; ``points`` and ``objective`` begin with the first point."""

    points: list[NDArray[np.float64]] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    eps: list[float] = field(default_factory=list)
    bounds: list[int] = field(default_factory=list)
    relative_gap: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class CCCPResult:
    """Result of `cccp`; ``bounds`` is the number of calls of ``P``, each of which gives a plane."""

    w: NDArray[np.float64]
    value: float
    converged: bool
    n_iter: int
    bounds: int
    planes: Planes
    history: CCCPHistory


def cccp(
    convex: Risk,
    concave: Risk,
    regularizer: L1 | L2,
    *,
    w0: ArrayLike | None = None,
    recycle: bool = True,
    adaptive: bool = True,
    eps: float = 0.5,
    eps_min: float = 1e-3,
    rho: float = 0.5,
    eta: float = 1e-3,
    max_iter: int = 100,
    max_inner_iter: int = 1000,
    nonnegative: bool = True,
    convex_lower_bound: float | None = None,
    method: str = "level",
    planes: Planes | None = None,
    bounds: Bounds | None = None,
    max_time: float | None = None,
) -> CCCPResult:
    """Descend on ``regularizer(w) + P(w) - R(w)`` (cheap data, Algorithm 1.1).

    The objective never increases from one outer iteration to the next, whatever the precision, since each
    starts at the best point of the last.

    Parameters
    ----------
    convex, concave : callable
        ``P`` and ``R``, both convex, each ``(w) -> (value, subgradient)``, possibly with the same number of
        parts (see `ermlab.optimize.minimize`). A loss ``[p - r]_+`` of a sample has to be written as the
        difference ``max(p, r) - r``: ``P`` is the sum of ``max(p, r)`` with the subgradient of the larger. If
        calls of ``R`` can raise ``P``, for example if ``P`` is the maximum of the planes found so far, an
        attribute ``grows`` of ``P`` must be true; ``P`` is then evaluated again.
    regularizer : L1 or L2
        The regularizer.
    w0 : array-like, optional
        First point, by default 0 if ``convex`` has the attribute ``dimension``.
    recycle : bool, default=True
        Keep the planes of ``P`` from one outer iteration to the next.
    adaptive : bool, default=True
        Tighten the inner precision, ``eps <- max(rho eps, eps_min)``; if false, it is always ``eps_min``.
    eps, eps_min, rho : float
        Precision of the inner minimizations, as *relative* gaps.
    eta : float, default=1e-3
        Stop when an outer iteration at precision ``eps_min`` lowers the objective by at most this fraction.
    max_iter : int, default=100
        Maximum number of outer iterations.
    max_inner_iter : int, default=1000
        Maximum number of calls of ``P`` in each outer iteration.
    nonnegative : bool, default=True
        Whether ``P >= R`` everywhere. Then the tangent of ``R`` is a plane of ``P`` at no cost, and the inner
        problems are bounded for L1 as well.
    convex_lower_bound : float, optional
        Lower bound of ``P``, if one is known.
    method : {"level", "cutting-plane"}, default="level"
        As in `ermlab.optimize.minimize`.
    planes : Planes, optional
        Planes below ``P`` from an earlier run, to be recycled as well.
    bounds : pair of array-like, optional
        Lower and upper bounds of the weights, as in `ermlab.optimize.minimize`; ``w0`` is moved to the
        nearest point within them.
    max_time : float, optional
        Limit in seconds, checked before each call of ``P`` except the first of an outer iteration;
        ``converged`` is false if it was reached.

    Returns
    -------
    CCCPResult
        The last point with its value.
    """
    _check_schedule(eps, eps_min, rho, eta, max_iter)
    deadline = deadline_of(max_time)
    current = _evaluate_start(convex, w0, convex_lower_bound, bounds)
    current, tangent = _linearize(convex, concave, current)
    value = regularizer(current.w) + current.risk - tangent.risk
    history = CCCPHistory(points=[current.w], objective=[value])
    planes = _no_planes(convex, current) if planes is None else planes.copy()
    converged, began = False, time.perf_counter()
    n_calls = 1  # the plane at the start

    for iteration in range(1, max_iter + 1):
        eps = max(eps * rho, eps_min) if adaptive else eps_min
        if not recycle:
            planes = _no_planes(convex, current)
        if nonnegative:
            for part, (a, b) in enumerate(tangent.planes):
                planes.add(a, b, part)
        inner = minimize(
            convex,
            regularizer,
            tol=eps,
            max_iter=max_inner_iter,
            planes=planes,
            linear=-tangent.subgradient,
            constant=float(np.sum(tangent.subgradient * tangent.w)) - tangent.risk,
            risk_lower_bound=convex_lower_bound,
            method=method,
            start=current if recycle else None,
            w0=None if recycle else current.w,
            bounds=bounds,
            max_time=None if max_time is None else max(deadline - time.perf_counter(), SHORTEST_TIME),
        )
        planes = inner.planes
        current, tangent = _linearize(convex, concave, inner.best)
        last, value = value, regularizer(current.w) + current.risk - tangent.risk
        n_calls += inner.n_iter
        history.points.append(current.w)
        history.objective.append(value)
        history.eps.append(eps)
        history.bounds.append(inner.n_iter)
        history.relative_gap.append(inner.relative_gap)
        history.seconds.append(time.perf_counter() - began)
        report("outer iteration", iteration, objective=value, decrease=last - value)
        if eps == eps_min and last - value <= eta * abs(last):
            converged = inner.converged
            break
        if time.perf_counter() >= deadline:
            break
    return CCCPResult(
        w=current.w,
        value=value,
        converged=converged,
        n_iter=iteration,
        bounds=n_calls,
        planes=planes,
        history=history,
    )


def _check_schedule(eps: float, eps_min: float, rho: float, eta: float, max_iter: int) -> None:
    if not 0 < eps_min <= eps:
        raise ValueError(f"eps_min is {eps_min} and eps {eps}: expected 0 < eps_min <= eps")
    if not 0 < rho < 1:
        raise ValueError(f"rho is {rho}: expected a number between 0 and 1")
    if not eta >= 0:
        raise ValueError(f"eta is {eta}: expected a number of at least 0")
    if max_iter < 1:
        raise ValueError(f"max_iter is {max_iter}: expected at least 1")


def _linearize(convex: Risk, concave: Risk, current: Evaluation) -> tuple[Evaluation, Evaluation]:
    """Return the convex and the concave part at the current point."""
    tangent = evaluate(concave, current.w, None, "the concave part")
    if getattr(convex, "grows", False):
        current = evaluate_again(convex, current.w)
    return current, tangent


def _evaluate_start(
    convex: Risk, w0: ArrayLike | None, lower_bound: float | None, bounds: Bounds | None
) -> Evaluation:
    sizes = {
        "w0": None if w0 is None else np.size(w0),
        "convex.dimension": getattr(convex, "dimension", None),
    }
    dimension = agreed_dimension(sizes)
    w = np.zeros(dimension) if w0 is None else finite_vector("w0", w0, dimension)
    box = Box.of(bounds, dimension)
    return evaluate(convex, w if box is None else box.project(w), lower_bound)


def _no_planes(convex: Risk, current: Evaluation) -> Planes:
    return Planes(current.w.size, part_count(convex))
