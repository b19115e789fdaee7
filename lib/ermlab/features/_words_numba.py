"""Compiled loops of `ermlab.features.words`: nearest centers, and histograms of words."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def nearest_of_close(scores, limits, descriptors, centres, words):
    """Write the nearest center of each descriptor, the first of several that are equally near.

    ``scores`` are approximate distances; exact ones are computed for centers up to a descriptor's limit.
    """
    n, n_words = scores.shape
    for i in range(n):
        nearest, smallest = -1, np.inf
        for k in range(n_words):
            if not scores[i, k] > limits[i]:  # an approximate distance of NaN excludes nothing
                distance = 0.0
                for j in range(centres.shape[1]):
                    distance += (descriptors[i, j] - centres[k, j]) ** 2
                if nearest < 0 or distance < smallest:
                    nearest, smallest = k, distance
        words[i] = nearest


@njit(cache=True, nogil=True)
def _cell(position, length, cells):
    """Return the cell of a position, if cell i begins at ``i * length // cells``."""
    return ((position + 1) * cells - 1) // length


@njit(cache=True, nogil=True)
def count_words(points, words, left, top, width, height, levels, counts):
    """Add the words of the points inside a box to ``counts``, one row per cell, level by level."""
    for i in range(points.shape[0]):
        x, y = points[i, 0] - left, points[i, 1] - top
        if 0 <= x < width and 0 <= y < height:
            first = 0
            for cells in levels:
                row, column = _cell(y, height, cells), _cell(x, width, cells)
                counts[first + row * cells + column, words[i]] += 1
                first += cells * cells
