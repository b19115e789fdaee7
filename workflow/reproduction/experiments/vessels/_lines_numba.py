"""Compiled loop of the line detectors."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def line_responses(image, window_mean, offsets, reaches):
    """Return ``(reaches, height, width)``: the largest mean on a line through a pixel, minus the window mean.

    Parameters
    ----------
    image : ndarray of shape (height, width)
        Gray levels, padded by the largest reach plus 1 on every side.
    window_mean : ndarray of shape (height, width)
        Mean around each pixel, without padding.
    offsets : ndarray of shape (orientations, 2)
        Steps (row, column) of length 1 along each orientation.
    reaches : ndarray of int
        Numbers of pixels of the line on either side, increasing.
    """
    height, width = window_mean.shape
    n_orientations, n_reaches, longest = len(offsets), len(reaches), reaches[-1]
    best = np.full((n_reaches, height, width), -np.inf)
    pad = longest + 1
    sums = np.empty(width)
    for o in range(n_orientations):
        for i in range(height):
            sums[:] = image[i + pad, pad : pad + width]
            scale = 0
            for step in range(1, longest + 1):
                for side in (-1, 1):
                    row, column = side * step * offsets[o, 0], side * step * offsets[o, 1]
                    top, left = int(np.floor(row)), int(np.floor(column))
                    u, v = row - top, column - left
                    upper, lower = image[i + pad + top], image[i + pad + min(top + 1, pad)]
                    for j in range(width):
                        k = j + pad + left
                        sums[j] += (1 - u) * ((1 - v) * upper[k] + v * upper[k + 1]) + u * (
                            (1 - v) * lower[k] + v * lower[k + 1]
                        )
                if step == reaches[scale]:
                    for j in range(width):
                        value = sums[j] / (2 * step + 1)
                        best[scale, i, j] = max(best[scale, i, j], value)
                    scale += 1
    for scale in range(n_reaches):
        best[scale] -= window_mean
    return best
