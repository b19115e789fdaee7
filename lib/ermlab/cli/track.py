"""The command `ermlab track`: track the cells of a film."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ermlab._utils.lazy import import_optional
from ermlab.cli._console import PATH, Watched, bar, examples, force_option, json_option, show, working
from ermlab.cli._films import column_names, columns_option, draw_points, is_table
from ermlab.cli._outputs import check_file, writing
from ermlab.cli._pictures import check_picture
from ermlab.exceptions import DataError

if TYPE_CHECKING:
    from ermlab.tracking import CellTracker


@click.command(
    epilog=examples(
        "ermlab track film/01 film/01_RES",
        "ermlab track film/01 result --overlay result.gif",
        "ermlab track masks result_of_masks --masks --images film/01",
        "ermlab track points.csv tracks.csv",
    )
)
@click.argument("film", type=PATH)
@click.argument("result", type=PATH)
@click.option("--masks", is_flag=True, help="FILM has label images, a segmentation of your own.")
@click.option("--images", type=PATH, help="The frames that belong to masks, for the brightness of cells.")
@click.option("--model", type=PATH, help="File of a trained tracker, by default the bundled one.")
@click.option(
    "--overlay",
    type=PATH,
    help="Picture of the last frame with all tracks (.png), or animation of all frames (.gif). "
    "By default RESULT.png.",
)
@click.option("--geff", type=PATH, help="Folder to write the tracks to as a graph in the format GEFF.")
@columns_option
@click.option("--diameter", type=float, help="Diameter of a typical cell, in pixels or the unit of a table.")
@force_option
@json_option
def track(
    film: Path,
    result: Path,
    masks: bool,
    images: Path | None,
    model: Path | None,
    overlay: Path | None,
    geff: Path | None,
    columns: str | None,
    diameter: float | None,
    force: bool,
    as_json: bool,
) -> None:
    """Track the cells of a film.

    FILM is a folder with an image for each frame, a TIFF stack (.tif), a zarr array (.zarr), the same with
    label images (--masks), or a table of points (.csv) with columns of the frame, x and y.

    The folder RESULT gets files as in the Cell Tracking Challenge: a label image mask000.tif, ... of each
    frame and the lineage res_track.txt. RESULT.csv has a row for each cell in each frame. For a table, RESULT
    is the table with the columns track_id, parent_track_id and tree_id.

    Frames are images of two axes: there is no tracking of volumes (3-D).
    """
    names = column_names(columns)
    if images is not None and not masks:
        raise click.UsageError("--images is given without --masks: expected both, or FILM alone")
    if is_table(film):
        _track_table(film, result, model, overlay, geff, names, diameter, force, as_json)
        return
    picture = overlay or result.with_name(result.name + ".png")
    check_picture(picture, ".png", ".gif", option="--overlay")
    _check_geff(geff)
    table = check_file(result.with_name(result.name + ".csv"), force)
    check_file(picture, force)
    with working("loading"):
        from ermlab import tracking

        _check_result(result, force)
        tracker = _tracker(model, diameter)
        frames = tracking.read_stack(film)
        lights = None if images is None else tracking.read_stack(images)
    with bar(len(frames), "tracking") as progress:
        watched: Sequence = Watched(frames, progress)
        found = tracker.track_masks(watched, lights) if masks else tracker.track_images(watched)
    label_images, lineage = found
    shown = lights if masks else frames
    rows = tracking.track_table(label_images, lineage, shown)
    tracking.write_tracking(result, label_images, lineage)
    with writing(table) as part:
        rows.to_csv(part, index=False, float_format="%.6g")
    if len(rows):
        with working("drawing"), writing(picture) as part:
            tracking.write_overlay(part, rows, shown, label_images)
    if geff is not None:
        tracking.write_geff(geff, rows)
    n_cells = rows.groupby("frame").size().reindex(range(len(label_images)), fill_value=0)
    summary = {
        "result": str(result),
        "table": str(table),
        "overlay": str(picture) if len(rows) else None,
        "geff": None if geff is None else str(geff),
        "unlike_training": list(tracker.report_.reasons) if tracker.report_ else [],
        "frames": len(label_images),
        "cells": len(rows),
        "tracks": len(lineage),
        "divisions": len(lineage.dividing),
    }
    text = (
        f"{result}: {len(label_images)} frames, {n_cells.min()} to {n_cells.max()} cells in each\n"
        f"{len(lineage)} tracks, {len(lineage.dividing)} divisions\n{table}"
    )
    show(summary, text + (f"\n{picture}" if len(rows) else ""), as_json)


def _track_table(
    film: Path,
    result: Path,
    model: Path | None,
    overlay: Path | None,
    geff: Path | None,
    names: dict[str, str],
    diameter: float | None,
    force: bool,
    as_json: bool,
) -> None:
    """Track a table of points."""
    if not is_table(result):
        raise click.BadParameter(
            f"{result}: expected a name that ends in .csv, since FILM is a table", param_hint="RESULT"
        )
    picture = overlay or result.with_suffix(".png")
    check_picture(picture, ".png", ".pdf", ".svg", option="--overlay")
    _check_geff(geff)
    check_file(result, force)
    check_file(picture, force)
    with working("tracking"):
        from ermlab import tracking

        tracker = _tracker(model, None, table=film, names=names)
        rows = tracker.track_points(film, names, diameter=diameter)
        places = {name: names[name] for name in ("frame", "x", "y") if name in names}
        data, parents = tracking.napari_tracks(rows, places)
        if geff is not None:
            tracking.write_geff(geff, rows, places)
    with writing(result) as part:
        rows.to_csv(part, index=False)
    import pandas as pd

    places = pd.DataFrame(data, columns=["track_id", "frame", "y", "x"])
    drawn = draw_points(picture, places, "x", "y", required=overlay is not None)
    families = pd.Series([parent for (parent,) in parents.values()], dtype=int).value_counts()
    summary: dict[str, Any] = {
        "result": str(result),
        "overlay": str(picture) if drawn else None,
        "geff": None if geff is None else str(geff),
        "unlike_training": list(tracker.report_.reasons) if tracker.report_ else [],
        "frames": int(places["frame"].nunique()),
        "cells": len(rows),
        "tracks": int(rows["track_id"].nunique()),
        "divisions": int((families >= 2).sum()),
    }
    text = (
        f"{result}: {summary['cells']} points in {summary['frames']} frames\n"
        f"{summary['tracks']} tracks, {summary['divisions']} divisions"
    )
    show(summary, text + (f"\n{picture}" if drawn else ""), as_json)


def _tracker(
    model: Path | None,
    diameter: float | None,
    table: Path | None = None,
    names: dict[str, str] | None = None,
) -> CellTracker:
    """Return the tracker, which detects cells of the given diameter, and fits the columns of a table."""
    from dataclasses import replace

    from ermlab.tracking import CellTracker, DetectionSettings

    if model is None:
        kind = "points" if table is not None and not _has_measures(table, names or {}) else "nuclei"
        tracker = CellTracker.pretrained(kind)
    else:
        tracker = CellTracker.load(model)
    if diameter is not None:
        tracker.detection = replace(tracker.detection or DetectionSettings(), diameter=diameter)
    return tracker


def _has_measures(table: Path, names: dict[str, str]) -> bool:
    """Return whether a table has areas or intensities of the cells beside their places."""
    from ermlab.tracking.points import read_points

    return bool({"area", "intensity"} & set(read_points(table, names).columns))


def _check_geff(geff: Path | None) -> None:
    """Raise a DataError unless a new folder can be written, and an ImportError without the package."""
    if geff is None:
        return
    import_optional("geff", "--geff")
    if geff.exists():
        raise DataError(f"{geff}: it exists; expected the name of a new folder")
    if not geff.parent.is_dir():
        raise DataError(f"{geff.parent}: no such folder; expected one to write {geff.name} to")


def _check_result(result: Path, force: bool) -> None:
    """Raise a DataError unless the result can be written."""
    from ermlab.tracking import check_result_folder

    if not result.parent.is_dir():
        raise DataError(f"{result.parent}: no such folder; expected one to write {result.name} to")
    check_result_folder(result)
    if not force and result.is_dir() and any(result.iterdir()):
        raise DataError(f"{result}: an earlier result; expected a new folder, or --force to replace it")
