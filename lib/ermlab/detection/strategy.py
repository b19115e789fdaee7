"""Strategies to reset the queue of the subwindow search between detections (thesis, section 5.1.5).

The cost of a detection depends on the previous detections, which are the same for all strategies, and on the
detection before which the queue was last reset. `measure_costs` computes the table ``C[i, j]`` of the cost of
detection j with a queue reset before detection i, `count_splits` does the same in a fraction of the time, and
`best_strategy` finds the shortest path through the graph of figure 5.2.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import check_choice
from ermlab.detection._walk_numba import walk
from ermlab.detection.boxes import as_boxes_inside
from ermlab.detection.qualities import Quality
from ermlab.detection.subwindow import Detection, Detector, best_boxes, check_penalty

UNITS = ("splits", "seconds")


class Strategy(NamedTuple):
    """Argument ``reset`` of `ermlab.detection.best_boxes`, and the cost of all detections."""

    reset: str
    cost: float


def measure_costs(
    quality: Quality,
    n_detections: int = 10,
    overlap: float | Callable[[float], float] = 0.5,
    unit: str = "splits",
) -> NDArray[np.float64]:
    """Measure the cost ``C[i, j]`` of detection j with a queue reset before detection i, NaN for i > j.

    Parameters
    ----------
    quality, n_detections, overlap
        As in `ermlab.detection.best_boxes`.
    unit : {"splits", "seconds"}, default="splits"
        ``"splits"`` are sets of boxes processed by the search, the same on every machine.

    Returns
    -------
    ndarray of shape (n_detections, n_detections)
    """
    check_choice("unit", unit, UNITS)
    boxes = [detection.box for detection in best_boxes(quality, n_detections, overlap)]
    if len(boxes) < n_detections:
        raise ValueError(f"{n_detections} detections: expected at most {len(boxes)}, others are suppressed")
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
    """Compute the costs of `measure_costs` in splits for several overlaps, from one tree traversal.

    Each set of boxes is visited once instead of by every search, and no queue is needed.

    Parameters
    ----------
    quality : Quality
        Quality to search.
    detections : sequence of sequences of Detection
        Result of `ermlab.detection.best_boxes` for each overlap, with any bound of the quality.
    overlaps : sequence of float
        Thresholds as in `best_boxes`.

    Returns
    -------
    ndarray of shape (n_overlaps, n_detections, n_detections)
    """
    if any(callable(overlap) for overlap in overlaps):
        raise ValueError("overlaps contain a function: expected thresholds")
    gammas = np.array([check_penalty(overlap) for overlap in overlaps])
    lengths = {len(found) for found in detections}
    if len(detections) != len(gammas) or len(lengths) != 1 or 0 in lengths:
        raise ValueError(
            f"{[len(found) for found in detections]} detections: expected the same number, at least one, for "
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
    """Return the costs ``C[i, j]`` from the counts of `walk`.

    A set is added to the queue reset before detection i unless a detection found before i, or before its
    parent is split, suppresses it. It is processed in its own round, or in round i if that is later.
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
    """Return the cheapest strategy, in case of ties the one that keeps the queue where they first differ.

    It is the shortest path through the nodes (i, j), with edges to (i, j + 1) and (j + 1, j + 1) that cost
    ``C`` of their end, in time O(n^2).
    """
    costs = _check_costs(costs)
    n = len(costs)
    to_go = np.zeros((n, n))  # cost of the detections after j on the best path from node (i, j)
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
        raise ValueError(f"costs up to {np.nanmax(np.abs(costs))}: expected a finite sum")
    return costs
