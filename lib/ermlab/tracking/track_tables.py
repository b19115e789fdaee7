"""Tables of tracks: from label images, for napari, and as GEFF graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.files import broken
from ermlab._utils.lazy import import_optional
from ermlab.tracking.cells import as_image, measure
from ermlab.tracking.ctc import Lineage
from ermlab.tracking.points import TRACK_COLUMNS, column_names, tree_ids


def track_table(
    masks: Iterable[ArrayLike], lineage: Lineage, images: Iterable[ArrayLike] | None = None
) -> pd.DataFrame:
    """Return the table of the tracks of label images, with a row per cell and frame.

    Parameters
    ----------
    masks : iterable of array-like of int of shape (height, width)
        The label image of each frame, as `CellTracker.track_images` and `read_tracking` return them.
    lineage : Lineage
        The lineage of the labels.
    images : iterable of array-like of shape (height, width), optional
        The frames, for the column of intensities.

    Returns
    -------
    DataFrame
        Columns ``frame``; ``track_id``; ``parent_track_id``, which is 0 without a parent; ``tree_id``, the
        first track of the family; ``y`` and ``x``, the center in pixels; ``area`` in pixels;
        ``eccentricity``; and with images ``intensity``, the mean over the cell, background included.
    """
    parents = dict(zip(lineage.label.tolist(), lineage.parent.tolist(), strict=True))
    roots = tree_ids(lineage)
    lights = iter(images) if images is not None else None
    parts = [_rows([], [], {}, {}).assign(**_measured(*measure(np.zeros((0, 0), dtype=int))))]
    for frame, mask in enumerate(masks):
        labels, cells = measure(mask)
        if len(unknown := np.setdiff1d(labels, lineage.label)):
            raise ValueError(f"frame {frame} has the label {unknown[0]}: expected those of the lineage")
        part = _rows([frame] * len(labels), labels, parents, roots).assign(**_measured(labels, cells))
        if lights is not None:
            image = next(lights, None)
            if image is None:
                raise ValueError(f"{frame} images: expected one for each label image")
            part["intensity"] = _means(np.asarray(mask), as_image(image, cells.shape), labels)
        parts.append(part)
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)


def _rows(frame: Any, labels: Any, parents: dict[int, int], roots: dict[int, int]) -> pd.DataFrame:
    labels = np.asarray(labels, dtype=np.int64)
    return pd.DataFrame(
        {
            "frame": np.asarray(frame, dtype=np.int64),
            "track_id": labels,
            "parent_track_id": np.array([parents[label] for label in labels.tolist()], dtype=np.int64),
            "tree_id": np.array([roots[label] for label in labels.tolist()], dtype=np.int64),
        }
    )


def _measured(labels: NDArray, cells: Any) -> dict[str, NDArray]:
    y, x = cells.position.T
    return {"y": y, "x": x, "area": cells.area, "eccentricity": cells.eccentricity}


def _means(mask: NDArray, image: NDArray, labels: NDArray) -> NDArray[np.float64]:
    inside = mask > 0
    region = np.searchsorted(labels, mask[inside])
    return np.bincount(region, weights=image[inside], minlength=len(labels)) / np.bincount(region)


def napari_tracks(
    table: pd.DataFrame, columns: Mapping[str, str] | None = None
) -> tuple[NDArray[np.float64], dict[int, list[int]]]:
    """Return the data and the graph of a Tracks layer of napari.

    ``viewer.add_tracks(data, graph=graph)`` shows them; this function does not need napari.

    Parameters
    ----------
    table : DataFrame
        A table of `track_table` or `CellTracker.track_points`.
    columns : mapping of str to str, optional
        The columns for ``"frame"``, ``"y"`` and ``"x"``, by default recognized as in `film_of_points`.

    Returns
    -------
    data : ndarray of shape (n_rows, 4)
        Rows (track, frame, y, x), ordered by track and frame.
    graph : dict of int to list of int
        The parent of each track that has one.
    """
    table = checked_tracks(table, columns)
    data = table[["track_id", "frame", "y", "x"]].to_numpy(dtype=np.float64)
    children = table[table["parent_track_id"] > 0].drop_duplicates("track_id")
    pairs = zip(children["track_id"].tolist(), children["parent_track_id"].tolist(), strict=True)
    return data, {int(child): [int(parent)] for child, parent in pairs}


def write_geff(path: str | Path, table: pd.DataFrame, columns: Mapping[str, str] | None = None) -> None:
    """Write tracks as a graph in the Graph Exchange File Format (GEFF), a zarr folder.

    Each row is a node with its frame, place, track and further columns of finite numbers. Edges lead from
    each row to the next one of its track, and from the last row of a parent to the first ones of its
    children. This needs the package geff.

    Parameters
    ----------
    path : str or Path
        The folder to write, which must not exist.
    table : DataFrame
        A table of `track_table` or `CellTracker.track_points`.
    columns : mapping of str to str, optional
        The columns for ``"frame"``, ``"y"`` and ``"x"``, by default recognized as in `film_of_points`.
    """
    core_io, metadata = (import_optional(name, "write_geff") for name in ("geff.core_io", "geff_spec"))
    path, table = Path(path), checked_tracks(table, columns)
    if path.exists():
        raise broken(path, "it exists", "a new folder")
    numeric = (
        table.select_dtypes("number").rename(columns={"frame": "t"}).assign(tracklet_id=_tracklets(table))
    )
    properties = {
        str(name): {"values": column.to_numpy(), "missing": None}
        for name, column in numeric.items()
        if np.isfinite(column.to_numpy(dtype=np.float64)).all()
    }
    axes = [
        metadata.Axis(name="t", type="time"),
        metadata.Axis(name="y", type="space"),
        metadata.Axis(name="x", type="space"),
    ]
    core_io.write_arrays(
        str(path),
        node_ids=np.arange(len(table), dtype=np.uint64),
        node_props=properties,
        edge_ids=_edges(table),
        edge_props={},
        metadata=metadata.GeffMetadata(
            directed=True,
            axes=axes,
            node_props_metadata={},
            edge_props_metadata={},
            track_node_props={"tracklet": "tracklet_id", "lineage": "tree_id"},
        ),
    )


def _tracklets(table: pd.DataFrame) -> NDArray[np.int64]:
    """Return for each row the first track of its path without a branch, which GEFF calls a tracklet.

    A track that is the only child of another one, after a gap, continues its path.
    """
    tracks = table.drop_duplicates("track_id").sort_values("frame", kind="stable")
    n_children = tracks["parent_track_id"].value_counts()
    path: dict[int, int] = {}
    for track, parent in zip(tracks["track_id"].tolist(), tracks["parent_track_id"].tolist(), strict=True):
        path[track] = path[parent] if parent and n_children[parent] == 1 else track
    return np.array([path[track] for track in table["track_id"].tolist()], dtype=np.int64)


def _edges(table: pd.DataFrame) -> NDArray[np.uint64]:
    """Return the successive rows of each track, and of parents and children, of an ordered table."""
    track = table["track_id"].to_numpy()
    labels, first, counts = np.unique(track, return_index=True, return_counts=True)
    last = dict(zip(labels.tolist(), (first + counts - 1).tolist(), strict=True))
    inside = np.setdiff1d(np.arange(len(track)), first)
    edges = [(row - 1, row) for row in inside.tolist()]
    parents = table["parent_track_id"].to_numpy()[first]
    edges += [
        (last[parent], row) for row, parent in zip(first.tolist(), parents.tolist(), strict=True) if parent
    ]
    return np.array(sorted(edges), dtype=np.uint64).reshape(-1, 2)


def checked_tracks(table: pd.DataFrame, columns: Mapping[str, str] | None) -> pd.DataFrame:
    """Return a table of tracks with usual names, ordered by track and frame, or raise a ValueError."""
    names = column_names(table, columns or {})
    if missing := [name for name in TRACK_COLUMNS if name not in table.columns]:
        raise ValueError(
            f"the table has no column {missing[0]!r}: expected {', '.join(TRACK_COLUMNS)} of `track_table`"
        )
    table = table.rename(columns={names[quantity]: quantity for quantity in ("frame", "y", "x")})
    if (twice := table.duplicated(["track_id", "frame"])).any():
        track, frame = (table[name][twice].iloc[0] for name in ("track_id", "frame"))
        raise ValueError(f"track {track} is in frame {frame} twice: expected a row per track and frame")
    known = set(table["track_id"].tolist()) | {0}
    if unknown := set(table["parent_track_id"].tolist()) - known:
        raise ValueError(f"the parent {min(unknown)} is no track of the table: expected 0 or one of them")
    return table.sort_values(["track_id", "frame"], kind="stable", ignore_index=True)
