"""Compiled loop that draws tubes."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def stamp_tubes(points, radii, reach, border, radius):
    """Lower ``border`` to the signed distance from the nearest tube wherever a point is nearer than before.

    ``radius`` takes the radius of the tube whose border is nearest. Pixels farther than ``reach`` from a
    border are left alone.
    """
    height, width = border.shape
    for k in range(len(points)):
        row, column = points[k]
        extent = radii[k] + reach
        for i in range(max(0, int(row - extent)), min(height, int(row + extent) + 2)):
            for j in range(max(0, int(column - extent)), min(width, int(column + extent) + 2)):
                distance = np.sqrt((i - row) ** 2 + (j - column) ** 2) - radii[k]
                if distance < border[i, j] and distance < reach:
                    border[i, j] = distance
                    radius[i, j] = radii[k]
