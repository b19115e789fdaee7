"""Cues of many windows on integral images (kernels of `cues`).

A table ``sums`` of shape (height + 1, width + 1, planes) holds in ``[y, x]`` the sums over all pixels above y
and left of x. Each kernel writes one number per window (left, top, right, bottom) to ``result``.
"""

import numpy as np
from numba import njit

GRID_WS, GRID_BE = 4, 6
INNER_WEIGHT_WS = 0.25
RING_WEIGHTS_BE = (1.0, 0.5, 0.0)
ACROSS_X, ACROSS_DOWN_RIGHT, ACROSS_Y, ACROSS_DOWN_LEFT = 0, 1, 2, 3


@njit(cache=True, nogil=True)
def cell_start(cell, cells, length):
    """Return the first pixel of a cell; ``length`` pixels have an even number of cells, mirror-symmetric."""
    if 2 * cell <= cells:
        return (2 * cell * length + cells) // (2 * cells)
    return length - (2 * (cells - cell) * length + cells) // (2 * cells)


@njit(cache=True, nogil=True)
def _block_sum(sums, ys, xs, row, column, plane):
    top, bottom, left, right = ys[row], ys[row + 1], xs[column], xs[column + 1]
    upper = sums[top, right, plane] - sums[top, left, plane]
    lower = sums[bottom, right, plane] - sums[bottom, left, plane]
    return max(lower - upper, 0.0)  # rounding may leave an empty block below 0


@njit(cache=True, nogil=True)
def _cut(window, cells, xs, ys):
    for cell in range(cells + 1):
        xs[cell] = window[0] + cell_start(cell, cells, window[2] - window[0] + 1)
        ys[cell] = window[1] + cell_start(cell, cells, window[3] - window[1] + 1)


@njit(cache=True, nogil=True)
def window_symmetry(sums, windows, result):
    """Compute the common edge strength of blocks and their mirror images, left-right and top-bottom."""
    xs, ys = np.empty(GRID_WS + 1, dtype=np.int64), np.empty(GRID_WS + 1, dtype=np.int64)
    blocks = np.empty((GRID_WS, GRID_WS, 4))
    last = GRID_WS - 1
    for i in range(len(windows)):
        _cut(windows[i], GRID_WS, xs, ys)
        for row in range(GRID_WS):
            for column in range(GRID_WS):
                for plane in range(4):
                    blocks[row, column, plane] = _block_sum(sums, ys, xs, row, column, plane)
        common = 0.0
        for a in range(GRID_WS):
            for b in range(GRID_WS // 2):
                weight = INNER_WEIGHT_WS if 0 < a < last and b > 0 else 1.0
                for plane in range(4):
                    mirrored = (4 - plane) % 4  # the two diagonal directions change places
                    common += weight * min(blocks[a, b, plane], blocks[a, last - b, mirrored])
                    common += weight * min(blocks[b, a, plane], blocks[last - b, a, mirrored])
        result[i] = common


@njit(cache=True, nogil=True)
def expected_direction(row, column):
    """Return the ring of a block (0 is outermost) and the normal direction of a contour through it."""
    depth_y, depth_x = min(row, GRID_BE - 1 - row), min(column, GRID_BE - 1 - column)
    ring = min(depth_y, depth_x)
    if depth_y < depth_x:
        return ring, ACROSS_Y
    if depth_x < depth_y:
        return ring, ACROSS_X
    return ring, ACROSS_DOWN_RIGHT if (row == depth_y) == (column == depth_x) else ACROSS_DOWN_LEFT


@njit(cache=True, nogil=True)
def boundary_edges(sums, windows, result):
    """Compute the strength of edges along a contour in the rings of the window."""
    xs, ys = np.empty(GRID_BE + 1, dtype=np.int64), np.empty(GRID_BE + 1, dtype=np.int64)
    for i in range(len(windows)):
        _cut(windows[i], GRID_BE, xs, ys)
        strength = 0.0
        for row in range(GRID_BE):
            for column in range(GRID_BE):
                ring, plane = expected_direction(row, column)
                if RING_WEIGHTS_BE[ring] > 0:
                    strength += RING_WEIGHTS_BE[ring] * _block_sum(sums, ys, xs, row, column, plane)
        result[i] = strength


@njit(cache=True, nogil=True)
def border_sum(along_x, along_y, windows, result):
    """Compute the sum over the outermost pixels of the window from sums along rows and columns."""
    for i in range(len(windows)):
        left, top, right, bottom = windows[i]
        total = along_x[top, right + 1] - along_x[top, left]
        if bottom > top:
            total += along_x[bottom, right + 1] - along_x[bottom, left]
        if bottom > top + 1:
            total += along_y[bottom, left] - along_y[top + 1, left]
            if right > left:
                total += along_y[bottom, right] - along_y[top + 1, right]
        result[i] = total


@njit(cache=True, nogil=True)
def histogram_sums(words, n_words):
    """Return the table of the number of pixels of each word above and left."""
    height, width = words.shape
    sums = np.zeros((height + 1, width + 1, n_words), dtype=np.int32)
    row = np.zeros(n_words, dtype=np.int32)
    for y in range(height):
        row[:] = 0
        for x in range(width):
            row[words[y, x]] += 1
            for word in range(n_words):
                sums[y + 1, x + 1, word] = sums[y, x + 1, word] + row[word]
    return sums


@njit(cache=True, nogil=True)
def color_contrast(sums, windows, result):
    """Compute the chi-square distance of the histograms of the window and the ring around it."""
    height, width, n_words = sums.shape
    for i in range(len(windows)):
        left, top, right, bottom = windows[i]
        right, bottom = right + 1, bottom + 1
        margin_x, margin_y = (right - left + 1) // 2, (bottom - top + 1) // 2
        far_left, far_right = max(left - margin_x, 0), min(right + margin_x, width - 1)
        far_top, far_bottom = max(top - margin_y, 0), min(bottom + margin_y, height - 1)
        area = (right - left) * (bottom - top)
        ring_area = (far_right - far_left) * (far_bottom - far_top) - area
        distance = 0.0
        if ring_area > 0:
            a, b, c, d = sums[bottom, right], sums[top, right], sums[bottom, left], sums[top, left]
            far_a, far_b = sums[far_bottom, far_right], sums[far_top, far_right]
            far_c, far_d = sums[far_bottom, far_left], sums[far_top, far_left]
            for word in range(n_words):
                inside = a[word] - b[word] - c[word] + d[word]
                ring = far_a[word] - far_b[word] - far_c[word] + far_d[word] - inside
                if inside + ring > 0:  # shares times both areas: one division per word
                    p, q = float(inside * ring_area), float(ring * area)
                    distance += (p - q) ** 2 / (p + q)
            distance /= float(area) * float(ring_area)
        result[i] = distance


@njit(cache=True, nogil=True)
def label_sums(labels, boxes):
    """Return the tables of all labels' pixels within their bounding boxes, concatenated, and their starts."""
    starts = np.empty(len(boxes) + 1, dtype=np.int64)
    starts[0] = 0
    for k in range(len(boxes)):
        left, top, right, bottom = boxes[k]
        starts[k + 1] = starts[k] + (right - left + 2) * (bottom - top + 2)
    sums = np.zeros(starts[-1], dtype=np.int32)
    for k in range(len(boxes)):
        left, top, right, bottom = boxes[k]
        stride = right - left + 2
        for y in range(top, bottom + 1):
            place = starts[k] + (y - top + 1) * stride
            row = 0
            for x in range(left, right + 1):
                place += 1
                row += labels[y, x] == k
                sums[place] = sums[place - stride] + row
    return sums, starts


@njit(cache=True, nogil=True)
def superpixel_straddling(sums, starts, boxes, windows, result):
    """Compute 1 minus the share of the window that superpixels straddle.

    Only superpixels whose bounding box crosses the border of the window contribute.
    """
    for i in range(len(windows)):
        left, top, right, bottom = windows[i]
        straddled = 0
        for k in range(len(boxes)):
            box_left, box_top, box_right, box_bottom = boxes[k]
            if box_left > right or box_right < left or box_top > bottom or box_bottom < top:
                continue
            if left <= box_left and box_right <= right and top <= box_top and box_bottom <= bottom:
                continue
            stride = box_right - box_left + 2
            upper = starts[k] + (max(top, box_top) - box_top) * stride
            lower = starts[k] + (min(bottom, box_bottom) - box_top + 1) * stride
            near, far = max(left, box_left) - box_left, min(right, box_right) - box_left + 1
            inside = sums[lower + far] - sums[upper + far] - sums[lower + near] + sums[upper + near]
            straddled += min(inside, sums[starts[k + 1] - 1] - inside)
        result[i] = 1 - straddled / ((right - left + 1) * (bottom - top + 1))


@njit(cache=True, nogil=True)
def multiscale_saliency(sums, windows, result):
    """Compute the mean over scales of the saliency in the window times its salient share."""
    n_scales = sums.shape[2] // 2
    pixels = (sums.shape[0] - 1) * (sums.shape[1] - 1)
    for i in range(len(windows)):
        left, top, right, bottom = windows[i]
        right, bottom = right + 1, bottom + 1
        a, b, c, d = sums[bottom, right], sums[top, right], sums[bottom, left], sums[top, left]
        total = 0.0
        for scale in range(n_scales):
            saliency = a[scale] - b[scale] - c[scale] + d[scale]
            k = scale + n_scales
            total += saliency * (a[k] - b[k] - c[k] + d[k])
        result[i] = total / (n_scales * pixels * (right - left) * (bottom - top))
