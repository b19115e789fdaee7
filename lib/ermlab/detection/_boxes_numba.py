"""Compiled loops of `ermlab.detection.boxes` over pairs of boxes."""

import numpy as np
from numba import njit

#: Number of kept boxes that a box is compared with before the loop may end.
_BLOCK = 64


@njit(cache=True, nogil=True)
def overlap_of(a, b):
    """Return the intersection over union of two inclusive boxes."""
    width = min(a[2], b[2]) - max(a[0], b[0]) + 1
    height = min(a[3], b[3]) - max(a[1], b[1]) + 1
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    area_a = (a[2] - a[0] + 1) * (a[3] - a[1] + 1)
    area_b = (b[2] - b[0] + 1) * (b[3] - b[1] + 1)
    return common / (area_a + area_b - common)


@njit(cache=True, nogil=True)
def overlap_matrix(a, b):
    """Return the overlap of each box of ``a`` with each of ``b``."""
    result = np.empty((len(a), len(b)))
    for i in range(len(a)):
        for j in range(len(b)):
            result[i, j] = overlap_of(a[i], b[j])
    return result


@njit(cache=True, nogil=True)
def largest_overlaps(boxes, truth):
    """Return the largest overlap of each box with any of ``truth``."""
    result = np.zeros(len(boxes))
    for i in range(len(boxes)):
        for j in range(len(truth)):
            result[i] = max(result[i], overlap_of(boxes[i], truth[j]))
    return result


@njit(cache=True, nogil=True)
def keep_greedily(boxes, max_boxes, max_overlap):
    """Return the indices of boxes that overlap no earlier kept box by more than ``max_overlap``."""
    kept = np.empty(min(max_boxes, len(boxes)), dtype=np.int64)
    # The sides and areas of kept boxes are contiguous, and floats, so that loops over them are vectorized.
    sides = np.empty((4, len(kept)))
    areas = np.empty(len(kept))
    count = 0
    for i in range(len(boxes)):
        if count == len(kept):
            break
        area = float(boxes[i, 2] - boxes[i, 0] + 1) * float(boxes[i, 3] - boxes[i, 1] + 1)
        box = (float(boxes[i, 0]), float(boxes[i, 1]), float(boxes[i, 2]), float(boxes[i, 3]))
        free = True
        # Boxes of similar score are close to each other: the last kept ones are most likely to overlap.
        stop = count
        while free and stop > 0:
            start = max(0, stop - _BLOCK)
            free = not _overlaps_any(box, area, sides[:, start:stop], areas[start:stop], max_overlap)
            stop = start
        if free:
            kept[count], areas[count] = i, area
            sides[0, count], sides[1, count], sides[2, count], sides[3, count] = box
            count += 1
    return kept[:count]


@njit(cache=True, nogil=True, error_model="numpy")
def _overlaps_any(box, area, sides, areas, max_overlap):
    """Return whether a box overlaps one of several boxes by more than ``max_overlap``, without branches."""
    left, top, right, bottom = sides
    hits = 0
    for k in range(len(areas)):
        width = (box[2] if box[2] < right[k] else right[k]) - (box[0] if box[0] > left[k] else left[k]) + 1.0
        height = (box[3] if box[3] < bottom[k] else bottom[k]) - (box[1] if box[1] > top[k] else top[k]) + 1.0
        common = (width if width > 0.0 else 0.0) * (height if height > 0.0 else 0.0)
        hits += 1 if common / (area + areas[k] - common) > max_overlap else 0
    return hits > 0
