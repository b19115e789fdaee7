"""Rounding errors of the value and of the planes of a ranking risk."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ermlab.ranking._features import ROUNDING
from ermlab.ranking.oracle import Oracle


class RankingErrors:
    """Bounds of the errors, from the sizes of the terms of all sums so far."""

    def __init__(self, oracle: Oracle):
        self._edges = oracle.edges
        # Slack rescaling subtracts sums of losses; margin rescaling counts pairs, which is exact.
        self._sum_of_losses = oracle.sum_of_losses if oracle.rescaling == "slack" else 0.0
        self._weight, self._sums = 0.0, 0.0

    def add(self, alpha: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
        """Update the bounds with the coefficients and the scores of the samples in a call."""
        # Planes of early calls bound the optimum as well, so errors never shrink.
        self._weight = max(self._weight, float(np.sum(np.abs(alpha))) / self._edges)
        sizes = float(np.sum(np.abs(scores))) + scores.size
        self._sums = max(self._sums, ROUNDING * self._sum_of_losses * (sizes / self._edges))

    def at(self, score_error: float) -> float:
        """Return the error of the risk for scores with a given error."""
        # Once for the value and once for the planes, whose slopes are sums over the same terms.
        return 2.0 * self._weight * score_error + self._sums
