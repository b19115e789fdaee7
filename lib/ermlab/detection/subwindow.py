"""The best box of an image, and the best boxes that do not overlap too much."""

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
    """A box (left, top, right, bottom), its score, and how many sets of boxes were taken before it.

    For a detection after others, the score is less the penalties (thesis, eq. 5.11).
    """

    box: NDArray[np.int64]
    score: float
    splits: int


def search(points: ArrayLike, weights: ArrayLike, shape: Sequence[int], bound: str = "tight") -> Detection:
    """Return the box with the largest sum of weights, exactly, among all boxes of at least one pixel.

    A box without points scores 0. Among equal boxes, the one comes first that has the larger left, then the
    larger top, the smaller right and the smaller bottom side; so without points it is the last pixel.

    Parameters
    ----------
    points, weights, shape, bound
        See `ermlab.detection.linear`.
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
) -> list[Detection]:
    """Return boxes with large sums of weights, each the best given those before (thesis, eq. 5.11).

    Parameters
    ----------
    points, weights, shape, bound
        See `ermlab.detection.linear`.
    n_detections, overlap, reset
        See `best_boxes`.
    """
    return best_boxes(linear(points, weights, shape, bound), n_detections, overlap, reset)


def best_box(quality: Quality) -> Detection:
    """Return the box of the highest quality; among equal boxes, the first in the order given for `search`."""
    if not isinstance(quality.tables, (Linear, ClassicalLinear)):
        return Detector(quality).next()
    height, width = quality.shape
    box, score, splits = search_depth_first(quality.tables, width, height)
    return Detection(np.array(box), score, splits)


def best_box_of_each(qualities: Sequence[Quality], n_threads: int | None = None) -> list[Detection]:
    """Return the best box of each image; they are shared out to threads, each is searched by one."""
    return map_in_threads(best_box, qualities, n_threads)


def best_boxes(
    quality: Quality,
    n_detections: int = 10,
    overlap: float | Callable[[float], float] = 0.5,
    reset: str | None = None,
) -> list[Detection]:
    """Return boxes of high quality, each the best given those before (thesis, eq. 5.11).

    Parameters
    ----------
    quality
        What is searched.
    n_detections
        How many; fewer are returned if all other boxes are suppressed.
    overlap
        Boxes that overlap an earlier one by this share are not allowed (thesis, eq. 5.14). Or the penalty g
        of eq. 5.10: a function of the overlap that numba can compile, non-negative and non-decreasing.
    reset
        For each detection after the first "1" to search it from the set of all boxes, "0" to go on with the
        queue that the last one left. Changes the splits alone. By default the queue is always kept.
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
        if detection is None:
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
    """A search for one detection after the other, with the queue at hand.

    Parameters
    ----------
    quality, overlap
        See `best_boxes`.
    found
        Boxes detected already.
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
        """Start anew from the set of all boxes."""
        height, width = self._quality.shape
        self._queue = kernels.start(self._quality.tables, self._penalty, self._found, width, height)

    def next(self) -> Detection | None:
        """Return the best box given those found before, None if all are suppressed."""
        try:
            box, score, splits, *self._queue = kernels.advance(
                self._quality.tables, self._penalty, self._found, *self._queue
            )
        except ValueError:
            self.reset()  # sets of boxes may have left the queue, and would be missed without a word
            raise
        if score == -np.inf:
            return None
        self._found = np.vstack([self._found, box])
        return Detection(self._found[-1], score, splits)


def check_penalty(overlap: float | Callable[[float], float]) -> float | Callable[[float], float]:
    """Return a threshold as a float, or a penalty compiled, or raise a ValueError."""
    if not callable(overlap):
        if not 0 < overlap <= 1:
            raise ValueError(
                f"overlap is {overlap}: expected a threshold above 0 and at most 1, or a function"
            )
        return float(overlap)
    try:
        penalty = cfunc("float64(float64)")(getattr(overlap, "py_func", overlap))
    except (NumbaError, TypeError) as error:
        raise ValueError(f"overlap is {overlap!r}: expected a function that numba can compile") from error
    values = np.array([penalty.ctypes(x) for x in CHECKED_OVERLAPS])
    if not (values >= 0).all() or (values[1:] < values[:-1]).any():
        raise ValueError(
            "penalty of the overlap: expected it to be non-negative and not to decrease on [0, 1]"
        )
    return penalty
