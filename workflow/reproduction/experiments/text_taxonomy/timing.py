"""How long each cutting-plane iteration of the taxonomic SVM takes (thesis, figure 5.9)."""

import time

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.taxonomy._joint_kernel import JointKernel
from ermlab.taxonomy._planes import Constraints, minimise_with_planes
from ermlab.taxonomy._problem import Labels, Problem

Matrix = NDArray[np.float64]
#: Late iterations are the last of this many parts.
_PARTS = 5


def text_problem(K: ArrayLike, y: ArrayLike, B: ArrayLike, C: float) -> Problem:
    """Return the problem of samples of one class each with the 0-1 loss, for one thread."""
    K, B = np.ascontiguousarray(K, dtype=np.float64), np.ascontiguousarray(B, dtype=np.float64)
    labels = np.asarray(y, dtype=np.int64)
    loss = 1.0 - np.eye(len(B))
    kernel = JointKernel(K, B, n_threads=1)
    return Problem(kernel, Labels(np.arange(len(K) + 1), labels), loss, False, 1.0 / (C * len(K)))


def iteration_times(
    problem: Problem, constraints: type[Constraints], iterations: int, repeats: int
) -> NDArray[np.float64]:
    """Return the seconds of each of at most so many iterations, their median over repeats.

    They are seconds of the processor for this thread, which other work on the machine changes least.
    """
    runs = [
        minimise_with_planes(
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
