"""The state that all searches share: best point, bounds, history, and when to stop."""

from __future__ import annotations

import time

import numpy as np

from ermlab._utils.progress import report
from ermlab._utils.validation import as_number
from ermlab.optimize._consistency import check_bound, check_tangents
from ermlab.optimize.evaluation import Evaluation, Risk, evaluate_again
from ermlab.optimize.planes import Planes
from ermlab.optimize.regularizers import L1, L2
from ermlab.optimize.result import History, Result


def check_limits(tol: float, max_iter: int, max_time: float | None = None) -> None:
    """Raise a ValueError for an impossible tolerance or limit."""
    if not as_number(tol) >= 0:
        raise ValueError(f"tol is {tol}: expected a number of at least 0")
    if not as_number(max_iter) >= 1:
        raise ValueError(f"max_iter is {max_iter}: expected at least 1")
    if max_time is not None and not as_number(max_time) > 0:
        raise ValueError(f"max_time is {max_time}: expected a positive number of seconds, or None")


class Search:
    """Best point and bounds of one minimization; values lack the constant of the objective."""

    def __init__(self, risk: Risk, regularizer: L1 | L2, tol: float, constant: float = 0.0):
        self._risk, self._regularizer = risk, regularizer
        self._tol, self._constant = float(tol), float(constant)
        self._grows = bool(getattr(risk, "grows", False))
        self.best: Evaluation | None = None
        self._value, self._lower = np.inf, -np.inf
        self._history, self._began = History(), time.perf_counter()
        self.n_iter, self._failed = 0, False

    @property
    def gap(self) -> float:
        """The best value minus the lower bound, plus the rounding error of the value."""
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

    def _objective(self, new: Evaluation) -> float:
        """Return the objective of an evaluation, without the constant."""
        return new.risk + self._regularizer(new.w)

    def _offer(self, new: Evaluation, value: float) -> None:
        """Check a new evaluation against the best one, and keep it if it is better."""
        if self.best is not None and self._grows:
            # The call for the new point may have raised the risk at the best one.
            self.best = evaluate_again(self._risk, self.best.w)
            self._value = self._objective(self.best)
        elif self.best is not None:
            check_tangents(self._risk, self.best, new)
        if value < self._value:
            self.best, self._value = new, value

    def _check_bound(self, scale: float) -> None:
        """Make sure that the bounds do not contradict each other; ``scale`` is the size of their terms.

        Values of a risk that grows may be too small, if it has forgotten what it has found before. The lower
        bound then also bounds the value.
        """
        if self._grows:
            self._value = max(self._value, self._lower)
        else:
            check_bound(self._risk, self._lower, self._value, scale)

    def _record(self, n_planes: int) -> None:
        self._history.add(
            value=self._value + self._constant,
            lower_bound=self._lower + self._constant,
            gap=self.gap,
            planes=n_planes,
            n_iter=self.n_iter,
            seconds=time.perf_counter() - self._began,
        )
        report("iteration", self.n_iter, objective=self._value + self._constant, gap=self.gap)

    def _result(self, planes: Planes) -> Result:
        return Result(
            w=self.best.w,
            value=self._value + self._constant,
            lower_bound=self._value - self.gap + self._constant,
            converged=self.converged,
            n_iter=self.n_iter,
            planes=planes,
            best=self.best,
            history=self._history,
            exact=not self._grows,
        )
