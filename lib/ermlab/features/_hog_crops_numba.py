"""Compiled loops of `ermlab.features.hog_crops`."""

import math

import numpy as np
from numba import njit

#: Votes are integer multiples of this fraction of a gray level, whose sums do not depend on the order.
FINENESS = 1024


@njit(cache=True, nogil=True)
def describe_crops(
    crops, cell_rows, cell_columns, blocks, n_orientations, floor, root, descriptors, first, last
):
    """Write the descriptors of ``crops[first:last]``.

    ``cell_rows[level, y]`` and ``cell_columns[level, x]`` are the cells of a pixel; a row of ``blocks`` holds
    the number of rows and columns of cells of a level, and of cells in a block.
    """
    height, width = crops.shape[1:]
    bins, votes = np.empty((2, height, width), np.int64), np.empty((2, height, width), np.int64)
    for n in range(first, last):
        _vote(crops[n], n_orientations, bins, votes)
        start = 0
        for level in range(len(blocks)):
            rows, columns = blocks[level, 0], blocks[level, 1]
            sums = np.zeros((rows, columns, n_orientations), np.int64)
            areas = np.zeros((rows, columns), np.int64)
            for y in range(height):
                for x in range(width):
                    i, j = cell_rows[level, y], cell_columns[level, x]
                    areas[i, j] += 1
                    for k in range(2):
                        sums[i, j, bins[k, y, x]] += votes[k, y, x]
            end = start + sums.size
            _normalise(
                sums, areas, blocks[level, 2], blocks[level, 3], floor, root, descriptors[n, start:end]
            )
            start = end


@njit(cache=True, nogil=True)
def _vote(crop, n_orientations, bins, votes):
    """Share the gradient of each pixel between the two nearest orientations.

    The angle is that of the absolute values, and the sign of their product mirrors the orientations, so that
    a mirrored crop has exactly mirrored votes.
    """
    height, width = crop.shape
    for y in range(height):
        above, below = max(y - 1, 0), min(y + 1, height - 1)
        for x in range(width):
            before, after = max(x - 1, 0), min(x + 1, width - 1)
            dx, dy = crop[y, after] - crop[y, before], crop[below, x] - crop[above, x]
            place = math.atan2(abs(dy), abs(dx)) / math.pi * n_orientations - 0.5
            low = math.floor(place)
            # An even number, as the two votes of vertical and horizontal edges must be equal.
            total = 2 * round(FINENESS / 2 * math.sqrt(dx * dx + dy * dy))
            votes[1, y, x] = round((place - low) * total)
            votes[0, y, x] = total - votes[1, y, x]
            for k in range(2):
                place = int(low) + k
                bins[k, y, x] = (n_orientations - 1 - place if dx * dy < 0 else place) % n_orientations


@njit(cache=True, nogil=True)
def _normalise(sums, areas, block_rows, block_columns, floor, root, descriptor):
    """Divide the histograms of a block by the sum of its votes, and write them cell by cell."""
    rows, columns, n_orientations = sums.shape
    totals = np.zeros((rows // block_rows, columns // block_columns))
    for i in range(rows):
        for j in range(columns):
            least = floor * FINENESS * areas[i, j]
            totals[i // block_rows, j // block_columns] += np.sum(sums[i, j]) + least
    for i in range(rows):
        for j in range(columns):
            for k in range(n_orientations):
                share = sums[i, j, k] / totals[i // block_rows, j // block_columns]
                descriptor[(i * columns + j) * n_orientations + k] = math.sqrt(share) if root else share
