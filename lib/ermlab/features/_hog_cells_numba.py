"""Compiled loops of `ermlab.features.hog_cells`."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def cell_histograms(image, cell, cosines, sines, histograms):
    """Add the gradient of each pixel to the four cells around it; ``histograms`` is (rows, columns, 2 n).

    ``cosines`` and ``sines`` are those of the n borders between bins, from 0 to pi. Where the last cell
    extends beyond the image, the last gradient is repeated.
    """
    rows, columns, _ = histograms.shape
    n = cosines.size
    height, width, n_channels = image.shape
    for y in range(1, rows * cell - 1):
        inner_y = min(y, height - 2)
        row = (y + 0.5) / cell - 0.5
        top = int(np.floor(row))
        below = np.float32(row - top)
        for x in range(1, columns * cell - 1):
            inner_x = min(x, width - 2)
            dx = dy = strongest = np.float32(0.0)
            for c in range(n_channels):
                u = np.float32(image[inner_y, inner_x + 1, c]) - np.float32(image[inner_y, inner_x - 1, c])
                v = np.float32(image[inner_y + 1, inner_x, c]) - np.float32(image[inner_y - 1, inner_x, c])
                square = u * u + v * v
                if square > strongest:
                    dx, dy, strongest = u, v, square
            if strongest == 0.0:
                continue
            # Rotated into the upper half plane, the bin of a gradient is the number of borders below it.
            opposite = dy < 0 or (dy == 0 and dx < 0)
            u, v = (-dx, -dy) if opposite else (dx, dy)
            beyond = 0
            for o in range(n):
                beyond += cosines[o] * v > sines[o] * u
            if beyond == n:  # nearest to the opposite of bin 0
                beyond, opposite = 0, not opposite
            orientation = beyond + n if opposite else beyond
            magnitude = np.sqrt(strongest)
            column = (x + 0.5) / cell - 0.5
            left = int(np.floor(column))
            beside = np.float32(column - left)
            one = np.float32(1.0)
            for i, weight in ((top, (one - below) * magnitude), (top + 1, below * magnitude)):
                if 0 <= i < rows:
                    if left >= 0:
                        histograms[i, left, orientation] += (one - beside) * weight
                    if left + 1 < columns:
                        histograms[i, left + 1, orientation] += beside * weight


@njit(cache=True, nogil=True)
def normalized_cells(histograms, clip, epsilon, texture, features):
    """Write ``features``, (rows - 2, columns - 2, 3 n + 4), from the histograms of all cells."""
    rows, columns, n_signed = histograms.shape
    n = n_signed // 2
    energy = np.zeros((rows, columns), dtype=np.float32)
    for i in range(rows):
        for j in range(columns):
            for o in range(n):
                both = histograms[i, j, o] + histograms[i, j, o + n]
                energy[i, j] += both * both
    # The inverse norm of the block of 2 x 2 cells whose upper left cell is (i, j).
    inverse = np.empty((rows - 1, columns - 1), dtype=np.float32)
    for i in range(rows - 1):
        for j in range(columns - 1):
            block = energy[i, j] + energy[i, j + 1] + energy[i + 1, j] + energy[i + 1, j + 1]
            inverse[i, j] = np.float32(1.0) / np.sqrt(block + epsilon)
    half = np.float32(0.5)
    for i in range(rows - 2):
        for j in range(columns - 2):
            n1, n2 = inverse[i + 1, j + 1], inverse[i, j + 1]
            n3, n4 = inverse[i + 1, j], inverse[i, j]
            t1 = t2 = t3 = t4 = np.float32(0.0)
            for o in range(n_signed):
                value = histograms[i + 1, j + 1, o]
                h1, h2 = min(value * n1, clip), min(value * n2, clip)
                h3, h4 = min(value * n3, clip), min(value * n4, clip)
                features[i, j, o] = half * (h1 + h2 + h3 + h4)
                t1, t2, t3, t4 = t1 + h1, t2 + h2, t3 + h3, t4 + h4
            for o in range(n):
                value = histograms[i + 1, j + 1, o] + histograms[i + 1, j + 1, o + n]
                h1, h2 = min(value * n1, clip), min(value * n2, clip)
                h3, h4 = min(value * n3, clip), min(value * n4, clip)
                features[i, j, n_signed + o] = half * (h1 + h2 + h3 + h4)
            k = n_signed + n
            features[i, j, k] = texture * t1
            features[i, j, k + 1] = texture * t2
            features[i, j, k + 2] = texture * t3
            features[i, j, k + 3] = texture * t4
