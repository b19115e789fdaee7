"""Efficient subwindow search: exact branch and bound over all boxes of an image (thesis, section 5.1)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numba import cfunc
from numba.core.errors import NumbaError
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.parallel import map_in_threads
from ermlab.detection import _search_numba as kernels
from ermlab.detection._bounds_numba import ClassicalLinear, Linear
from ermlab.detection._depth_first_numba import search_depth_first
from ermlab.detection.boxes import as_boxes_inside
from ermlab.detection.qualities import Quality, linear

NO_BOXES = np.empty((0, 4), np.int64)
CHECKED_OVERLAPS = np.linspace(0, 1, 1025)


class Detection(NamedTuple):
    """A box (left, top, right, bottom), its score, and the number of sets of boxes processed to find it.

    Penalties for overlap with previous detections are subtracted from the score (thesis, eq. 5.11).
    """

    box: NDArray[np.int64]
    score: float
    splits: int


def search(points: ArrayLike, weights: ArrayLike, shape: Sequence[int], bound: str = "tight") -> Detection:
    """Find the box with the largest sum of weights, exactly, among all boxes of at least one pixel.

    A box without points scores 0. Ties go to the larger left, then the larger top, the smaller right and the
    smaller bottom side.

    Parameters
    ----------
    points : array-like of int, of shape (n_points, 2)
        x and y of each point.
    weights : array-like of shape (n_points,)
        Weight of each point.
    shape : (int, int)
        Height and width of the image.
    bound : {"tight", "classical"}, default="tight"
        Upper bound of the search, see `ermlab.detection.linear`.

    Returns
    -------
    Detection

    Examples
    --------
    >>> from ermlab.detection import search
    >>> search([[1, 1], [3, 2], [6, 3]], [2.0, 1.0, -4.0], (5, 8)).box.tolist()
    [1, 1, 3, 2]
    """
    return best_box(linear(points, weights, shape, bound))


def detect(
    points: ArrayLike,
    weights: ArrayLike,
    shape: Sequence[int],
    n_detections: int = 10,
    overlap: float | Callable[[float], float] = 0.5,
    reset: str | None = None,
    bound: str = "tight",
    min_score: float | None = 0.0,
) -> list[Detection]:
    """Find boxes with large sums of weights, each the best given the previous ones (thesis, eq. 5.11).

    Parameters
    ----------
    points, weights, shape
        See `search`.
    n_detections, overlap, reset
        See `best_boxes`.
    bound
        See `search`.
    min_score
        See `best_boxes`. By default only boxes with a positive score are returned, as any box without points
        has the score 0.

    Returns
    -------
    list of Detection
        At most ``n_detections``, best first; empty if no box has a score above ``min_score``.
    """
    return best_boxes(linear(points, weights, shape, bound), n_detections, overlap, reset, min_score)


def best_box(quality: Quality) -> Detection:
    """Find the box of the highest quality; ties are resolved as in `search`."""
    if not isinstance(quality.tables, (Linear, ClassicalLinear)):
        return Detector(quality).next()
    height, width = quality.shape
    box, score, splits = search_depth_first(quality.tables, width, height)
    return Detection(np.array(box), score, splits)


def best_box_of_each(qualities: Sequence[Quality], n_jobs: int | None = None) -> list[Detection]:
    """Find the best box of each image; threads share the images."""
    return map_in_threads(best_box, qualities, n_jobs)


def best_boxes(
    quality: Quality,
    n_detections: int = 10,
    overlap: float | Callable[[float], float] = 0.5,
    reset: str | None = None,
    min_score: float | None = None,
) -> list[Detection]:
    """Find boxes of high quality, each the best given the previous ones (thesis, eq. 5.11).

    Parameters
    ----------
    quality : Quality
        Quality to search.
    n_detections : int, default=10
        Number of detections; fewer are returned if all other boxes are suppressed, or have a score of at most
        ``min_score``.
    overlap : float or callable, default=0.5
        Overlap with a previous detection from which on boxes are excluded (thesis, eq. 5.14), or the penalty
        g of eq. 5.10: a function of the overlap that numba can compile, non-negative and non-decreasing.
    reset : str, default=None
        For each detection after the first, "1" to start from the set of all boxes or "0" to continue with the
        queue of the last one. It affects the number of splits only. By default the queue is always kept.
    min_score : float, default=None
        Only boxes with a score above ``min_score``, after penalties, are returned; by default all.

    Returns
    -------
    list of Detection
    """
    n_boxes = math.prod(side * (side + 1) // 2 for side in quality.shape)
    if not isinstance(n_detections, (int, np.integer)) or not 1 <= n_detections <= n_boxes:
        raise ValueError(f"{n_detections} detections: expected from 1 to {n_boxes}, the number of boxes")
    reset = "0" * (n_detections - 1) if reset is None else reset
    if len(reset) != n_detections - 1 or set(reset) - set("01"):
        raise ValueError(f"reset is {reset!r}: expected a string of {n_detections - 1} digits 0 or 1")
    detector = Detector(quality, overlap)
    detections = []
    for start_anew in "1" + reset:
        if start_anew == "1":
            detector.reset()
        detection = detector.next()
        if detection is None or (min_score is not None and detection.score <= min_score):
            break
        detections.append(detection)
    return detections


def set_around(box: Sequence[int], shape: Sequence[int], depth: int) -> tuple[int, ...]:
    """Return the set of boxes containing ``box`` that the search reaches after ``depth`` splits.

    Parameters
    ----------
    box : sequence of int
        ``(left, top, right, bottom)``.
    shape : sequence of int
        Height and width of the image.
    depth : int
        Number of splits, starting from the set of all boxes.

    Returns
    -------
    tuple of int
        ``(l1, l2, t1, t2, r1, r2, b1, b2)``: first and last left, top, right and bottom side.
    """
    height, width = shape
    boxes = (0, width - 1, 0, height - 1, 0, width - 1, 0, height - 1)
    for _ in range(depth):
        if boxes[::2] == boxes[1::2]:
            break
        one, other = kernels.halves(boxes)
        inside = all(low <= side <= high for side, low, high in zip(box, one[::2], one[1::2], strict=True))
        boxes = one if inside else other
    return tuple(boxes)


class Detector:
    """Search for one detection after the other, which keeps its queue.

    Parameters
    ----------
    quality, overlap
        See `best_boxes`.
    found : array-like of shape (n, 4)
        Previous detections.
    """

    def __init__(
        self,
        quality: Quality,
        overlap: float | Callable[[float], float] = 0.5,
        found: ArrayLike = NO_BOXES,
    ):
        self._quality, self._penalty = quality, check_penalty(overlap)
        self._found = as_boxes_inside(found, quality.shape, "found")
        self.reset()

    def reset(self) -> None:
        """Restart from the set of all boxes."""
        height, width = self._quality.shape
        self._queue = kernels.start(self._quality.tables, self._penalty, self._found, width, height)

    def next(self) -> Detection | None:
        """Return the best box given the previous detections, or None if all are suppressed."""
        try:
            box, score, splits, *self._queue = kernels.advance(
                self._quality.tables, self._penalty, self._found, *self._queue
            )
        except ValueError:
            self.reset()  # sets of boxes that left the queue would be missed
            raise
        if score == -np.inf:
            return None
        self._found = np.vstack([self._found, box])
        return Detection(self._found[-1], score, splits)


def check_penalty(overlap: float | Callable[[float], float]) -> float | Callable[[float], float]:
    """Return a threshold as a float, or a compiled penalty, or raise a ValueError."""
    if not callable(overlap):
        if not 0 < overlap <= 1:
            raise ValueError(f"overlap is {overlap}: expected a threshold, 0 < overlap <= 1, or a function")
        return float(overlap)
    try:
        penalty = cfunc("float64(float64)")(getattr(overlap, "py_func", overlap))
    except (NumbaError, TypeError) as error:
        raise ValueError(f"overlap is {overlap!r}: expected a function that numba can compile") from error
    values = np.array([penalty.ctypes(x) for x in CHECKED_OVERLAPS])
    if not (values >= 0).all() or (values[1:] < values[:-1]).any():
        raise ValueError("penalty of the overlap: expected a non-negative, non-decreasing function")
    return penalty
