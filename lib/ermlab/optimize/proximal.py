"""Proximal gradient descent with momentum: ``min_w smooth(w) + penalty(w)``."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import safe_norm

Vector = NDArray[np.float64]
# Rounding error of the objective that the line search accepts.
ROUNDING = 1e-12
MAX_HALVINGS = 100


@dataclass
class FISTAHistory:
    """One entry per iteration; ``value`` includes the penalty only if `fista` was given it."""

    value: list[float] = field(default_factory=list)
    residual: list[float] = field(default_factory=list)
    step: list[float] = field(default_factory=list)
    restarts: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class FISTAResult:
    """Result of `fista`; ``residual`` is the norm of the proximal gradient, 0 at a minimum."""

    w: Vector
    value: float
    residual: float
    converged: bool
    n_iter: int
    history: FISTAHistory


def fista(
    smooth: Callable[[Vector], tuple[float, Vector]],
    prox: Callable[[Vector, float], Vector],
    w0: ArrayLike,
    *,
    penalty: Callable[[Vector], float] | None = None,
    step: float | None = None,
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> FISTAResult:
    """Minimize ``smooth(w) + penalty(w)`` by FISTA with backtracking and adaptive restart.

    Parameters
    ----------
    smooth : callable
        Convex and differentiable, ``smooth(w) -> (value, gradient)``.
    prox : callable
        ``prox(u, step) = argmin_w penalty(w) + |w - u|^2 / (2 step)``.
    w0 : array-like
        First point.
    penalty : callable, optional
        Needed only to report values; by default they are those of ``smooth`` alone.
    step : float, optional
        First step length, by default the inverse curvature of ``smooth`` along its gradient at ``w0``. It is
        halved wherever the quadratic upper bound of ``smooth`` fails.
    tol : float, default=1e-6
        Stop when the proximal gradient ``(y - prox(y - step g, step)) / step`` is at most ``tol`` times the
        larger of the gradients ``g`` here and at ``w0``, in Euclidean norm.
    max_iter : int, default=10000
        Maximum number of iterations.

    Returns
    -------
    FISTAResult
        The last point with its value and residual.
    """
    if not (tol >= 0 and max_iter >= 1):
        raise ValueError(f"tol is {tol} and max_iter {max_iter}: expected at least 0 and at least 1")
    w = np.array(w0, dtype=np.float64)
    if w.ndim != 1 or not np.isfinite(w).all():
        raise ValueError(f"w0 has shape {w.shape}: expected a vector of finite numbers")
    y, momentum, restarts = w, 1.0, 0
    value, gradient = _evaluate(smooth, y)
    first_norm = safe_norm(gradient)
    step = _first_step(smooth, y, gradient) if step is None else float(step)
    if not (step > 0 and math.isfinite(step)):
        raise ValueError(f"step is {step}: expected a finite positive number")
    history, began = FISTAHistory(), time.perf_counter()

    for iteration in range(1, max_iter + 1):  # noqa: B007  (reported below)
        new, new_value, new_gradient, step = _backtrack(smooth, prox, y, value, gradient, step)
        residual = safe_norm(new - y) / step
        history.value.append(new_value + (0.0 if penalty is None else float(penalty(new))))
        history.residual.append(residual)
        history.step.append(step)
        history.restarts.append(restarts)
        history.seconds.append(time.perf_counter() - began)
        converged = residual <= tol * max(first_norm, safe_norm(gradient))
        if converged:
            w = new
            break
        # Restart if the momentum points uphill.
        if np.sum((y - new) * (new - w)) > 0:
            momentum, restarts = 1.0, restarts + 1
            w, y, value, gradient = new, new, new_value, new_gradient
            continue
        next_momentum = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
        y = new + (momentum - 1.0) / next_momentum * (new - w)
        w, momentum = new, next_momentum
        value, gradient = _evaluate(smooth, y)
    return FISTAResult(w, history.value[-1], residual, bool(converged), iteration, history)


def _backtrack(smooth, prox, y: Vector, value: float, gradient: Vector, step: float):
    """Halve ``step`` until the quadratic bound at ``y`` holds at the proximal point; return that point."""
    for _ in range(MAX_HALVINGS):
        new = np.asarray(prox(y - step * gradient, step), dtype=np.float64)
        if new.shape != y.shape or not np.isfinite(new).all():
            raise ValueError(f"prox returned shape {new.shape}: expected {y.shape} and finite numbers")
        move = new - y
        new_value, new_gradient = _evaluate(smooth, new)
        bound = value + np.sum(gradient * move) + np.sum(move * move) / (2.0 * step)
        if new_value <= bound + ROUNDING * abs(value):
            return new, new_value, new_gradient, step
        step *= 0.5
    raise ValueError(f"no step down to {step} satisfies the line search: smooth and its gradient disagree")


def _evaluate(smooth, w: Vector) -> tuple[float, Vector]:
    value, gradient = smooth(w)
    value, gradient = float(value), np.asarray(gradient, dtype=np.float64)
    if gradient.shape != w.shape:
        raise ValueError(f"smooth returned a gradient of shape {gradient.shape}: expected {w.shape}")
    if not (math.isfinite(value) and np.isfinite(gradient).all()):
        raise ValueError(f"smooth returned {value} and a gradient: found NaN or infinity in them")
    return value, gradient


def _first_step(smooth, w: Vector, gradient: Vector) -> float:
    """Return slightly less than the inverse curvature along the gradient; 1 if there is no curvature."""
    length = safe_norm(gradient)
    if length == 0:
        return 1.0
    probe = 1e-4 * max(1.0, safe_norm(w)) / length
    curvature = safe_norm(_evaluate(smooth, w - probe * gradient)[1] - gradient) / (probe * length)
    return (1.0 - 1e-6) / curvature if curvature > 0 else 1.0
