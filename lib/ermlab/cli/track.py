"""The commands `ermlab track` and `ermlab track-train`: track cells, and learn a tracker of your own."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ermlab.cli._console import PATH, Watched, bar, examples, force_option, json_option, show, working
from ermlab.cli._outputs import check_file, writing
from ermlab.cli._pictures import check_picture, new_figure, pixels
from ermlab.exceptions import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ermlab.tracking import CellFilm, Lineage


@click.command(
    epilog=examples("ermlab track film/01 film/01_RES", "ermlab track film/01 result --overlay result.gif")
)
@click.argument("film", type=PATH)
@click.argument("result", type=PATH)
@click.option("--model", type=PATH, help="File of a trained tracker, by default the bundled one.")
@click.option(
    "--overlay",
    type=PATH,
    help="Picture of the last frame with all tracks (.png), or animation of all frames (.gif). "
    "By default RESULT.png.",
)
@force_option
@json_option
def track(
    film: Path, result: Path, model: Path | None, overlay: Path | None, force: bool, as_json: bool
) -> None:
    """Track the cells of a film.

    FILM is a folder with the frames t000.tif, t001.tif, ...

    The folder RESULT gets files as in the Cell Tracking Challenge: a label image mask000.tif, ... of each
    frame and the lineage res_track.txt. RESULT.csv has a row for each cell in each frame: frame, track,
    parent, y, x and area.
    """
    table = result.with_name(result.name + ".csv")
    picture = overlay or result.with_name(result.name + ".png")
    check_picture(picture, ".png", ".gif", option="--overlay")
    check_file(table, force)
    check_file(picture, force)
    with working("loading"):
        from ermlab import tracking

        _check_result(result, force)
        tracker = tracking.CellTracker.pretrained() if model is None else tracking.CellTracker.load(model)
        frames = tracking.read_frames(film)
    with bar(len(frames), "tracking") as progress:
        masks, lineage = tracker.track_images(Watched(frames, progress))
    tracking.write_tracking(result, masks, lineage)
    n_rows = _write_table(table, masks, lineage)
    drawn = _draw(picture, frames, masks, lineage, required=overlay is not None)
    summary = {
        "result": str(result),
        "table": str(table),
        "overlay": str(picture) if drawn else None,
        "frames": len(masks),
        "cells": n_rows,
        "tracks": len(lineage),
        "divisions": len(lineage.dividing),
    }
    text = (
        f"{result}: {len(masks)} frames, {n_rows} cells, {len(lineage)} tracks, "
        f"{len(lineage.dividing)} divisions\n{table}" + (f"\n{picture}" if drawn else "")
    )
    show(summary, text, as_json)


@click.command("track-train", epilog=examples("ermlab track-train film/01 film/01_GT/TRA my_tracker.json"))
@click.argument("film", type=PATH)
@click.argument("annotation", type=PATH)
@click.argument("model", type=PATH)
@force_option
@json_option
def track_train(film: Path, annotation: Path, model: Path, force: bool, as_json: bool) -> None:
    """Learn a tracker from annotated cells.

    FILM is a folder with the frames t000.tif, t001.tif, ... and ANNOTATION one with man_track.txt and the
    masks man_track000.tif, ... of some frames, as in the Cell Tracking Challenge. `ermlab track --model
    MODEL` uses the result.
    """
    check_file(model, force)
    with working("loading"):
        from ermlab import tracking

        frames = tracking.read_frames(film)
        truth = tracking.read_annotation(annotation, frames)
    with bar(len(frames), "detecting cells") as progress:
        detected = tracking.film_of_images(Watched(frames, progress), truth=truth)
    with working("training"):
        tracker = tracking.CellTracker().fit(detected)
        known = [len(pair.annotation.events) for pair in tracking.frame_pairs(detected, tracking.Gates())]
        score = tracker.score(detected)
    notes = f"learned from {sum(known)} events between {sum(map(bool, known))} pairs of frames"
    with writing(model) as part:
        tracker.save(part, notes=notes)
    n_annotated = sum(len(_labels(mask)) for mask in truth.masks)
    summary = {
        "model": str(model),
        "events": sum(known),
        "events_found": score,
        "annotated_cells": n_annotated,
        "detected_cells": _n_detected(detected),
    }
    text = (
        f"{model}: {notes}, finds {100 * score:.1f} % of them\n"
        f"{summary['detected_cells']} of {n_annotated} annotated cells were detected"
    )
    show(summary, text, as_json)


def _check_result(result: Path, force: bool) -> None:
    """Raise a DataError unless the result can be written."""
    from ermlab import tracking

    if not result.parent.is_dir():
        raise DataError(f"{result.parent}: no such folder; expected one to write {result.name} to")
    tracking.check_result_folder(result)
    if not force and result.is_dir() and any(result.iterdir()):
        raise DataError(f"{result}: an earlier result; expected a new folder, or --force to replace it")


def _write_table(path: Path, masks: Sequence[NDArray[np.integer]], lineage: Lineage) -> int:
    """Write a row for each cell in each frame, and return their number."""
    from ermlab.tracking import measure

    parents = dict(zip(lineage.label.tolist(), lineage.parent.tolist(), strict=True))
    n_rows = 0
    with writing(path) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["frame", "track", "parent", "y", "x", "area"])
        for frame, mask in enumerate(masks):
            labels, cells = measure(mask)
            for label, (y, x), area in zip(labels.tolist(), cells.position, cells.area, strict=True):
                writer.writerow([frame, label, parents[label], f"{y:.2f}", f"{x:.2f}", f"{area:.0f}"])
                n_rows += 1
    return n_rows


def _draw(path: Path, frames: Any, masks: Any, lineage: Lineage, *, required: bool) -> bool:
    """Draw the last frame or an animation; return whether this was possible."""
    height, width = masks[0].shape
    animated = path.suffix.lower() == ".gif"
    shown = range(len(masks)) if animated else [len(masks) - 1]
    pictures = []
    with bar(len(shown), "drawing") as progress:
        for frame in shown:
            figure = new_figure((8.0, 8.0 * height / width + 0.3), required)
            if figure is None:
                return False
            from ermlab.tracking import show_tracked_frame

            axes = figure.subplots()
            show_tracked_frame(axes, frames[frame], masks, lineage, frame, title=f"frame {frame}")
            pictures.append(pixels(figure))
            progress.update(1)
    animation = {"save_all": True, "append_images": pictures[1:], "duration": 250, "loop": 0}
    with writing(path) as part:
        pictures[0].save(part, **animation if animated else {})
    return True


def _labels(mask: NDArray[np.integer]) -> NDArray[np.integer]:
    import numpy as np

    return np.unique(mask[mask > 0])


def _n_detected(film: CellFilm) -> int:
    """Return the number of true cells in all frames that a detection holds."""
    import numpy as np

    detection, track = film.tracks.T
    return len(np.unique(np.column_stack([film.frame[detection], track]), axis=0))
