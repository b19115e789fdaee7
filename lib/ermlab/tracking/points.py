"""Films from tables of points, as pandas and most trackers have them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ermlab._utils.files import reading, require_file
from ermlab._utils.validation import positive_number
from ermlab.tracking.ctc import Lineage
from ermlab.tracking.films import CellFilm
from ermlab.tracking.lineage import CellTracks

Vector = NDArray[np.float64]
#: Names by which columns are recognized, whatever their case; the first that the table has counts.
COLUMNS = {
    "frame": ("frame", "t", "timepoint", "frame_idx", "position_t", "time"),
    "y": ("y", "centroid-0", "centroid_y", "position_y", "y_px", "row"),
    "x": ("x", "centroid-1", "centroid_x", "position_x", "x_px", "column"),
    "z": ("z", "position_z"),
    "area": ("area", "size"),
    "intensity": ("intensity", "intensity_mean", "mean_intensity", "mean_intensity_ch1"),
    "eccentricity": ("eccentricity",),
}
_NEEDED, _OPTIONAL = ("frame", "y", "x"), ("area", "intensity", "eccentricity")
#: Size of a typical cell in the films of points: lengths of users have any unit, and films whole ones.
_UNIT = 10.0
#: Distance to the nearest neighbor relative to the size of a cell (the square root of its area) where neither
#: is known: the median over the films of nuclei that the bundled tracker was trained on.
_SPACING = 1.7
#: Largest coordinate after scaling, which 32 bits hold.
_LARGEST = 1e9
_TRACK = "track"
#: Columns of tables of tracks.
TRACK_COLUMNS = ("track_id", "tree_id", "parent_track_id")


@dataclass(frozen=True)
class Points:
    """A table of points and the film of its rows.

    Parameters
    ----------
    table : DataFrame
        The table as it was given.
    film : CellFilm
        The points in the order of their frames.
    order : ndarray of int
        The row of the table of each detection of the film.
    first : int
        Number of the first frame in the table.
    columns : dict of str to str
        Column of the table for ``"frame"``, ``"y"``, ``"x"`` and the measurements it has.
    """

    table: pd.DataFrame
    film: CellFilm
    order: NDArray[np.int64]
    first: int
    columns: dict[str, str]


def film_of_points(
    table: pd.DataFrame | Mapping[str, Any] | str | Path,
    columns: Mapping[str, str] | None = None,
    *,
    diameter: float | None = None,
    shape: tuple[float, float] | None = None,
) -> CellFilm:
    """Return the film of a table with a row per cell and frame.

    Lengths may have any unit: the film is scaled such that a typical cell has 100 pixels. What the table
    lacks is the same for all cells: it does not distinguish them. A typical size is needed in any case, since
    distances are relative to it: see ``diameter``.

    Parameters
    ----------
    table : DataFrame, mapping of str to array-like, str or Path
        The table, or the CSV file with it: columns of the frame, of x and y, and optionally of area, mean
        intensity, eccentricity, true track and its parent.
    columns : mapping of str to str, optional
        The name of the column for any of ``"frame"``, ``"x"``, ``"y"``, ``"area"``, ``"intensity"``,
        ``"eccentricity"``, ``"track"`` and ``"parent"``; by default usual names are recognized. Tracks are
        for training only, and used if they are named here; a missing or negative one is unknown. A parent
        that is missing, negative or the track itself is none, and so is 0 unless there is a track 0.
    diameter : float, optional
        Diameter of a typical cell, in the unit of x and y. By default that of a disc with the median area, or
        without areas the median distance to the nearest neighbor divided by 1.9, as in films of nuclei.
    shape : tuple of float, optional
        Height and width of the frames, in the unit of x and y, whose origin is then 0; by default the
        smallest rectangle with all points. Cells often appear and disappear at its border.
    """
    return read_points(table, columns, diameter=diameter, shape=shape).film


def read_points(
    table: pd.DataFrame | Mapping[str, Any] | str | Path,
    columns: Mapping[str, str] | None = None,
    *,
    diameter: float | None = None,
    shape: tuple[float, float] | None = None,
) -> Points:
    """Return a table with its film, as `film_of_points` does."""
    table = _as_table(table)
    names = column_names(table, columns or {})
    if not len(table):
        raise ValueError("the table has no rows: expected a row per cell and frame")
    _check_plane(table, names)
    frame = _whole(table, names["frame"])
    order = np.argsort(frame, kind="stable")
    values = {name: _numbers(table, names[name])[order] for name in ("y", "x", *_OPTIONAL) if name in names}
    first = int(frame.min())
    frame = frame[order] - first
    position = np.column_stack([values["y"], values["x"]])
    for name in ("area", "intensity"):
        _check_positive(table, names, order, name, values.get(name))
    size = _size(frame, position, values.get("area"), diameter)
    position, frame_shape = _scaled(position, size, shape)
    ones = np.ones(len(frame))
    area = values["area"] / size**2 if "area" in values else ones
    known = _tracks(table, names, frame, order)
    film = CellFilm(
        frame=frame,
        position=position,
        area=_UNIT**2 * area,
        intensity=values.get("intensity", ones),
        eccentricity=values.get("eccentricity", 0 * ones),
        shape=frame_shape,
        n_frames=int(frame[-1]) + 1,
        tracks=known[0],
        lineage=known[1],
    )
    return Points(table, film, order, first, names)


def track_table_of(points: Points, track: Callable[[CellFilm], CellTracks]) -> pd.DataFrame:
    """Return the table of points with the columns of their tracks, which must be new ones."""
    if taken := [name for name in TRACK_COLUMNS if name in points.table.columns]:
        raise ValueError(f"the table has a column {taken[0]!r} already: drop or rename it")
    empty = np.flatnonzero(np.bincount(points.film.frame, minlength=len(points.film)) == 0)
    if len(empty):
        warnings.warn(
            f"frame {points.first + empty[0]} has no points, and {len(empty)} frames in all: tracks end "
            "there. Number the frames without gaps if some were left out",
            UserWarning,
            stacklevel=3,
        )
    tracks = track(points.film)
    label = np.empty_like(tracks.label)
    label[points.order] = tracks.label
    parents = dict(zip(tracks.lineage.label.tolist(), tracks.lineage.parent.tolist(), strict=True))
    roots = tree_ids(tracks.lineage)
    columns = (
        label,
        [roots[track] for track in label.tolist()],
        [parents[track] for track in label.tolist()],
    )
    return points.table.assign(**dict(zip(TRACK_COLUMNS, map(np.asarray, columns), strict=True)))


def tree_ids(lineage: Lineage) -> dict[int, int]:
    """Return for each track the first track of its family."""
    parents = dict(zip(lineage.label.tolist(), lineage.parent.tolist(), strict=True))
    roots: dict[int, int] = {}
    for label in parents:
        line = [label]
        while line[-1] not in roots and parents[line[-1]]:
            line.append(parents[line[-1]])
        roots |= dict.fromkeys(line, roots.get(line[-1], line[-1]))
    return roots


def _as_table(table: Any) -> pd.DataFrame:
    if isinstance(table, str | Path):
        with reading(table, "a CSV file with a line of column names"):
            return pd.read_csv(require_file(table), low_memory=False)
    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, Mapping):
        return pd.DataFrame(dict(table))
    raise ValueError(
        f"a table of type {type(table).__name__}: expected a DataFrame or the path of a CSV file"
    )


def column_names(table: pd.DataFrame, given: Mapping[str, str]) -> dict[str, str]:
    """Return the column of each quantity that the table has."""
    allowed = (*_NEEDED, *_OPTIONAL, _TRACK, "parent")
    if unknown := sorted(set(given) - set(allowed)):
        raise ValueError(f"columns has {unknown[0]!r}: expected some of {', '.join(allowed)}")
    names = [str(name) for name in table.columns]
    for name in given.values():
        if name not in names:
            raise ValueError(f"the table has no column {name!r}: its columns are {', '.join(names)}")
    found = dict(given)
    lower = {name.lower(): name for name in reversed(names)}
    for quantity, usual in COLUMNS.items():
        match = [lower[name] for name in usual if name in lower and lower[name] not in given.values()]
        if quantity not in found and match:
            found[quantity] = match[0]
    if missing := [quantity for quantity in _NEEDED if quantity not in found]:
        raise ValueError(
            f"the table has no column for {missing[0]!r} ({', '.join(COLUMNS[missing[0]][:3])}, ...): its "
            f"columns are {', '.join(names) or 'none'}; name one by columns={{{missing[0]!r}: ...}}"
        )
    for quantity, name in found.items():
        if names.count(name) > 1:
            raise ValueError(f"the table has the column {name!r} of {quantity!r} twice: expected one")
    if "parent" in found and _TRACK not in found:
        raise ValueError("columns has a 'parent' without a 'track': expected both")
    return found


def _entry(table: pd.DataFrame, name: str, row: int) -> str:
    """Describe an entry of a table; numbers of numpy are shown like others."""
    value = table[name].iloc[row]
    return f"column {name!r} is {repr(value) if isinstance(value, str) else value} in row {row}"


def _numbers(table: pd.DataFrame, name: str, *, missing: bool = False) -> Vector:
    """Return a column of finite numbers; missing ones are NaN if they are allowed."""
    column = table[name]
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    allowed = column.isna().to_numpy() if missing else np.zeros(len(column), dtype=bool)
    if (wrong := ~np.isfinite(numbers) & ~allowed).any():
        row = int(wrong.argmax())
        raise ValueError(f"{_entry(table, name, row)}: expected a finite number")
    return numbers


def _whole(table: pd.DataFrame, name: str, *, missing: int | None = None) -> NDArray[np.int64]:
    """Return a column of whole numbers, with ``missing`` where there is none; None allows no missing ones."""
    numbers = _numbers(table, name, missing=missing is not None)
    numbers = np.where(np.isnan(numbers), missing or 0.0, numbers)
    if (wrong := (numbers != np.round(numbers)) | (np.abs(numbers) > _LARGEST)).any():
        row = int(wrong.argmax())
        raise ValueError(f"{_entry(table, name, row)}: expected a whole number of at most {_LARGEST:g}")
    return numbers.astype(np.int64)


def _check_plane(table: pd.DataFrame, names: Mapping[str, str]) -> None:
    if "z" in names and len(np.unique(_numbers(table, names["z"]))) > 1:
        raise ValueError(
            f"column {names['z']!r} has different values: expected points in a plane, volumes (3-D) are not "
            "supported; drop the column to track the projection"
        )


def _check_positive(
    table: pd.DataFrame, names: Mapping[str, str], order: NDArray, name: str, values: Vector | None
) -> None:
    if values is not None and values.min() <= 0:
        row = int(order[values.argmin()])
        raise ValueError(f"{_entry(table, names[name], row)}: expected more than 0")


def _size(frame: NDArray, position: Vector, area: Vector | None, diameter: float | None) -> float:
    """Return the square root of the area of a typical cell."""
    if diameter is not None:
        return positive_number("diameter", diameter) * np.sqrt(np.pi) / 2
    if area is not None:
        return float(np.sqrt(np.median(area)))
    distances = []
    for points in np.split(position, np.flatnonzero(np.diff(frame)) + 1):
        if len(points) > 1:
            distances.append(cKDTree(points).query(points, k=2)[0][:, 1])
    spacing = np.median(np.concatenate(distances)) if distances else 0.0
    if not spacing > 0:
        raise ValueError(
            "the size of a cell cannot be estimated, as no two points of a frame differ: pass its diameter"
        )
    return float(spacing) / _SPACING


def _scaled(
    position: Vector, size: float, shape: tuple[float, float] | None
) -> tuple[Vector, NDArray[np.int64]]:
    """Return positions in units in which a typical cell has the size `_UNIT`, and the shape of the frames."""
    if shape is None:
        origin = position.min(axis=0)
        extent = position.max(axis=0) - origin
    else:
        origin = np.zeros(2)
        extent = np.array([positive_number(f"shape[{axis}]", shape[axis]) for axis in range(2)])
    scale = _UNIT / size
    if not (np.abs(position - origin).max() * scale < _LARGEST and extent.max() * scale < _LARGEST):
        raise ValueError(
            f"points up to {np.abs(position).max():.3g} and cells of the size {size:.3g}: expected a ratio "
            f"below {_LARGEST / _UNIT:g}; pass the diameter of a cell"
        )
    return (position - origin) * scale, np.ceil(extent * scale).astype(np.int64) + 1


def _tracks(
    table: pd.DataFrame, names: Mapping[str, str], frame: NDArray, order: NDArray
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows (detection, track) and the lineage of the tracks in the table, as in `CellFilm`.

    Labels are larger by 1 than in the table, in which they may start with 0.
    """
    if _TRACK not in names:
        return np.zeros((0, 2), dtype=np.int64), np.zeros((0, 4), dtype=np.int64)
    track = _labels(table, names[_TRACK])[order]
    parent = _labels(table, names["parent"])[order] if "parent" in names else np.zeros_like(track)
    known = np.flatnonzero(track)
    rows = pd.DataFrame({"track": track, "frame": frame, "parent": parent}).iloc[known]
    if (twice := rows.duplicated(["track", "frame"])).any():
        label = rows[twice]["track"].iloc[0]
        raise ValueError(
            f"column {names[_TRACK]!r} has track {label - 1} more than once in a frame: expected one row per "
            "track and frame"
        )
    tracks = rows.groupby("track").agg(
        begin=("frame", "min"), end=("frame", "max"), parent=("parent", "max"), least=("parent", "min")
    )
    if (differ := tracks["parent"] != tracks["least"]).any():
        raise ValueError(f"track {tracks.index[differ][0] - 1} has several parents: expected one, or none")
    mother = tracks["parent"].to_numpy()
    # btrack names a track its own parent; 0 may be no parent, or the track 0.
    mother = np.where((mother == tracks.index) | ((mother == 1) & (1 not in tracks.index)), 0, mother)
    if len(lost := np.setdiff1d(mother[mother > 0], tracks.index)):
        raise ValueError(f"column {names['parent']!r} has {lost[0] - 1}: expected one of the tracks")
    lineage = np.column_stack([tracks.index, tracks["begin"], tracks["end"], mother])
    return np.column_stack([known, track[known]]), lineage.astype(np.int64)


def _labels(table: pd.DataFrame, name: str) -> NDArray[np.int64]:
    """Return a column of tracks plus 1, 0 where it is missing or negative."""
    return np.maximum(_whole(table, name, missing=-1), -1) + 1
