"""What the solvers return: a point, bounds of the optimum, and the history of the search."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ermlab.optimize._units import Units
from ermlab.optimize.evaluation import Evaluation
from ermlab.optimize.planes import Planes

# A search has stalled if this many calls have lowered the gap by less than this fraction, because of
# rounding: for example if the optimum is 0 or the features have very different scales.
STALLED_ENTRIES = 100
STALLED_SHARE = 1e-3


@dataclass
class History:
    """One entry per solution of the master problem; ``value`` is the best value so far."""

    value: list[float] = field(default_factory=list)
    lower_bound: list[float] = field(default_factory=list)
    gap: list[float] = field(default_factory=list)
    planes: list[int] = field(default_factory=list)
    n_iter: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, **entry: float) -> None:
        """Append a value to each list."""
        for name in vars(self):
            getattr(self, name).append(entry[name])

    @property
    def stalled(self) -> bool:
        """Whether the gap has stopped falling."""
        return (
            len(self.gap) > STALLED_ENTRIES
            and self.gap[-1] > (1.0 - STALLED_SHARE) * self.gap[-1 - STALLED_ENTRIES]
        )


@dataclass(frozen=True)
class Result:
    """Result of `minimize` or `minimize_blocks`; the optimum lies in ``[lower_bound, value]``.

    Attributes
    ----------
    w : ndarray
        The best point.
    value, lower_bound : float
        Objective at ``w``, and a lower bound of its minimum.
    converged : bool
        Whether the relative gap is at most the requested tolerance.
    n_iter : int
        Number of calls of the risk.
    planes : Planes
        Planes below the risk, for a warm start.
    best : Evaluation
        The risk and a subgradient at ``w``.
    history : History
        The course of the search.
    exact : bool
        Whether ``value`` is exact. If not, the risk grows from call to call (see `minimize`), and ``value``
        is the objective as far as it is known at the end, a lower bound of the true one at ``w``.
        ``lower_bound`` is a lower bound of the minimum in both cases.
    """

    w: NDArray[np.float64]
    value: float
    lower_bound: float
    converged: bool
    n_iter: int
    planes: Planes
    best: Evaluation
    history: History
    exact: bool = True

    @property
    def gap(self) -> float:
        """``value - lower_bound``."""
        return self.value - self.lower_bound

    @property
    def relative_gap(self) -> float:
        """The gap divided by the absolute value; 0 if there is no gap."""
        if self.gap == 0:
            return 0.0
        return self.gap / abs(self.value) if self.value != 0 else math.inf

    @property
    def seconds(self) -> float:
        """Duration of the search in seconds."""
        return self.history.seconds[-1]

    def in_units(self, units: Units) -> Result:
        """Return this result in other units of the weights."""
        best = units.evaluation(self.best)
        return replace(self, w=best.w, best=best, planes=units.planes(self.planes))

    def after(self, first: Result) -> Result:
        """Return this result of a search that continued ``first``, with the history of both."""
        history = History()
        for name, entries in vars(first.history).items():
            offset = {"n_iter": first.n_iter, "seconds": first.seconds}.get(name, 0)
            setattr(history, name, entries + [offset + entry for entry in getattr(self.history, name)])
        return replace(self, n_iter=first.n_iter + self.n_iter, history=history)
