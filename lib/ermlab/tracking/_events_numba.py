"""Candidate events between two frames and their features (kernels of `events.py`).

Cells are rows (row, column, area, intensity, eccentricity). Features that are logarithms are returned as
ratios in an array of their own, one row per feature: numpy computes logarithms faster, and results remain
those of numpy.
"""

import numpy as np
from numba import njit

_ROW, _COLUMN, _AREA, _INTENSITY, _ECCENTRICITY = range(5)


@njit(cache=True, nogil=True)
def near(distances, numbers, reach):
    """Return pairs of a center and each of its nearest cells within reach, which come by ascending distance.

    Parameters
    ----------
    distances, numbers : ndarray of shape (n_centers, n_neighbors)
        Of the nearest cells of each center.
    """
    n = 0
    for i in range(len(distances)):
        n += _count(distances, i, reach)
    pairs, n = np.empty((n, 2), dtype=np.int64), 0
    for i in range(len(distances)):
        for rank in range(_count(distances, i, reach)):
            pairs[n, 0], pairs[n, 1] = i, numbers[i, rank]
            n += 1
    return pairs


@njit(cache=True, nogil=True)
def pairs_about(distances, numbers, reach):
    """Return triples of a center and two of its nearest cells within reach, the smaller index first."""
    n_neighbors, n = distances.shape[1], 0
    counts = np.empty(len(distances), dtype=np.int64)
    for i in range(len(distances)):
        counts[i] = _count(distances, i, reach)
        n += counts[i] * (counts[i] - 1) // 2
    triples, n = np.empty((n, 3), dtype=np.int64), 0
    for first in range(n_neighbors):
        for second in range(first + 1, n_neighbors):
            for i in range(len(distances)):
                if counts[i] > second:
                    a, b = numbers[i, first], numbers[i, second]
                    triples[n, 0], triples[n, 1], triples[n, 2] = (i, a, b) if a < b else (i, b, a)
                    n += 1
    return triples


@njit(cache=True, nogil=True)
def close(cells, triples, reach):
    """Return a mask of the triples whose last two cells are within reach of each other."""
    kept = np.empty(len(triples), dtype=np.bool_)
    for t in range(len(triples)):
        kept[t] = _distance(cells, triples[t, 1], cells, triples[t, 2]) <= reach
    return kept


@njit(cache=True, nogil=True)
def moves(before, after, pairs, size):
    """Return the features of moves, and ratios of area and intensity."""
    features, ratios = np.ones((len(pairs), 7)), np.empty((2, len(pairs)))
    nearest = np.full(len(after), np.inf)
    for e in range(len(pairs)):
        i, j = pairs[e, 0], pairs[e, 1]
        distance = _distance(before, i, after, j) / size
        nearest[j] = min(nearest[j], distance)
        features[e, 1], features[e, 2] = distance, distance * distance
        ratios[0, e] = before[i, _AREA] / after[j, _AREA]
        ratios[1, e] = before[i, _INTENSITY] / after[j, _INTENSITY]
        features[e, 6] = abs(before[i, _ECCENTRICITY] - after[j, _ECCENTRICITY])
    for e in range(len(pairs)):
        features[e, 3] = features[e, 1] - nearest[pairs[e, 1]]
    return features, ratios


@njit(cache=True, nogil=True)
def divisions(before, after, triples, size):
    """Return the features of divisions; ratios of area and intensity to the parent, of children, and size."""
    features, ratios = np.ones((len(triples), 11)), np.empty((5, len(triples)))
    for e in range(len(triples)):
        i, a, b = triples[e, 0], triples[e, 1], triples[e, 2]
        row, column = before[i, _ROW], before[i, _COLUMN]
        y_a, x_a = after[a, _ROW] - row, after[a, _COLUMN] - column
        y_b, x_b = after[b, _ROW] - row, after[b, _COLUMN] - column
        far_a, far_b = np.sqrt(y_a * y_a + x_a * x_a), np.sqrt(y_b * y_b + x_b * x_b)
        y = row - (after[a, _ROW] + after[b, _ROW]) / 2
        x = column - (after[a, _COLUMN] + after[b, _COLUMN]) / 2
        features[e, 1] = np.sqrt(y * y + x * x) / size
        features[e, 2] = _distance(after, a, after, b) / size
        features[e, 3] = abs(far_a - far_b) / size
        # A sum that begins with 0, as in numpy, is never -0.
        features[e, 4] = (0.0 + y_a * y_b + x_a * x_b) / max(far_a * far_b, 1e-12)
        features[e, 9] = before[i, _ECCENTRICITY]
        ratios[0, e] = (after[a, _AREA] + after[b, _AREA]) / before[i, _AREA]
        ratios[1, e] = after[a, _AREA] / after[b, _AREA]
        ratios[2, e] = (after[a, _INTENSITY] + after[b, _INTENSITY]) / 2 / before[i, _INTENSITY]
        ratios[3, e] = after[a, _INTENSITY] / after[b, _INTENSITY]
        ratios[4, e] = np.sqrt(before[i, _AREA]) / size
    return features, ratios


@njit(cache=True, nogil=True)
def pieces(whole, parts, triples, size):
    """Return the features of two pieces of a cell that is whole in the other frame, and the ratios to it."""
    features, ratios = np.ones((len(triples), 6)), np.empty((2, len(triples)))
    for e in range(len(triples)):
        i, a, b = triples[e, 0], triples[e, 1], triples[e, 2]
        area = parts[a, _AREA] + parts[b, _AREA]
        weight = parts[a, _AREA] / area
        y = whole[i, _ROW] - (weight * parts[a, _ROW] + (1 - weight) * parts[b, _ROW])
        x = whole[i, _COLUMN] - (weight * parts[a, _COLUMN] + (1 - weight) * parts[b, _COLUMN])
        light = parts[a, _AREA] * parts[a, _INTENSITY] + parts[b, _AREA] * parts[b, _INTENSITY]
        features[e, 1] = np.sqrt(y * y + x * x) / size
        features[e, 2] = _distance(parts, a, parts, b) / size
        features[e, 5] = whole[i, _ECCENTRICITY]
        ratios[0, e] = area / whole[i, _AREA]
        ratios[1, e] = light / area / whole[i, _INTENSITY]
    return features, ratios


@njit(cache=True, nogil=True)
def _count(distances, i, reach):
    """Return the number of cells within reach of a center."""
    for rank in range(distances.shape[1]):
        if not distances[i, rank] <= reach:
            return rank
    return distances.shape[1]


@njit(cache=True, nogil=True)
def _distance(cells, i, others, j):
    y, x = cells[i, _ROW] - others[j, _ROW], cells[i, _COLUMN] - others[j, _COLUMN]
    return np.sqrt(y * y + x * x)
