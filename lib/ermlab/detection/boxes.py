"""Boxes in images: validation, overlap, non-maximum suppression.

A box is (left, top, right, bottom) in integer pixels counted from 0, all four sides inclusive.
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.detection._boxes_numba import keep_greedily, largest_overlaps, overlap_matrix

#: Threshold in the authors' program for Rahtu, Kannala and Blaschko (ICCV 2011).
MAX_OVERLAP = 0.75
#: Largest coordinate, which floats represent exactly, and longest side, with which areas do not overflow.
_LARGEST_COORDINATE, _LONGEST_SIDE = 1 << 53, (1 << 31) - 1


def as_boxes(boxes: ArrayLike, name: str = "boxes") -> NDArray[np.int64]:
    """Return boxes as an (n, 4) array of integers, or raise a ValueError that names the first bad one."""
    given = np.asarray(boxes)
    if given.size == 0 and given.shape in ((0,), (0, 4)):
        return np.empty((0, 4), dtype=np.int64)
    if given.ndim != 2 or given.shape[1] != 4:
        raise ValueError(f"{name} has shape {given.shape}: expected (n, 4)")
    if not np.issubdtype(given.dtype, np.number) or np.iscomplexobj(given):
        raise ValueError(f"{name} has type {given.dtype}: expected integers")
    if not np.issubdtype(given.dtype, np.integer):
        with np.errstate(over="ignore"):  # half precision cannot represent the limits below
            given = given.astype(np.float64)
        _require(np.isfinite(given) & (given == np.round(given)), given, name, "integers")
    _require(
        (given >= -_LARGEST_COORDINATE) & (given <= _LARGEST_COORDINATE),
        given,
        name,
        f"at most {_LARGEST_COORDINATE} in size",
    )
    result = np.ascontiguousarray(given, dtype=np.int64)
    first, last = result[:, :2], result[:, 2:]
    _require(first <= last, result, name, "left <= right and top <= bottom")
    _require(last - first < _LONGEST_SIDE, result, name, f"sides of at most {_LONGEST_SIDE}")
    return result


def as_boxes_inside(boxes: ArrayLike, shape: tuple[int, int], name: str = "windows") -> NDArray[np.int64]:
    """Do the same as `as_boxes` for boxes that must be inside an image of ``shape`` (height, width)."""
    result = as_boxes(boxes, name)
    inside = (result[:, :2] >= 0) & (result[:, 2:] < (shape[1], shape[0]))
    _require(inside, result, name, f"a box inside {shape[1]} x {shape[0]} pixels")
    return result


def _require(valid: NDArray[np.bool_], boxes: NDArray, name: str, expected: str) -> None:
    """Raise a ValueError with the first box that is not valid in all columns."""
    if not valid.all():
        row = int(np.argmin(valid.all(axis=1)))
        raise ValueError(f"{name}[{row}] is {boxes[row].tolist()}: expected {expected}")


def overlap(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Compute the intersection over union of each box of ``a`` with each of ``b`` (thesis, eq. 3.27).

    Parameters
    ----------
    a : array-like of shape (n, 4)
        Boxes.
    b : array-like of shape (m, 4)
        Boxes.

    Returns
    -------
    ndarray of shape (n, m)
    """
    return overlap_matrix(as_boxes(a, "a"), as_boxes(b, "b"))


def best_overlap(boxes: ArrayLike, truth: ArrayLike) -> NDArray[np.float64]:
    """Compute the largest overlap of each box with any of ``truth``, 0 if there is none, in O(n) memory."""
    return largest_overlaps(as_boxes(boxes), as_boxes(truth, "truth"))


def suppress(
    boxes: ArrayLike, scores: ArrayLike, max_boxes: int, max_overlap: float = MAX_OVERLAP
) -> NDArray[np.int64]:
    """Select boxes by greedy non-maximum suppression (thesis, section 3.2.4).

    Boxes are visited by decreasing score, equal scores by index; a box that overlaps a selected one by more
    than ``max_overlap`` is suppressed.

    Parameters
    ----------
    boxes : array-like of shape (n, 4)
        Boxes.
    scores : array-like of shape (n,)
        Score of each box.
    max_boxes : int
        Maximum number of boxes.
    max_overlap : float, default=0.75
        Largest overlap of two selected boxes. The default is that of the authors' program for Rahtu, Kannala
        and Blaschko (ICCV 2011); according to it values of .4 to .6 recall more objects at small overlap,
        larger values more at large overlap. Unlike in that program, suppressed boxes never fill up the
        result.

    Returns
    -------
    ndarray of int
        Indices of at most ``max_boxes`` boxes, best first.
    """
    boxes, scores = as_boxes(boxes), np.asarray(scores, dtype=np.float64)
    if scores.shape != (len(boxes),):
        raise ValueError(f"scores has shape {scores.shape}: expected ({len(boxes)},), one for each box")
    if np.isnan(scores).any():
        raise ValueError(f"scores[{int(np.flatnonzero(np.isnan(scores))[0])}] is NaN")
    if not isinstance(max_boxes, Real) or not 0 <= max_boxes < np.inf or max_boxes != int(max_boxes):
        raise ValueError(f"max_boxes is {max_boxes}: expected an integer of at least 0")
    if not isinstance(max_overlap, Real) or not 0 <= max_overlap <= 1:
        raise ValueError(f"max_overlap is {max_overlap}: expected a number from 0 to 1")
    order = np.argsort(-scores, kind="stable")
    return order[keep_greedily(boxes[order], min(int(max_boxes), len(boxes)), float(max_overlap))]
