"""When to reset the queue of `ermlab.detection`: costs, best strategy (thesis, section 5.1.5).

What a detection costs depends on the detections before it, which are the same for all strategies, and on the
detection before which the queue was reset last. `measure_costs` fills the table ``C[i, j]`` of the cost of
detection j with a queue reset before detection i, `count_splits` does the same in a fraction of the time, and
`best_strategy` finds the shortest path through the graph of figure 5.2.
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.detection._walk_numba import walk
from ermlab.detection.boxes import as_boxes_inside
from ermlab.detection.qualities import Quality
from ermlab.detection.subwindow import Detection, Detector, best_boxes, check_penalty

UNITS = ("splits", "seconds")


class Strategy(NamedTuple):
    """Digits as `ermlab.detection.best_boxes` takes them, and the cost of all detections."""

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
        As for `ermlab.detection.best_boxes`.
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


def count_splits(
    quality: Quality, detections: Sequence[Sequence[Detection]], overlaps: Sequence[float]
) -> NDArray[np.float64]:
    """Return what `measure_costs` gives in splits for several overlaps, from one walk over the sets of boxes.

    Each set of boxes is met once instead of by every queue, and no queue is needed.

    Parameters
    ----------
    quality
        What is searched.
    detections
        For each overlap what `ermlab.detection.best_boxes` finds, with this bound of the quality or
        another one.
    overlaps
        Thresholds as for `best_boxes`.

    Returns
    -------
    costs
        ``(overlaps, n, n)`` for n detections.
    """
    if any(callable(overlap) for overlap in overlaps):
        raise ValueError("overlaps hold a function: expected thresholds, other penalties change the order")
    gammas = np.array([check_penalty(overlap) for overlap in overlaps])
    lengths = {len(found) for found in detections}
    if len(detections) != len(gammas) or len(lengths) != 1 or 0 in lengths:
        raise ValueError(
            f"{[len(found) for found in detections]} detections: expected equally many, at least one, for "
            f"each of {len(gammas)} overlaps"
        )
    n, (height, width) = lengths.pop(), quality.shape
    boxes = as_boxes_inside([d.box for found in detections for d in found], quality.shape, "detections")
    scores = np.array([[d.score for d in found] for found in detections], dtype=np.float64)
    if not np.isfinite(scores).all() or not (scores[:, 1:] <= scores[:, :-1]).all():
        raise ValueError(f"detections of scores {scores.tolist()}: expected the best first, all finite")
    counts = walk(quality.tables, gammas, boxes.reshape(-1, n, 4), scores, width, height)
    return np.stack([_costs_of_queues(tree) for tree in counts])


def _costs_of_queues(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the costs ``C[i, j]`` from the numbers of `walk`.

    A set comes into the queue that begins with detection i if no detection suppresses it that is found by
    then or when its parent is split; it is taken out in its own round, or in the first one if that is later.
    """
    n = len(counts)
    taken, pushed, suppressor = np.indices(counts.shape)
    costs = np.full((n, n), np.nan)
    for i in range(n):
        in_queue = np.where(suppressor >= np.maximum(i, pushed), counts, 0)
        costs[i, i:] = np.bincount(np.maximum(taken, i).ravel(), in_queue.ravel(), minlength=n)[i:]
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
    with np.errstate(over="ignore"):
        total = np.abs(costs[np.triu_indices(len(costs))]).sum()
    if not np.isfinite(total):
        raise ValueError(
            f"costs up to {np.nanmax(np.abs(costs))}: expected smaller ones, their sum overflows"
        )
    return costs
