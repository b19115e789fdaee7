"""Points of two frames compared by where their neighbours are, and matched one to one.

After F. Li, X. Zhou, J. Ma and S. T. C. Wong, Multiple nuclei tracking using integer programming for
quantitative cancer cell cycle analysis, IEEE Transactions on Medical Imaging 29, 2010.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial import Delaunay, QhullError

Vector = NDArray[np.float64]
Pairs = NDArray[np.int64]
#: Coordinates whose squares, and those of their differences, stay finite.
_FARTHEST = 1e150


def neighbour_graph(position: ArrayLike) -> list[Pairs]:
    """Return the neighbours of each point in the Delaunay triangulation, rising.

    Points that have no triangulation, fewer than three or on a line, are all neighbours of each other.
    """
    position = _points(position)
    n = len(position)
    try:
        corners = Delaunay(position).simplices
    except (QhullError, ValueError):
        corners = np.arange(n)[None]
    # All ordered pairs of different corners of a simplex.
    first, second = np.nonzero(~np.eye(corners.shape[1], dtype=bool))
    edges = np.column_stack([corners[:, first].ravel(), corners[:, second].ravel()]).astype(np.int64)
    edges = np.unique(edges, axis=0)
    return np.split(edges[:, 1], np.searchsorted(edges[:, 0], np.arange(1, n)))[: n or 0]


def neighbourhood_change(before: ArrayLike, after: ArrayLike, pairs: Pairs, scale: float) -> Vector:
    """Return for pairs (point before, point after) how differently their neighbours lie around them.

    The ways to the neighbours of the one are matched with those of the other; a neighbour counts by how far
    its match is off in units of ``scale``, by 1 if farther or without a match. The mean is from 0 to 1.
    """
    if not 0 < scale < np.inf:
        raise ValueError(f"scale is {scale}: expected a positive number")
    before, after = _points(before), _points(after)
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    wrong = ((pairs < 0) | (pairs >= (len(before), len(after)))).any(axis=1)
    if wrong.any():
        raise ValueError(
            f"pair {pairs[wrong][0].tolist()}: expected numbers below {len(before)}, of a point before, and "
            f"{len(after)}, of one after"
        )
    ways = [
        [
            points[neighbours] - point
            for point, neighbours in zip(points, neighbour_graph(points), strict=True)
        ]
        for points in (before, after)
    ]
    return np.array([_off(ways[0][i], ways[1][j], scale) for i, j in pairs.tolist()])


def _points(position: ArrayLike) -> Vector:
    """Return points as rows (n, 2), or raise a ValueError if one is not finite or too far out to measure."""
    position = np.asarray(position, dtype=np.float64).reshape(-1, 2)
    wrong = ~(np.abs(position) <= _FARTHEST).all(axis=1)
    if wrong.any():
        raise ValueError(
            f"point {int(wrong.argmax())} is {position[wrong][0].tolist()}: expected finite numbers, at most "
            f"{_FARTHEST:g} in size"
        )
    return position


def _off(first: Vector, second: Vector, scale: float) -> float:
    most = max(len(first), len(second))
    if not most:
        return 0.0
    apart = np.linalg.norm(first[:, None] - second[None], axis=-1)
    with np.errstate(over="ignore"):  # infinitely far is too far
        fit = np.maximum(1 - apart / scale, 0.0)
    return 1 - float(fit[linear_sum_assignment(fit, maximize=True)].sum()) / most


def best_matching(gains: ArrayLike) -> Pairs:
    """Return pairs (row, column) of positive gain with the largest sum, no row or column in two of them."""
    gains = np.maximum(np.asarray(gains, dtype=np.float64), 0.0)
    matched = np.column_stack(linear_sum_assignment(gains, maximize=True))
    return matched[gains[tuple(matched.T)] > 0]
