"""Boxes in images: overlap, and a diverse choice among scored ones.

A box is (left, top, right, bottom) in whole pixels, counted from 0, all four sides inclusive.
"""

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.detection._boxes_numba import keep_greedily, largest_overlaps, overlap_matrix

# What the authors' program for Rahtu, Kannala and Blaschko (ICCV 2011) uses.
MAX_OVERLAP = 0.75
#: Largest size of a coordinate, which every kind of number holds exactly, and longest side: the areas of two
#: boxes sum up to less than 2**63.
_LARGEST_COORDINATE, _LONGEST_SIDE = 1 << 53, (1 << 31) - 1


def as_boxes(boxes: ArrayLike, name: str = "boxes") -> NDArray[np.int64]:
    """The boxes as an (n, 4) array of integers; ValueError for what is no box."""
    given = np.asarray(boxes)
    if given.size == 0 and given.shape in ((0,), (0, 4)):
        return np.empty((0, 4), dtype=np.int64)
    if given.ndim != 2 or given.shape[1] != 4:
        raise ValueError(f"{name} has shape {given.shape}: expected (n, 4)")
    if not np.issubdtype(given.dtype, np.number) or np.iscomplexobj(given):
        raise ValueError(f"{name} has type {given.dtype}: expected whole numbers")
    if not np.issubdtype(given.dtype, np.integer):
        # Halves, as numbers of 16 bits, have no place for the limits below.
        with np.errstate(over="ignore"):
            given = given.astype(np.float64)
        whole = np.isfinite(given) & (given == np.round(given))
        if not whole.all():
            row = int(np.flatnonzero(~whole.all(axis=1))[0])
            raise ValueError(f"{name}[{row}] is {given[row].tolist()}: expected whole numbers")
    far = ((given < -_LARGEST_COORDINATE) | (given > _LARGEST_COORDINATE)).any(axis=1)
    if far.any():
        row = int(np.flatnonzero(far)[0])
        raise ValueError(
            f"{name}[{row}] is {given[row].tolist()}: expected at most {_LARGEST_COORDINATE} in size"
        )
    result = np.ascontiguousarray(given, dtype=np.int64)
    empty = (result[:, 2] < result[:, 0]) | (result[:, 3] < result[:, 1])
    if empty.any():
        row = int(np.flatnonzero(empty)[0])
        raise ValueError(f"{name}[{row}] is {result[row].tolist()}: expected left <= right and top <= bottom")
    long = (result[:, 2:] - result[:, :2] >= _LONGEST_SIDE).any(axis=1)
    if long.any():
        row = int(np.flatnonzero(long)[0])
        raise ValueError(
            f"{name}[{row}] is {result[row].tolist()}: expected sides of at most {_LONGEST_SIDE}"
        )
    return result


def as_boxes_inside(boxes: ArrayLike, shape: tuple[int, int], name: str = "windows") -> NDArray[np.int64]:
    """As `as_boxes`; ValueError, too, for a box that leaves the image of (height, width) ``shape``."""
    result = as_boxes(boxes, name)
    outside = (result < 0).any(axis=1) | (result[:, 2] >= shape[1]) | (result[:, 3] >= shape[0])
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        raise ValueError(
            f"{name}[{row}] is {result[row].tolist()}: expected a box inside {shape[1]} x {shape[0]} pixels"
        )
    return result


def overlap(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    """Intersection over union of each box of ``a`` with each of ``b``, (n, m) (thesis, eq. 3.27)."""
    return overlap_matrix(as_boxes(a, "a"), as_boxes(b, "b"))


def best_overlap(boxes: ArrayLike, truth: ArrayLike) -> NDArray[np.float64]:
    """Largest overlap of each box with any of ``truth``; 0 where there is no truth.

    Needs memory for n numbers only.
    """
    return largest_overlaps(as_boxes(boxes), as_boxes(truth, "truth"))


def suppress(
    boxes: ArrayLike, scores: ArrayLike, max_boxes: int, max_overlap: float = MAX_OVERLAP
) -> NDArray[np.int64]:
    """Greedy non-maximum suppression.

    The boxes in order of falling score, equal scores in order of index; a box that overlaps one already
    taken by more than ``max_overlap`` is left out. The thesis (3.2.4) cites this from the literature on
    detection without a number. The default is that of the authors' program for Rahtu, Kannala and Blaschko
    (ICCV 2011), whose protocol the experiment follows; that program says of it that .4 to .6 recalls more
    objects at small overlap, larger values more at large overlap. Unlike the program, what is
    suppressed does not come back when fewer than ``max_boxes`` are left.

    Returns
    -------
    indices
        At most ``max_boxes``, best first.
    """
    boxes, scores = as_boxes(boxes), np.asarray(scores, dtype=np.float64)
    if scores.shape != (len(boxes),):
        raise ValueError(f"scores has shape {scores.shape}: expected ({len(boxes)},), one for each box")
    if np.isnan(scores).any():
        raise ValueError(f"scores[{int(np.flatnonzero(np.isnan(scores))[0])}] is NaN")
    if not isinstance(max_boxes, Real) or not 0 <= max_boxes < np.inf or max_boxes != int(max_boxes):
        raise ValueError(f"max_boxes is {max_boxes}: expected a whole number of at least 0")
    if not isinstance(max_overlap, Real) or not 0 <= max_overlap <= 1:
        raise ValueError(f"max_overlap is {max_overlap}: expected a number from 0 to 1")
    order = np.argsort(-scores, kind="stable")
    return order[keep_greedily(boxes[order], min(int(max_boxes), len(boxes)), float(max_overlap))]
