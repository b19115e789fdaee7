"""Compiled loops of `ermlab.features.surf`: upright SURF descriptors from an integral image."""

import numpy as np
from numba import njit

#: Samples along a side of the window and of a subregion, and subregions along a side.
SAMPLES, SIDE, REGIONS = 20, 5, 4


@njit(cache=True, nogil=True)
def describe_points(integral, points, steps, parts, weights, flat, descriptors, start, stop):
    """Write the descriptors of ``points[start:stop]``.

    ``steps + parts``, integer and fractional, are the 22 lines that divide the window into cells of the size
    of a scale, in the coordinates of ``integral`` relative to a point. Haar wavelets consist of 2 x 2 cells.
    """
    cells = np.empty((SAMPLES + 1, SAMPLES + 1))
    sums = np.empty((4, SAMPLES))
    for p in range(start, stop):
        _cut_into_cells(integral, points[p, 0], points[p, 1], steps, parts, cells)
        descriptor = descriptors[p]
        for row in range(REGIONS):
            _sum_responses(cells, SIDE * row, weights, sums)
            for region in range(REGIONS):
                for kind in range(4):
                    total = 0.0
                    for j in range(SIDE * region, SIDE * region + SIDE):
                        total += sums[kind, j]
                    descriptor[4 * (REGIONS * row + region) + kind] = total
        _normalize(descriptor, flat)


@njit(cache=True, nogil=True)
def _cut_into_cells(integral, x, y, steps, parts, cells):
    """Integrate the image over each cell; ``integral`` is interpolated linearly in x and in y."""
    above, below = np.empty(SAMPLES + 2), np.empty(SAMPLES + 2)
    for i in range(SAMPLES + 2):
        upper, lower = integral[y + steps[i]], integral[y + steps[i] + 1]
        for j in range(SAMPLES + 2):
            k = x + steps[j]
            left = upper[k] + parts[i] * (lower[k] - upper[k])
            right = upper[k + 1] + parts[i] * (lower[k + 1] - upper[k + 1])
            below[j] = left + parts[j] * (right - left)
        if i > 0:
            for j in range(SAMPLES + 1):
                cells[i - 1, j] = (below[j + 1] - below[j]) - (above[j + 1] - above[j])
        above, below = below, above


@njit(cache=True, nogil=True)
def _sum_responses(cells, top, weights, sums):
    """Sum weighted dx, dy, |dx|, |dy| over the rows of a subregion for each column.

    Sums over columns, not over subregions, can be vectorized.
    """
    sums[:] = 0.0
    for i in range(top, top + SIDE):
        for j in range(SAMPLES):
            weight = weights[i] * weights[j]
            rising = cells[i + 1, j + 1] - cells[i, j]
            falling = cells[i + 1, j] - cells[i, j + 1]
            dx, dy = weight * (rising - falling), weight * (rising + falling)
            sums[0, j] += dx
            sums[1, j] += dy
            sums[2, j] += abs(dx)
            sums[3, j] += abs(dy)


@njit(cache=True, nogil=True)
def _normalize(descriptor, flat):
    """Scale to length 1, or to 0 if not longer than ``flat``, the rounding error of the integral image."""
    length = 0.0
    for value in descriptor:
        length += value * value
    length = np.sqrt(length)
    for k in range(descriptor.size):
        descriptor[k] = descriptor[k] / length if length > flat else 0.0
