"""Features of the cells of an image and of its edges, as in the documented example of the data set.

Cells have the colors of a window around them. Edges have their direction, or their direction and the colors
of both cells that they join.
"""

import numpy as np

from ermlab.segmentation import grid_edges
from reproduction.datasets.snakes import COLORS

N_COLORS = len(COLORS)


def window_features(colors: np.ndarray, radius: int) -> np.ndarray:
    """Return indicators of the colors of a window, (cells, features); outside the image is background."""
    height, width = colors.shape
    padded = np.eye(N_COLORS)[np.pad(colors, radius)]
    shifts = range(2 * radius + 1)
    windows = [padded[row : row + height, column : column + width] for row in shifts for column in shifts]
    return np.concatenate(windows, axis=2).reshape(height * width, -1)


def direction_features(colors: np.ndarray) -> np.ndarray:
    """Return whether each edge is horizontal, and whether vertical, in the order of `grid_edges`."""
    n_horizontal, n_vertical = _edge_counts(colors.shape)
    return np.repeat(np.eye(2), [n_horizontal, n_vertical], axis=0)


def color_features(colors: np.ndarray) -> np.ndarray:
    """Return the colors of both cells of each edge, at different places for horizontal and vertical edges."""
    indicators = np.eye(N_COLORS)[colors.ravel()]
    first, second = grid_edges(colors.shape).T
    pairs = np.hstack([indicators[first], indicators[second]])
    return (direction_features(colors)[:, :, None] * pairs[:, None]).reshape(len(pairs), -1)


def _edge_counts(shape: tuple[int, int]) -> tuple[int, int]:
    height, width = shape
    return height * (width - 1), (height - 1) * width
