"""When to reset the queue of `ermlab.inference.subwindow`: costs, best strategy (thesis, section 5.1.5).

What a detection costs depends on the detections before it, which are the same for all strategies, and on the
detection before which the queue was reset last. `measure_costs` fills the table ``C[i, j]`` of the cost of
detection j with a queue reset before detection i, and `best_strategy` finds the shortest path through the
graph of figure 5.2.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.inference.subwindow import Detector, Quality, best_boxes

UNITS = ("splits", "seconds")


class Strategy(NamedTuple):
    """Digits as `ermlab.inference.subwindow.best_boxes` takes them, and the cost of all detections."""

    reset: str
    cost: float


def measure_costs(
    quality: Quality,
    n_detections: int = 10,
    overlap: float | Callable[[float], float] = 0.5,
    unit: str = "splits",
) -> NDArray[np.float64]:
    """Return the cost ``C[i, j]`` of detection j with a queue reset before detection i, NaN for i > j.

    Parameters
    ----------
    quality, n_detections, overlap
        As for `ermlab.inference.subwindow.best_boxes`.
    unit
        ``"splits"``: sets of boxes taken from the queue, the same on every machine; or ``"seconds"``.
    """
    if unit not in UNITS:
        raise ValueError(f"unit is {unit!r}: expected one of {UNITS}")
    boxes = [detection.box for detection in best_boxes(quality, n_detections, overlap)]
    if len(boxes) < n_detections:
        raise ValueError(
            f"{n_detections} detections: expected at most {len(boxes)}, the others are suppressed"
        )
    costs = np.full((n_detections, n_detections), np.nan)
    for i in range(n_detections):
        began = time.perf_counter()
        detector = Detector(quality, overlap, found=boxes[:i])
        for j in range(i, n_detections):
            splits = detector.next().splits
            ended = time.perf_counter()
            costs[i, j] = splits if unit == "splits" else ended - began
            began = ended
    return costs


def strategy_cost(costs: ArrayLike, reset: str) -> float:
    """Return the cost of all detections with a strategy."""
    costs = _check_costs(costs)
    if len(reset) != len(costs) - 1 or set(reset) - set("01"):
        raise ValueError(f"reset is {reset!r}: expected a string of {len(costs) - 1} digits 0 or 1")
    last, total = 0, 0.0
    for j, start_anew in enumerate("1" + reset):
        last = j if start_anew == "1" else last
        total += costs[last, j]
    return float(total)


def best_strategy(costs: ArrayLike) -> Strategy:
    """Return the cheapest strategy, of several the one that keeps the queue where they first differ.

    The shortest path through the nodes (i, j), whose edges lead to (i, j + 1) or (j + 1, j + 1) and cost what
    the node they lead to costs: time O(n^2).
    """
    costs = _check_costs(costs)
    n = len(costs)
    to_go = np.zeros((n, n))  # cost of the detections after j on the best way from node (i, j)
    for j in range(n - 2, -1, -1):
        kept = costs[: j + 1, j + 1] + to_go[: j + 1, j + 1]
        to_go[: j + 1, j] = np.minimum(kept, costs[j + 1, j + 1] + to_go[j + 1, j + 1])
    last, digits = 0, []
    for j in range(1, n):
        if costs[j, j] + to_go[j, j] < costs[last, j] + to_go[last, j]:
            last = j
        digits.append("1" if last == j else "0")
    return Strategy("".join(digits), float(costs[0, 0] + to_go[0, 0]))


def _check_costs(costs: ArrayLike) -> NDArray[np.float64]:
    costs = np.asarray(costs, dtype=np.float64)
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or costs.size == 0:
        raise ValueError(f"costs of shape {costs.shape}: expected (n, n) with n at least 1")
    if not np.isfinite(costs[np.triu_indices(len(costs))]).all():
        raise ValueError("costs on or above the diagonal are not finite: expected a number for each i <= j")
    return costs
