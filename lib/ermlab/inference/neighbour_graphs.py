"""Points of two frames compared by where their neighbours are, and matched one to one.

After F. Li, X. Zhou, J. Ma and S. T. C. Wong, Multiple nuclei tracking using integer programming for
quantitative cancer cell cycle analysis, IEEE Transactions on Medical Imaging 29, 2010.
"""

from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial import Delaunay, QhullError

Vector = NDArray[np.float64]
Pairs = NDArray[np.int64]


def neighbour_graph(position: ArrayLike) -> list[Pairs]:
    """Return the neighbours of each point in the Delaunay triangulation, rising.

    Points that have no triangulation, fewer than three or on a line, are all neighbours of each other.
    """
    position = np.asarray(position, dtype=np.float64).reshape(-1, 2)
    n = len(position)
    try:
        corners = Delaunay(position).simplices
    except (QhullError, ValueError):
        corners = np.arange(n)[None]
    edges = np.concatenate(
        [corners[:, list(ends)] for ends in permutations(range(corners.shape[1]), 2)] or [[]]
    )
    edges = np.unique(np.asarray(edges, dtype=np.int64).reshape(-1, 2), axis=0)
    return np.split(edges[:, 1], np.searchsorted(edges[:, 0], np.arange(1, n)))[: n or 0]


def neighbourhood_change(before: ArrayLike, after: ArrayLike, pairs: Pairs, scale: float) -> Vector:
    """Return for pairs (point before, point after) how differently their neighbours lie around them.

    The ways to the neighbours of the one are matched with those of the other; a neighbour counts by how far
    its match is off in units of ``scale``, by 1 if farther or without a match. The mean is from 0 to 1.
    """
    before, after = (np.asarray(some, dtype=np.float64).reshape(-1, 2) for some in (before, after))
    ways = [
        [
            points[neighbours] - point
            for point, neighbours in zip(points, neighbour_graph(points), strict=True)
        ]
        for points in (before, after)
    ]
    return np.array([_off(ways[0][i], ways[1][j], scale) for i, j in pairs.tolist()])


def _off(first: Vector, second: Vector, scale: float) -> float:
    most = max(len(first), len(second))
    if not most:
        return 0.0
    apart = np.linalg.norm(first[:, None] - second[None], axis=-1)
    fit = np.maximum(1 - apart / scale, 0.0)
    return 1 - float(fit[linear_sum_assignment(fit, maximize=True)].sum()) / most


def best_matching(gains: ArrayLike) -> Pairs:
    """Return pairs (row, column) of positive gain with the largest sum, no row or column in two of them."""
    gains = np.maximum(np.asarray(gains, dtype=np.float64), 0.0)
    matched = np.column_stack(linear_sum_assignment(gains, maximize=True))
    return matched[gains[tuple(matched.T)] > 0]
