"""How long each cutting-plane iteration of the taxonomic SVM takes (thesis, figure 5.9)."""

import time

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.taxonomy.cutting_planes import Constraints, minimize_with_planes
from ermlab.taxonomy.problem import Problem

#: Late iterations are the last of this many parts.
_PARTS = 5


def iteration_times(
    problem: Problem, constraints: type[Constraints], iterations: int, repeats: int
) -> NDArray[np.float64]:
    """Return the seconds of each of at most so many iterations, their median over repeats.

    They are seconds of the processor for this thread, which other work on the machine changes least.
    """
    runs = [
        minimize_with_planes(
            problem, 1e-9, iterations, constraints=constraints(problem), clock=time.thread_time
        ).seconds
        for _ in range(repeats)
    ]
    return np.median(runs, axis=0)


def relative_slope(seconds: ArrayLike) -> float:
    """Return the slope of a line fitted to times over iterations, as a share of their mean."""
    seconds = np.asarray(seconds, dtype=np.float64)
    if seconds.ndim != 1 or len(seconds) < 2:
        raise ValueError(f"seconds of shape {seconds.shape}: expected those of at least 2 iterations")
    return float(np.polyfit(np.arange(len(seconds)), seconds, 1)[0] / seconds.mean())


def late_ratio(slow: ArrayLike, fast: ArrayLike) -> float:
    """Return the ratio of the median times of the last fifth of the iterations."""
    late = [np.median(np.asarray(times)[-max(len(times) // _PARTS, 1) :]) for times in (slow, fast)]
    return float(late[0] / late[1])
