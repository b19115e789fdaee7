"""The trackers of table 1.1, tuned, trained and tested on one film or two (rule train_trackers)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ermlab.tracking.films import CellFilm
from ermlab.tracking.lineage import track_film
from ermlab.tracking.tracks import CellTracks, join_links, write_tracks
from reproduction.claims.results import write_json
from reproduction.experiments.tracking.measures import event_errors
from reproduction.experiments.tracking.protocol import (
    PEER,
    Settings,
    Study,
    Trackings,
    run_trackers,
    study_of,
    tune,
)
from reproduction.experiments.tracking.scenes import cut_film
from reproduction.pipeline.job import job


def main(
    films: Sequence[str],
    outputs: Mapping[str, str],
    *,
    laboratory: str,
    pairs: int | None,
    settings: Mapping[str, Any],
) -> None:
    """Write errors, tracks, weights and what was chosen.

    Parameters
    ----------
    films
        One to learn from and one to test on, or one that is cut in two.
    laboratory
        Whose weights set by hand are taken.
    pairs
        Pairs of frames of either part at most, None for all.
    settings
        Of `reproduction.experiments.tracking.protocol.Settings`.
    """
    study = study_of([CellFilm.read(path) for path in films], laboratory, pairs)
    chosen = Settings(**settings)
    tuning = tune(study, chosen)
    result = run_trackers(study, chosen, tuning)
    errors = [
        {"part": "test", "method": method, **row}
        for method, tracking in result.found.items()
        for pair, y in zip(study.test, tracking.events, strict=True)
        for row in event_errors(pair, y)
    ]
    known = [
        {"part": "training", "method": "truth", **row}
        for pair in study.training
        for row in event_errors(pair, np.isin(np.arange(len(pair.hypotheses)), pair.annotation.events))
    ]
    _write(pd.DataFrame(known + errors), outputs["errors"])
    write_tracks(outputs["tracks"], _tracks(study, result))
    rows = [{**row, "parameter": str(row["parameter"])} for row in tuning.rows]
    best = {method: str(tuning.best(method)) for method in {row["method"] for row in rows}}
    _write(
        pd.DataFrame(rows).assign(chosen=lambda t: t["parameter"] == t["method"].map(best)), outputs["tuning"]
    )
    with Path(outputs["weights"]).open("wb") as file:
        np.savez(file, **result.weights)
    seconds = {
        method: {"training_seconds": run.training_seconds, "seconds_per_pair": run.seconds_per_pair}
        for method, run in result.found.items()
    }
    write_json(outputs["timings"], seconds)


def _tracks(study: Study, result: Trackings) -> dict[str, CellTracks]:
    """Return the tracks of each method in the frames of the test part, and in no others."""
    frames = range(study.test[0].frame, study.test[-1].frame + 2)
    film = cut_film(study.test_film, frames)
    pairs = [replace(pair, frame=pair.frame - frames.start) for pair in study.test]
    return {
        method: join_links(film, 0, run.links) if method == PEER else track_film(film, pairs, run.events)
        for method, run in result.found.items()
    }


def _write(table: pd.DataFrame, path: str) -> None:
    table.to_csv(path, index=False, lineterminator="\n")


if "snakemake" in globals():
    with job(snakemake):
        main(
            list(snakemake.input.films),
            dict(snakemake.output.items()),
            laboratory=snakemake.params.laboratory,
            pairs=snakemake.params.pairs,
            settings=snakemake.params.settings,
        )
