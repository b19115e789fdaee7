"""The command `ermlab track-train`: learn a tracker from annotated cells."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ermlab.cli._console import PATH, Watched, bar, examples, force_option, json_option, show, working
from ermlab.cli._films import column_names, columns_option, is_table
from ermlab.cli._outputs import check_file, writing
from ermlab.exceptions import DataError

if TYPE_CHECKING:
    from ermlab.tracking import CellFilm, CellTracker


@click.command(
    "track-train",
    epilog=examples(
        "ermlab track-train film/01 film/01_GT/TRA my_tracker.json",
        "ermlab track-train annotated.csv my_tracker_of_points.json --columns track=track_id",
    ),
)
@click.argument("sources", type=PATH, nargs=-1, required=True)
@click.argument("model", type=PATH)
@columns_option
@click.option("--alpha", default=1e-3, show_default=True, help="Regularization strength.")
@click.option("--max-time", type=float, help="Limit in seconds on the training.")
@force_option
@json_option
def track_train(
    sources: tuple[Path, ...],
    model: Path,
    columns: str | None,
    alpha: float,
    max_time: float | None,
    force: bool,
    as_json: bool,
) -> None:
    """Learn a tracker from annotated cells, for `ermlab track --model MODEL`.

    SOURCES are one of

    \b
    - a folder with the frames t000.tif, t001.tif, ..., and one with man_track.txt
      and masks man_track000.tif, ... of some or all frames, as in the Cell Tracking
      Challenge;
    - the latter alone, with masks of all frames, for a segmentation of your own;
    - a table (.csv) of points with a column of the true track, named by --columns
      track=COLUMN, and of the parent of the track if cells divide.

    The tracker is trained on all pairs of frames. For the quality on frames that it has not seen, another one
    is trained on the first half of the film and evaluated on the second.
    """
    names = column_names(columns)
    check_file(model, force)
    film, n_annotated = _read(sources, names)
    with working("training"):
        from ermlab.tracking import CellTracker, Gates, frame_pairs

        tracker = CellTracker(alpha=alpha, max_time=max_time).fit(film)
        known = [len(pair.annotation.events) for pair in frame_pairs(film, Gates())]
        score, held_out = tracker.score(film), _held_out_score(tracker, film)
    notes = f"learned from {sum(known)} events between {sum(map(bool, known))} pairs of frames"
    with writing(model) as part:
        tracker.save(part, notes=notes)
    summary = {
        "model": str(model),
        "events": sum(known),
        "events_found": score,
        "held_out_events_found": held_out,
        "annotated_cells": n_annotated,
        "detected_cells": _n_detected(film),
    }
    text = f"{model}: {notes}, finds {100 * score:.1f} % of them"
    if held_out is not None:
        text += f"\n{100 * held_out:.1f} % of the events in the second half, if trained on the first"
    if n_annotated is not None:
        text += f"\n{summary['detected_cells']} of {n_annotated} annotated cells were detected"
    show(summary, text, as_json)


def _read(sources: tuple[Path, ...], names: dict[str, str]) -> tuple[CellFilm, int | None]:
    """Return the film with its known tracks, and the number of annotated cells if they had to be detected."""
    if len(sources) > 2:
        raise click.UsageError(f"{len(sources)} sources: expected frames and annotation, or one of them")
    with working("loading"):
        import numpy as np

        from ermlab import tracking

        if len(sources) == 1 and is_table(sources[0]):
            if "track" not in names:
                raise click.UsageError("no column of the true track: expected --columns track=COLUMN")
            return tracking.film_of_points(sources[0], names), None
        if len(sources) == 1:
            if not sources[0].is_dir():
                raise DataError(f"{sources[0]}: no such folder; expected masks with man_track.txt")
            return tracking.film_of_masks(tracking.read_tracked_cells(sources[0])), None
        frames = tracking.read_frames(sources[0])
        truth = tracking.read_annotation(sources[1], frames)
    with bar(len(frames), "detecting cells") as progress:
        film = tracking.film_of_images(Watched(frames, progress), truth=truth)
    return film, sum(len(np.unique(mask[mask > 0])) for mask in truth.masks)


def _held_out_score(tracker: CellTracker, film: CellFilm) -> float | None:
    """Return the share of events found in the second half by a tracker of the first; None without events."""
    from ermlab.optimize import L2
    from ermlab.tracking import Gates, average_loss, frame_pairs, halves, train_tracker

    if len(film) < 4:
        return None
    parts = [frame_pairs(film, Gates(), frames) for frames in halves(film)]
    if not all(any(len(pair.annotation.events) for pair in pairs) for pairs in parts):
        return None
    result = train_tracker(parts[0], L2(tracker.alpha), tol=tracker.tol, max_time=tracker.max_time)
    return 1.0 - average_loss(result.w, parts[1])


def _n_detected(film: CellFilm) -> int:
    """Return the number of true cells in all frames that a detection holds."""
    import numpy as np

    detection, track = film.tracks.T
    return len(np.unique(np.column_stack([film.frame[detection], track]), axis=0))
