"""Tune, train and test the trackers of table 1.1 on one study (rule train_trackers)."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from ermlab.tracking.films import CellFilm
from ermlab.tracking.lineage import CellTracks, track_film
from reproduction.claims.results import write_json
from reproduction.experiments.tracking.links import join_links, write_tracks
from reproduction.experiments.tracking.measures import event_errors
from reproduction.experiments.tracking.protocol import (
    PEER,
    Settings,
    Study,
    Trackings,
    Tuning,
    run_trackers,
    study_of,
    tune,
)
from reproduction.experiments.tracking.scenes import cut_film
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, cell_type: str, pairs: int | None, settings: Settings) -> None:
    """Write the errors, tracks, weights, tuning and timings of all trackers.

    Parameters
    ----------
    inputs, outputs : mapping
        One or two films; files to write.
    cell_type : {"nuclei", "migration"}
        Which of the weights set by hand are used.
    pairs : int or None
        Maximum number of pairs of frames of either part.
    settings : Settings
        Parameters to choose from.
    """
    study = study_of([CellFilm.read(path) for path in inputs["films"]], pairs)
    tuning = tune(study, settings)
    result = run_trackers(study, cell_type, settings, tuning)
    error_table(study, result).to_csv(outputs["errors"], index=False, lineterminator="\n")
    _tuning_table(tuning).to_csv(outputs["tuning"], index=False, lineterminator="\n")
    write_tracks(outputs["tracks"], _tracks(study, result))
    with Path(outputs["weights"]).open("wb") as file:
        np.savez(file, **result.weights)
    seconds = {
        method: {"training_seconds": run.training_seconds, "seconds_per_pair": run.seconds_per_pair}
        for method, run in result.found.items()
    }
    write_json(outputs["timings"], seconds)


def error_table(study: Study, result: Trackings) -> pd.DataFrame:
    """Return the events of the training pairs, and the errors of each method on the test pairs."""
    known = [
        {"part": "training", "method": "truth", **row}
        for pair in study.training
        for row in event_errors(pair, np.isin(np.arange(len(pair.hypotheses)), pair.annotation.events))
    ]
    errors = [
        {"part": "test", "method": method, **row}
        for method, tracking in result.found.items()
        for pair, y in zip(study.test, tracking.events, strict=True)
        for row in event_errors(pair, y)
    ]
    return pd.DataFrame(known + errors)


def _tuning_table(tuning: Tuning) -> pd.DataFrame:
    """Return the held-out errors of all parameters, with a column that marks the chosen ones."""
    rows = [{**row, "parameter": str(row["parameter"])} for row in tuning.rows]
    best = {method: str(tuning.best(method)) for method in {row["method"] for row in rows}}
    return pd.DataFrame(rows).assign(chosen=lambda table: table["parameter"] == table["method"].map(best))


def _tracks(study: Study, result: Trackings) -> dict[str, CellTracks]:
    """Return the tracks of each method in the frames of the test part, counted from its first frame."""
    frames = range(study.test[0].frame, study.test[-1].frame + 2)
    film = cut_film(study.test_film, frames)
    pairs = [replace(pair, frame=pair.frame - frames.start) for pair in study.test]
    return {
        method: join_links(film, 0, run.links) if method == PEER else track_film(film, pairs, run.events)
        for method, run in result.found.items()
    }


if "snakemake" in globals():
    run_stage(main, snakemake)
