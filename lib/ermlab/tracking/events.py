"""Candidate events between two frames, and their features (cheap-data, section 1.2.2).

Lengths are relative to the size of a typical cell, areas and intensities are logarithms of ratios, so that
the same weights apply to images of any magnification and exposure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ermlab.tracking.assignment import NONE, Candidates, Hypotheses

Vector = NDArray[np.float64]
Pairs = NDArray[np.int64]

#: Names of the features of each kind of event.
FEATURES = {
    "move": ("one", "distance", "squared distance", "detour", "area", "intensity", "eccentricity"),
    "division": (
        "one",
        "distance",
        "distance of children",
        "asymmetry",
        "angle",
        "area",
        "area of children",
        "intensity",
        "intensity of children",
        "eccentricity",
        "size",
    ),
    "merge": ("one", "distance", "gap", "area", "intensity", "eccentricity"),
    "split": ("one", "distance", "gap", "area", "intensity", "eccentricity"),
    "appearance": ("one", "border", "size", "nearest"),
    "disappearance": ("one", "border", "size", "nearest"),
}
#: Nonzero weights of a simple tracker: a move costs its distance, any other event as much as a move by the
#: size of a cell.
_GUESS = {
    "move": {"distance": -1.0},
    "division": {"one": -1.0, "distance": -1.0},
    "merge": {"one": -1.0, "distance": -1.0},
    "split": {"one": -1.0, "distance": -1.0},
    "appearance": {"one": -1.0},
    "disappearance": {"one": -1.0},
}
#: Distances to the border and to the nearest cell are clipped at this multiple of the size of a cell.
_FAR = 3.0
#: Largest measurement of a cell, and smallest area and intensity: ratios, products and squared distances stay
#: finite.
_LARGEST, _LEAST = 1e100, 1e-100


@dataclass(frozen=True)
class Cells:
    """The cells that were detected in a frame."""

    position: Vector  #: row and column, of shape (n_cells, 2)
    area: Vector  #: number of pixels
    intensity: Vector  #: mean over the cell
    eccentricity: Vector  #: of the ellipse with the same second moments, 0 for a circle
    shape: tuple[int, int]  #: height and width of the frame

    def __post_init__(self) -> None:
        for name in ("position", "area", "intensity", "eccentricity"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        n = len(self.position)
        if np.shape(self.position) != (n, 2):
            raise ValueError(f"position has shape {np.shape(self.position)}: expected ({n}, 2)")
        for name in ("area", "intensity", "eccentricity"):
            values = getattr(self, name)
            if np.shape(values) != (n,):
                raise ValueError(f"{name} has shape {np.shape(values)}: expected ({n},), one per cell")
        numbers = np.column_stack([self.position, self.area, self.intensity, self.eccentricity])
        if not np.isfinite(numbers).all():
            raise ValueError(f"cell {int(np.argwhere(~np.isfinite(numbers))[0, 0])} is not finite")
        if n and min(self.area.min(), self.intensity.min()) <= 0:
            raise ValueError("a cell has no area or no intensity: expected positive numbers")
        far = (np.abs(numbers) > _LARGEST).any(axis=1) | (numbers[:, 2:4] < _LEAST).any(axis=1)
        if far.any():
            raise ValueError(
                f"cell {int(far.argmax())} measures {numbers[far][0].tolist()}: expected sizes of at most "
                f"{_LARGEST:g}, areas and intensities of at least {_LEAST:g}"
            )

    def __len__(self) -> int:
        return len(self.position)

    def border_distance(self) -> Vector:
        """Return the distance of each cell to the border of the frame, in pixels."""
        room = np.minimum(self.position, np.subtract(self.shape, 1) - self.position)
        return np.maximum(room.min(axis=1, initial=np.inf), 0.0)


@dataclass(frozen=True)
class Gates:
    """Limits of the candidate events; distances are relative to the size of a typical cell.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of nearest cells in the next frame that a cell may move to.
    move, division : float, default=2.0
        Largest distance of a move, and between a parent and its child.
    pieces : float, default=1.5
        Largest distance between two pieces of a cell, or between two cells that were detected as one.
    """

    n_neighbors: int = 5
    move: float = 2.0
    division: float = 2.0
    pieces: float = 1.5

    def __post_init__(self) -> None:
        if not isinstance(self.n_neighbors, (int, np.integer)) or self.n_neighbors < 1:
            raise ValueError(f"n_neighbors is {self.n_neighbors}: expected a whole number of at least 1")
        if not all(0 < reach < np.inf for reach in (self.move, self.division, self.pieces)):
            raise ValueError(f"{self}: expected positive distances")


def hypotheses_between(before: Cells, after: Cells, gates: Gates) -> Hypotheses:
    """Return the candidate events between two frames, with their features."""
    size = typical_size([before, after])
    moves = _near(before, after, gates.n_neighbors, gates.move * size)
    children = _pairs_about(before, after, gates.n_neighbors, gates.division * size)
    fragments = _close(after, children, gates.pieces * size)
    merged = _pairs_about(after, before, gates.n_neighbors, gates.pieces * size)
    merged = _close(before, merged, gates.pieces * size)
    every_source, every_target = (np.arange(len(cells))[:, None] for cells in (before, after))
    # Cells of the first frame, cells of the second frame, features.
    found = {
        "move": (moves[:, :1], moves[:, 1:], _moves(before, after, moves, size)),
        "division": (children[:, :1], children[:, 1:], _divisions(before, after, children, size)),
        "merge": (merged[:, 1:], merged[:, :1], _pieces(after, before, merged, size)),
        "split": (fragments[:, :1], fragments[:, 1:], _pieces(before, after, fragments, size)),
        "appearance": (every_target[:, :0], every_target, _alone(after, before, size)),
        "disappearance": (every_source, every_source[:, :0], _alone(before, after, size)),
    }
    candidates = {
        name: Candidates(_two_columns(sources), _two_columns(targets), features)
        for name, (sources, targets, features) in found.items()
    }
    return Hypotheses(len(before), len(after), candidates)


def guessed_weights() -> Vector:
    """Return the weights of a simple tracker, for which assignments are easy to find."""
    return np.array([_GUESS[kind].get(name, 0.0) for kind, names in FEATURES.items() for name in names])


def typical_size(frames: Iterable[Cells]) -> float:
    """Return the square root of the median area of all cells of the frames; 1 without cells."""
    areas = np.concatenate([cells.area for cells in frames])
    return float(np.sqrt(np.median(areas))) if len(areas) else 1.0


def _two_columns(cells: Pairs) -> Pairs:
    return np.pad(cells, ((0, 0), (0, 2 - cells.shape[1])), constant_values=NONE)


def _near(centers: Cells, around: Cells, n_neighbors: int, reach: float) -> Pairs:
    """Return pairs of a center and each of its nearest cells within reach."""
    if not len(centers) or not len(around):
        return np.zeros((0, 2), dtype=np.int64)
    wanted = min(n_neighbors, len(around))
    distances, numbers = cKDTree(around.position).query(centers.position, k=np.arange(1, wanted + 1))
    i, rank = np.nonzero(distances <= reach)
    return np.column_stack([i, numbers[i, rank]])


def _pairs_about(centers: Cells, around: Cells, n_neighbors: int, reach: float) -> Pairs:
    """Return triples of a center and two of its nearest cells within reach, the smaller index first."""
    pairs = _near(centers, around, n_neighbors, reach)
    starts = np.searchsorted(pairs[:, 0], np.arange(len(centers) + 1))
    counts = np.diff(starts)
    parts = [np.zeros((0, 3), dtype=np.int64)]
    for first, second in combinations(range(counts.max(initial=0)), 2):
        here = np.flatnonzero(counts > second)
        both = np.column_stack([pairs[starts[here] + first, 1], pairs[starts[here] + second, 1]])
        parts.append(np.column_stack([here, np.sort(both, axis=1)]))
    return np.concatenate(parts)


def _close(cells: Cells, triples: Pairs, reach: float) -> Pairs:
    """Return the triples whose last two cells are within reach of each other."""
    return triples[_distance(cells.position[triples[:, 1]], cells.position[triples[:, 2]]) <= reach]


def _moves(before: Cells, after: Cells, pairs: Pairs, size: float) -> Vector:
    i, j = pairs.T
    distance = _distance(before.position[i], after.position[j]) / size
    nearest = np.full(len(after), np.inf)
    np.minimum.at(nearest, j, distance)
    return _columns(
        distance,
        distance**2,
        distance - nearest[j],
        _change(before.area[i], after.area[j]),
        _change(before.intensity[i], after.intensity[j]),
        np.abs(before.eccentricity[i] - after.eccentricity[j]),
    )


def _divisions(before: Cells, after: Cells, triples: Pairs, size: float) -> Vector:
    i, a, b = triples.T
    to_a, to_b = after.position[a] - before.position[i], after.position[b] - before.position[i]
    far_a, far_b = (np.linalg.norm(way, axis=1) for way in (to_a, to_b))
    middle = (after.position[a] + after.position[b]) / 2
    cosine = np.sum(to_a * to_b, axis=1) / np.maximum(far_a * far_b, 1e-12)
    brightness = (after.intensity[a] + after.intensity[b]) / 2
    return _columns(
        _distance(before.position[i], middle) / size,
        _distance(after.position[a], after.position[b]) / size,
        np.abs(far_a - far_b) / size,
        cosine,
        np.log((after.area[a] + after.area[b]) / before.area[i]),
        _change(after.area[a], after.area[b]),
        np.log(brightness / before.intensity[i]),
        _change(after.intensity[a], after.intensity[b]),
        before.eccentricity[i],
        np.log(np.sqrt(before.area[i]) / size),
    )


def _pieces(whole: Cells, parts: Cells, triples: Pairs, size: float) -> Vector:
    """Return the features of two pieces of a cell that is whole in the other frame."""
    i, a, b = triples.T
    area = parts.area[a] + parts.area[b]
    weight = (parts.area[a] / area)[:, None]
    center = weight * parts.position[a] + (1 - weight) * parts.position[b]
    light = parts.area[a] * parts.intensity[a] + parts.area[b] * parts.intensity[b]
    return _columns(
        _distance(whole.position[i], center) / size,
        _distance(parts.position[a], parts.position[b]) / size,
        _change(area, whole.area[i]),
        _change(light / area, whole.intensity[i]),
        whole.eccentricity[i],
    )


def _alone(cells: Cells, others: Cells, size: float) -> Vector:
    """Return the features of appearances or disappearances."""
    nearest = np.full(len(cells), np.inf)
    if len(cells) and len(others):
        nearest = cKDTree(others.position).query(cells.position)[0]
    return _columns(
        np.minimum(cells.border_distance() / size, _FAR),
        np.log(np.sqrt(cells.area) / size),
        np.minimum(nearest / size, _FAR),
    )


def _columns(*columns: Vector) -> Vector:
    """Return a column of ones and the given columns."""
    return np.column_stack([np.ones(len(columns[0])), *columns])


def _distance(p: Vector, q: Vector) -> Vector:
    return np.linalg.norm(p - q, axis=1)


def _change(p: Vector, q: Vector) -> Vector:
    """Return the absolute logarithm of the ratio of two positive quantities."""
    return np.abs(np.log(p / q))
