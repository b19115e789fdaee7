"""What may have happened to cells between two frames, and how likely it looks (cheap-data, section 1.2.2).

Lengths are measured in the size of a typical cell, areas and intensities as logarithms of ratios, so that one
set of weights serves images of any magnification and exposure.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ermlab.tracking.assignment import EVENTS, NONE, Candidates, Hypotheses

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
#: Weights of a plain tracker, a feature that is not named weighs nothing: cells stay where they are; what is
#: not a move costs as much as a move by a cell's size.
_GUESS = {
    "move": {"distance": -1.0},
    "division": {"one": -1.0, "distance": -1.0},
    "merge": {"one": -1.0, "distance": -1.0},
    "split": {"one": -1.0, "distance": -1.0},
    "appearance": {"one": -1.0},
    "disappearance": {"one": -1.0},
}
#: Distances to the border and to the nearest cell count up to so many sizes of a cell.
_FAR = 3.0
#: Measures of cells are at most so large, areas and intensities at least so small: their ratios, products and
#: squares of distances stay finite.
_LARGEST, _LEAST = 1e100, 1e-100


@dataclass(frozen=True)
class Cells:
    """The cells that were detected in a frame."""

    position: Vector  #: (n, 2) row and column
    area: Vector  #: pixels
    intensity: Vector  #: mean over the cell
    eccentricity: Vector  #: of the ellipse with the same moments, 0 for a circle
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
                raise ValueError(f"{name} has shape {np.shape(values)}: expected ({n},), one for each cell")
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
        """Return how far each cell is from the border of the frame, in pixels."""
        room = np.minimum(self.position, np.subtract(self.shape, 1) - self.position)
        return np.maximum(room.min(axis=1, initial=np.inf), 0.0)


@dataclass(frozen=True)
class Gates:
    """Which events are considered: those of near cells, in sizes of a typical cell.

    Parameters
    ----------
    n_neighbors
        A cell may go to so many of the nearest cells of the next frame.
    move, division
        How far a cell may go, and a child from its parent.
    pieces
        How far apart two pieces of a cell may lie, or two cells that were taken for one.
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
    found = {
        "move": _moves(before, after, moves, size),
        "division": _divisions(before, after, children, size),
        "merge": _pieces(after, before, merged, size),
        "split": _pieces(before, after, fragments, size),
        "appearance": _alone(after, before, size),
        "disappearance": _alone(before, after, size),
    }
    first = {"move": moves[:, :1], "division": children[:, :1], "merge": merged[:, 1:]}
    first |= {"split": fragments[:, :1], "appearance": np.zeros((len(after), 0), dtype=np.int64)}
    second = {"move": moves[:, 1:], "division": children[:, 1:], "merge": merged[:, :1]}
    second |= {"split": fragments[:, 1:], "appearance": np.arange(len(after))[:, None]}
    first["disappearance"] = np.arange(len(before))[:, None]
    second["disappearance"] = np.zeros((len(before), 0), dtype=np.int64)
    return Hypotheses(
        len(before),
        len(after),
        {
            name: Candidates(_two_columns(first[name]), _two_columns(second[name]), found[name])
            for name in EVENTS
        },
    )


def guessed_weights() -> Vector:
    """Return the weights of a plain tracker, to start from: with them assignments are easy to find."""
    return np.array([_GUESS[kind].get(name, 0.0) for kind, names in FEATURES.items() for name in names])


def typical_size(frames: Iterable[Cells]) -> float:
    """Return the square root of the median area of the cells of some frames; 1 without a cell."""
    areas = np.concatenate([cells.area for cells in frames])
    return float(np.sqrt(np.median(areas))) if len(areas) else 1.0


def _two_columns(cells: Pairs) -> Pairs:
    return np.pad(cells, ((0, 0), (0, 2 - cells.shape[1])), constant_values=NONE)


def _near(centres: Cells, around: Cells, n_neighbors: int, reach: float) -> Pairs:
    """Return pairs (centre, cell around it): its nearest ones within reach."""
    if not len(centres) or not len(around):
        return np.zeros((0, 2), dtype=np.int64)
    wanted = min(n_neighbors, len(around))
    distances, numbers = cKDTree(around.position).query(centres.position, k=np.arange(1, wanted + 1))
    i, rank = np.nonzero(distances <= reach)
    return np.column_stack([i, numbers[i, rank]])


def _pairs_about(centres: Cells, around: Cells, n_neighbors: int, reach: float) -> Pairs:
    """Return triples (centre, two of its nearest cells within reach, the smaller number first)."""
    pairs = _near(centres, around, n_neighbors, reach)
    starts = np.searchsorted(pairs[:, 0], np.arange(len(centres) + 1))
    counts = np.diff(starts)
    parts = [np.zeros((0, 3), dtype=np.int64)]
    for first, second in combinations(range(counts.max(initial=0)), 2):
        here = np.flatnonzero(counts > second)
        both = np.column_stack([pairs[starts[here] + first, 1], pairs[starts[here] + second, 1]])
        parts.append(np.column_stack([here, np.sort(both, axis=1)]))
    return np.concatenate(parts)


def _close(cells: Cells, triples: Pairs, reach: float) -> Pairs:
    """Keep the triples whose two cells are near each other."""
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
    """Describe two pieces that are one cell in the other frame: it is where they are, and as large."""
    i, a, b = triples.T
    area = parts.area[a] + parts.area[b]
    weight = (parts.area[a] / area)[:, None]
    centre = weight * parts.position[a] + (1 - weight) * parts.position[b]
    light = parts.area[a] * parts.intensity[a] + parts.area[b] * parts.intensity[b]
    return _columns(
        _distance(whole.position[i], centre) / size,
        _distance(parts.position[a], parts.position[b]) / size,
        _change(area, whole.area[i]),
        _change(light / area, whole.intensity[i]),
        whole.eccentricity[i],
    )


def _alone(cells: Cells, others: Cells, size: float) -> Vector:
    """Describe cells that no cell of the other frame explains: at the border, small, with no cell near."""
    nearest = np.full(len(cells), np.inf)
    if len(cells) and len(others):
        nearest = cKDTree(others.position).query(cells.position)[0]
    return _columns(
        np.minimum(cells.border_distance() / size, _FAR),
        np.log(np.sqrt(cells.area) / size),
        np.minimum(nearest / size, _FAR),
    )


def _columns(*columns: Vector) -> Vector:
    """Return features as columns, the first of them 1."""
    return np.column_stack([np.ones(len(columns[0])), *columns])


def _distance(p: Vector, q: Vector) -> Vector:
    return np.linalg.norm(p - q, axis=1)


def _change(p: Vector, q: Vector) -> Vector:
    """Return by how much two positive quantities differ, whichever is larger."""
    return np.abs(np.log(p / q))
