"""Means over samples as sums of parts, each with its own planes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.parallel import map_in_threads

Vector = NDArray[np.float64]


class MeanInParts:
    """Mean of convex functions as a sum of parts, for `ermlab.optimize.minimize` and `cccp`.

    One plane per part is tighter than one plane of the mean, so that fewer calls are needed. The master
    problem grows with the number of parts, which should stay well below a hundred.

    Parameters
    ----------
    function : callable
        ``function(i, w)`` returns the value and a subgradient of function ``i`` at ``w``.
    n : int
        Number of functions.
    dimension : int
        Length of ``w``.
    n_parts : int
        Maximum number of parts; function ``i`` belongs to part ``i % n_parts``.
    n_jobs : int, optional
        Number of functions that are evaluated in parallel; the result does not depend on it.
    """

    def __init__(
        self,
        function: Callable[[int, Vector], tuple[float, Vector]],
        n: int,
        dimension: int,
        n_parts: int,
        n_jobs: int | None = None,
    ):
        if min(n, n_parts) < 1:
            raise ValueError(f"{n} functions in {n_parts} parts: expected at least 1 of each")
        self._function, self._n, self._n_jobs = function, n, n_jobs
        self.dimension, self.n_parts = dimension, min(n, n_parts)

    def __call__(self, w: Vector) -> tuple[Vector, Vector]:
        """Return value and subgradient of each part at ``w``."""
        found = map_in_threads(lambda i: self._function(i, w), range(self._n), self._n_jobs)
        values, slopes = np.zeros(self.n_parts), np.zeros((self.n_parts, self.dimension))
        for i, (value, slope) in enumerate(found):
            values[i % self.n_parts] += value / self._n
            slopes[i % self.n_parts] += slope / self._n
        return values, slopes
