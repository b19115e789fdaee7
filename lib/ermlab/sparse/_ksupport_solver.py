"""Linear models with the squared k-support norm: ``min_w lam/2 norm(w, k)^2 + risk(X w)``, certified.

Accelerated proximal gradient descent on a working set of features, with occasional Newton steps. Predictions
are updated together with the weights, so that a step costs one product with the features and one with their
transpose; the gradient with respect to the predictions is a feasible point of the dual problem, whose value
is a lower bound of the optimum.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.progress import report
from ermlab._utils.validation import safe_norm
from ermlab.sparse._ksupport_losses import Loss, SmoothedHinge
from ermlab.sparse._ksupport_newton import newton_direction
from ermlab.sparse.ksupport_norm import dual_norm, norm, prox

Vector = NDArray[np.float64]
# Gaps below this share of the scale of the loss are due to rounding.
ROUNDING = 1e-14
# Gap at the end of a stage, relative to that at its beginning.
STAGE = 0.1
# Relative differences of the risk that the line search attributes to rounding.
LINE_SEARCH_ROUNDING = 1e-12
STEP_CUT = 1.5
POWER_STEPS = 12
# Number of proximal steps between two Newton steps, doubled as long as these fail.
NEWTON_PAUSE, MAX_NEWTON_PAUSE = 5, 80
NEWTON_LENGTHS = (1.0, 0.5, 0.25, 0.125)
MIN_DAMPING, FIRST_DAMPING, MAX_DAMPING, DAMPING_FACTOR = 1e-6, 0.1, 1.0, 10.0
# The smoothing width of the hinge is cut after a stage that leaves more than this share of the gap.
SLOW, WIDTH_CUT, MIN_WIDTH = 0.5, 0.3, 1e-3


@dataclass(frozen=True)
class Solution:
    """Weights, their predictions without the intercept, the intercept, and a certificate."""

    w: Vector
    z: Vector
    intercept: float
    value: float
    lower_bound: float
    converged: bool
    n_iter: int

    @property
    def relative_gap(self) -> float:
        """Upper bound of the distance from the minimum, relative to ``value``."""
        # Risk and norm are non-negative, even if the dual bound is negative.
        gap = max(self.value - max(self.lower_bound, 0.0), 0.0)
        return gap / abs(self.value) if gap > 0 and self.value != 0 else gap


class Solver:
    """Solver for one matrix of features and one ``k``, which keeps step lengths between calls."""

    def __init__(self, X: NDArray[np.float64], k: int, tol: float, max_iter: int, deadline: float = math.inf):
        self.X = X
        self.k = k
        self.tol = tol
        self.max_iter = max_iter
        self._deadline = deadline  # of `time.perf_counter`
        self._squares = float(np.einsum("ij,ij->", X, X))
        self._curvature = 0.0  # estimate of the largest eigenvalue of X'X; at most the sum of squares
        self._damping = FIRST_DAMPING

    def minimize(self, loss: Loss, lam: float, start: Vector) -> Solution:
        """Minimize to a gap of at most ``tol`` times the value, in at most ``max_iter`` steps or in time."""
        if isinstance(loss, SmoothedHinge):
            return self._minimize_hinge(loss, lam, start)
        return self._minimize_smooth(loss, lam, start, 0.0, self.max_iter)

    @property
    def _late(self) -> bool:
        return time.perf_counter() >= self._deadline

    def _goal(self, value: float, scale: float) -> float:
        return max(self.tol * value, ROUNDING * scale)

    def _minimize_hinge(self, loss: SmoothedHinge, lam: float, w: Vector) -> Solution:
        """Move the centers of the smoothing until the gap of the hinge itself is small enough."""
        lower, gap, rough, iterations = -math.inf, math.inf, loss.width, 0
        start, sharp, stages = w, replace(loss, width=MIN_WIDTH), []
        while True:
            # The errors of the stages must have a finite sum for the centers to converge; as the hinge has
            # corners, its gap is of the order of the square root of the gap of the smoothed one.
            rough = max(min(STAGE * gap, 0.5 * rough), ROUNDING * loss.scale)
            found = self._minimize_smooth(loss, lam, w, rough, self.max_iter - iterations)
            w, iterations = found.w, iterations + max(found.n_iter, 1)
            alpha = loss.best(found.z)[1]
            lower = max(lower, self._dual(loss.hinge_conjugate(alpha), alpha @ self.X, lam))
            value = loss.hinge_risk(found.z) + self._penalty(w, lam)
            last, gap, goal = gap, value - lower, self._goal(value, loss.scale)
            stage = Solution(w, found.z, found.intercept, value, lower, gap <= goal, iterations)
            if stage.converged:
                return stage
            stages = [min([*stages, stage], key=_value)]
            if iterations >= self.max_iter or self._late:
                # A stage decreases the smoothed hinge: for the hinge itself an earlier stage, another
                # intercept or the starting point may be better.
                (best,) = stages
                others = ((best.w, best.z), (start, _predictions(self.X, start)))
                stages += [self._hinge_solution(sharp, lam, *weights) for weights in others]
                return replace(min(stages, key=_value), lower_bound=lower, n_iter=iterations)
            slow = gap > SLOW * last
            loss = loss.recentered(found.z, max(WIDTH_CUT * loss.width, MIN_WIDTH) if slow else loss.width)

    def _hinge_solution(self, loss: SmoothedHinge, lam: float, w: Vector, z: Vector) -> Solution:
        """Return the weights with the value of the hinge itself, and no lower bound yet."""
        intercept = loss.intercept(z) if loss.fit_intercept else 0.0
        return Solution(w, z, intercept, loss.hinge_risk(z) + self._penalty(w, lam), -math.inf, False, 0)

    def _minimize_smooth(
        self, loss: Loss, lam: float, start: Vector, rough: float, max_iter: int
    ) -> Solution:
        """Minimize over growing working sets to a gap of ``rough`` or, if that is 0, to ``tol``."""
        self._damping = max(self._damping, FIRST_DAMPING)
        w = start.copy()
        z = _predictions(self.X, w)
        working = np.zeros(w.size, dtype=bool)
        lower, iterations = -math.inf, 0
        while True:
            risk, alpha = loss.best(z)
            g = alpha @ self.X
            lower = max(lower, self._dual(loss.conjugate(alpha), g, lam))
            value = risk + self._penalty(w, lam)
            goal = rough or self._goal(value, loss.scale)
            converged = value - lower <= goal
            report("step", iterations, objective=value, gap=value - lower)
            if converged or iterations >= max_iter or (iterations and self._late):
                intercept = loss.intercept(z) if loss.fit_intercept else 0.0
                return Solution(w, z, intercept, value, lower, converged, iterations)
            working = self._widen(working, w, g)
            columns = slice(None) if working.all() else np.flatnonzero(working)
            part = max(0.5 * goal, STAGE * (value - lower))
            w[columns], z, steps = self._descend(
                self.X[:, columns], loss, lam, w[columns], z, part, max_iter - iterations
            )
            iterations += steps

    def _widen(self, working: NDArray[np.bool_], w: Vector, g: Vector) -> NDArray[np.bool_]:
        """Return the working set with the non-zero weights and those with the largest gradients.

        The dual norm depends on the ``k`` largest entries of ``g`` only: if the working set contains these,
        its gap is the total gap.
        """
        wanted = 2 * max(self.k, np.count_nonzero(w), len(self.X) // 2)
        if 2 * wanted >= w.size:
            return np.ones_like(working)
        working = working | (w != 0)
        working[np.argpartition(np.abs(g), w.size - wanted)[w.size - wanted :]] = True
        return working if 2 * np.count_nonzero(working) < w.size else np.ones_like(working)

    def _descend(
        self, X: NDArray, loss: Loss, lam: float, w: Vector, z: Vector, goal: float, max_iter: int
    ) -> tuple[Vector, Vector, int]:
        """Take steps until the gap on the features ``X`` is ``goal``; return weights, predictions, steps."""
        self._curvature = self._curvature or self._estimate(X, loss, z)
        y, zy, momentum, lower = w, z, 1.0, -math.inf
        pause = next_newton = NEWTON_PAUSE
        for step in range(1, max_iter + 1):
            risk, alpha = loss.best(zy)
            g = alpha @ X
            lower = max(lower, self._dual(loss.conjugate(alpha), g, lam))
            new, new_z, new_risk = self._proximal_step(X, loss, lam, y, zy, risk, alpha, g)
            value = new_risk + self._penalty(new, lam)
            if value - lower <= goal:
                return new, new_z, step
            if step == next_newton:
                better = self._newton_step(X, loss, lam, new, new_z, value)
                pause = NEWTON_PAUSE if better else min(2 * pause, MAX_NEWTON_PAUSE)
                next_newton += pause
                if better:
                    (w, z), momentum = better, 1.0
                    y, zy = w, z
                    continue
            if (y - new) @ (new - w) > 0:  # the momentum points uphill: restart
                momentum, y, zy = 1.0, new, new_z
            else:
                next_momentum = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
                share = (momentum - 1.0) / next_momentum
                y, zy, momentum = new + share * (new - w), new_z + share * (new_z - z), next_momentum
            w, z = new, new_z
            if self._late:
                break
        return w, z, step

    def _newton_step(
        self, X: NDArray, loss: Loss, lam: float, w: Vector, z: Vector, value: float
    ) -> tuple[Vector, Vector] | None:
        """Return better weights and their predictions by a Newton step, or None if it does not improve.

        Weights that would change their sign are set to 0. The damping is adapted to the success.
        """
        direction = newton_direction(X, loss, self.k, lam, w, z, self._damping)
        for length in NEWTON_LENGTHS if direction is not None else ():
            new = w + length * direction
            new[new * w < 0] = 0.0
            new_z = X @ new
            if loss.best(new_z)[0] + self._penalty(new, lam) < value:
                if length == NEWTON_LENGTHS[0]:
                    self._damping = max(self._damping / DAMPING_FACTOR, MIN_DAMPING)
                return new, new_z
        self._damping = min(self._damping * DAMPING_FACTOR, MAX_DAMPING)
        return None

    def _proximal_step(self, X, loss, lam, y, zy, risk, alpha, g):
        """Return the proximal point, its predictions and their risk, with backtracking."""
        rounding = LINE_SEARCH_ROUNDING * (abs(risk) + loss.scale)
        while True:
            L = loss.curvature * self._curvature
            new = prox(y - g / L, self.k, lam / L)
            z, move = X @ new, new - y
            new_risk = loss.best(z)[0]
            if (
                new_risk <= risk + alpha @ (z - zy) + 0.5 * L * (move @ move) + rounding
                or self._curvature >= self._squares
            ):
                return new, z, new_risk
            self._curvature = min(STEP_CUT * self._curvature, self._squares)

    def _estimate(self, X: NDArray, loss: Loss, z: Vector) -> float:
        """Estimate the largest eigenvalue of ``X X'``, of centered features if there is an intercept."""
        direction, size = loss.best(z)[1], 0.0
        for _ in range(POWER_STEPS):
            length = safe_norm(direction)
            if length == 0:
                break
            direction = X @ ((direction / length) @ X)
            if loss.fit_intercept:
                direction -= direction.mean()
            size = safe_norm(direction)
        return size or self._squares or 1.0

    def _penalty(self, w: Vector, lam: float) -> float:
        return 0.5 * lam * norm(w, self.k) ** 2

    def _dual(self, conjugate: float, g: Vector, lam: float) -> float:
        return -conjugate - dual_norm(g, self.k) ** 2 / (2.0 * lam)


def _value(solution: Solution) -> float:
    return solution.value


def _predictions(X: NDArray[np.float64], w: Vector) -> Vector:
    used = np.flatnonzero(w)
    return X[:, used] @ w[used]
