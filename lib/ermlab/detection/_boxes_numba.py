"""Compiled loops of `ermlab.detection.boxes` over pairs of boxes."""

import numpy as np
from numba import njit


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
    kept_boxes = np.empty((len(kept), 4), dtype=boxes.dtype)
    count = 0
    for i in range(len(boxes)):
        if count == len(kept):
            break
        free = True
        # Boxes of similar score are close to each other: the last kept one is most likely to overlap.
        for k in range(count - 1, -1, -1):
            if overlap_of(boxes[i], kept_boxes[k]) > max_overlap:
                free = False
                break
        if free:
            kept[count] = i
            kept_boxes[count] = boxes[i]
            count += 1
    return kept[:count]
