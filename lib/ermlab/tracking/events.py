"""Candidate events between two frames, and their features (cheap-data, section 1.2.2).

Lengths are relative to the size of a typical cell, areas and intensities are logarithms of ratios, so that
the same weights apply to images of any magnification and exposure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ermlab.tracking._events_numba import close, divisions, moves, near, pairs_about, pieces
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
#: Features that are logarithms of ratios; the magnitude of a logarithm is the same for both directions.
_LOGARITHMS = {
    "move": ("area", "intensity"),
    "division": ("area", "area of children", "intensity", "intensity of children", "size"),
    "merge": ("area", "intensity"),
    "split": ("area", "intensity"),
}
_MAGNITUDES = {
    "move": ("area", "intensity"),
    "division": ("area of children", "intensity of children"),
    "merge": ("area", "intensity"),
    "split": ("area", "intensity"),
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
    forward, backward = _nearest(before, after, gates), _nearest(after, before, gates)
    first, second = _measurements(before), _measurements(after)
    links = near(*forward, gates.move * size)
    children = pairs_about(*forward, gates.division * size)
    fragments = children[close(second, children, gates.pieces * size)]
    merged = pairs_about(*backward, gates.pieces * size)
    merged = merged[close(first, merged, gates.pieces * size)]
    every_source, every_target = (np.arange(len(cells))[:, None] for cells in (before, after))
    # Cells of the first frame, cells of the second frame, features.
    found = {
        "move": (links[:, :1], links[:, 1:], _with_logarithms("move", *moves(first, second, links, size))),
        "division": (
            children[:, :1],
            children[:, 1:],
            _with_logarithms("division", *divisions(first, second, children, size)),
        ),
        "merge": (
            merged[:, 1:],
            merged[:, :1],
            _with_logarithms("merge", *pieces(second, first, merged, size)),
        ),
        "split": (
            fragments[:, :1],
            fragments[:, 1:],
            _with_logarithms("split", *pieces(first, second, fragments, size)),
        ),
        "appearance": (every_target[:, :0], every_target, _alone(after, backward[0], size)),
        "disappearance": (every_source, every_source[:, :0], _alone(before, forward[0], size)),
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
    padded = np.full((len(cells), 2), NONE)
    padded[:, : cells.shape[1]] = cells
    return padded


def _measurements(cells: Cells) -> Vector:
    """Return rows (row, column, area, intensity, eccentricity)."""
    return np.column_stack([cells.position, cells.area, cells.intensity, cells.eccentricity])


def _nearest(centers: Cells, around: Cells, gates: Gates) -> tuple[Vector, Pairs]:
    """Return the distances and numbers of the nearest cells of each center, the nearest first."""
    wanted = min(gates.n_neighbors, len(around))
    if not len(centers) or not wanted:
        return np.zeros((len(centers), 0)), np.zeros((len(centers), 0), dtype=np.int64)
    return cKDTree(around.position).query(centers.position, k=np.arange(1, wanted + 1))


def _with_logarithms(kind: str, features: Vector, ratios: Vector) -> Vector:
    """Return the features with the logarithms of the ratios in their places."""
    for name, logarithm in zip(_LOGARITHMS[kind], np.log(ratios), strict=True):
        features[:, FEATURES[kind].index(name)] = (
            np.abs(logarithm) if name in _MAGNITUDES[kind] else logarithm
        )
    return features


def _alone(cells: Cells, distances: Vector, size: float) -> Vector:
    """Return the features of appearances or disappearances."""
    nearest = distances[:, 0] if distances.shape[1] else np.full(len(cells), np.inf)
    return np.column_stack(
        [
            np.ones(len(cells)),
            np.minimum(cells.border_distance() / size, _FAR),
            np.log(np.sqrt(cells.area) / size),
            np.minimum(nearest / size, _FAR),
        ]
    )
