"""Evaluate the trackers of section 1.2: losses, errors, tracked frames, tables (rule evaluate_tracking)."""

import shutil
from ast import literal_eval
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ermlab.tracking.assignment import EVENTS
from ermlab.tracking.cell_tracker import CellTracker
from ermlab.tracking.films import CellFilm
from ermlab.tracking.lineage import CellTracks
from reproduction.claims.results import read_json, repeated, write_results
from reproduction.experiments.tracking.enumeration import enumeration_difference
from reproduction.experiments.tracking.links import read_tracks
from reproduction.experiments.tracking.measures import (
    average_losses,
    challenge_measures,
    interval,
    resampled_losses,
)
from reproduction.experiments.tracking.protocol import METHODS
from reproduction.experiments.tracking.scenes import DetectedFrames, cut_film
from reproduction.pipeline.job import Paths, run_stage

#: The study that the claims are checked on: it replaces the published one.
MAIN = "dcelliq"
#: Number of blocks of successive frames that are resampled, and of draws.
BLOCKS, DRAWS = 10, 5000
TITLES = {
    "graph_matching": "graph matching, no learning",
    "max_flow": "ILP as max-flow, no learning",
    "hand_tuned": "weights set by hand",
    "random_forest": "random forest on single events",
    "l1": "structured learning, L1",
    "l2": "structured learning, L2",
    "laptrack": "LapTrack (peer), no learning",
}
STUDIES = {
    "dcelliq": "simulated nuclei",
    "migration_1": "migrating cells, every frame",
    "migration_2": "every 2nd frame",
    "migration_4": "every 4th frame",
}


def main(
    inputs: Paths, outputs: Paths, *, seed: int, studies: Sequence[str], enumerated: Mapping[str, int]
) -> None:
    """Write the results of all studies, and the frames that show tracks.

    Parameters
    ----------
    inputs, outputs : mapping
        Test film and results of training of each study, in the order of ``studies``, losses on more films of
        the first one, detected frames and receipts; files of the results, all in one folder.
    seed : int
        Seed of the resampling and of the enumerated problems.
    studies : sequence of str
        Names of the studies.
    enumerated : mapping
        Number of ``problems`` of up to ``largest`` cells that are compared with their enumeration.
    """
    folder = Path(outputs["values"]).parent
    folder.mkdir(parents=True, exist_ok=True)
    films = {name: CellFilm.read(path) for name, path in zip(studies, inputs["films"], strict=True)}
    tracks = {name: read_tracks(path) for name, path in zip(studies, inputs["tracks"], strict=True)}
    tables = {
        kind: {name: pd.read_csv(path) for name, path in zip(studies, inputs[kind], strict=True)}
        for kind in ("errors", "tuning")
    }
    summaries = {
        name: summarize(tables["errors"][name], tables["tuning"][name], films[name], tracks[name], seed)
        for name in studies
    }
    write_results(
        folder,
        {
            **enumeration_difference(**enumerated, seed=seed),
            "enumerated_pairs": enumerated["problems"],
            "loss": film_losses(summaries[MAIN]["loss"], pd.read_csv(inputs["losses"])),
            **{f"loss_{name}": summaries[name]["loss"] for name in studies if name != MAIN},
            "studies": summaries,
        },
        datasets={Path(path).stem: read_json(path)["kind"] for path in inputs["receipts"]},
        timings={name: read_json(path) for name, path in zip(studies, inputs["timings"], strict=True)},
    )
    for kind, of_studies in tables.items():
        joined = pd.concat([table.assign(study=name) for name, table in of_studies.items()])
        joined.to_csv(folder / f"{kind}.csv", index=False, lineterminator="\n")
    for k, name in enumerate(studies):
        films[name].write(folder / f"film_{name}.npz")
        for kind in ("tracks", "weights"):
            shutil.copyfile(inputs[kind][k], folder / f"{kind}_{name}.npz")
    for name in ("few_cells", "few_images"):
        shutil.copyfile(inputs[name], folder / f"{name}.npz")
    _write_tracked_frames(inputs, folder, tracks[MAIN]["l2"])


def film_losses(first: Mapping[str, float], others: pd.DataFrame) -> dict[str, Any]:
    """Return the losses of each method of the table over films.

    Parameters
    ----------
    first : mapping
        Losses with the first training film.
    others : DataFrame
        Columns ``method``, ``loss`` and ``repetition`` with each of the others.
    """
    more = others.pivot(index="repetition", columns="method", values="loss")
    return {
        method: repeated([loss, *more[method]], unit="film")
        for method, loss in first.items()
        if method in METHODS
    }


def _write_tracked_frames(inputs: Paths, folder: Path, tracks: CellTracks) -> None:
    """Write the nuclei of the test with their tracks, and HeLa nuclei tracked with the same weights."""
    n_frames = int(tracks.lineage.end.max()) + 1
    DetectedFrames.read(inputs["nuclei_frames"]).with_tracks(tracks, n_frames).write(folder / "nuclei.npz")
    tracker = CellTracker()
    with np.load(folder / f"weights_{MAIN}.npz") as weights:
        tracker.coef_ = weights["l2"]
    film = CellFilm.read(inputs["hela_film"])
    frames = DetectedFrames.read(inputs["hela_frames"])
    frames.with_tracks(tracker.predict(film), len(film)).write(folder / "hela.npz")


def summarize(
    errors: pd.DataFrame,
    tuning: pd.DataFrame,
    film: CellFilm,
    tracks: Mapping[str, CellTracks],
    seed: int,
) -> dict[str, Any]:
    """Return the losses of a study with their spread, all counts, and the measures of the tracks.

    Parameters
    ----------
    errors, tuning : DataFrame
        As training writes them.
    film : CellFilm
        Test film.
    tracks : mapping
        Tracks of each method in the tested frames.
    seed : int
        Seed of the resampling.
    """
    test = errors[errors["part"] == "test"]
    losses = average_losses(test)
    drawn = resampled_losses(test, BLOCKS, DRAWS, seed)
    sums = test.groupby(["method", "kind"], sort=False)[["known", "missed", "false", "lost"]].sum()
    of_first = sums.xs(losses.index[0])  # known and lost events are the same for all methods
    training = errors[errors["part"] == "training"].groupby("kind", sort=False)["known"].sum()
    tested = cut_film(film, range(int(test["frame"].min()), int(test["frame"].max()) + 2))
    return {
        "pairs": {part: int(rows["frame"].nunique()) for part, rows in errors.groupby("part")},
        "cells": len(film.frame) / len(film),
        "untracked": len(film.frame) - len(np.unique(film.tracks[:, 0])),
        "detections": len(film.frame),
        "training_events": training.to_dict(),
        "events": of_first["known"].to_dict(),
        "lost_by_gating": int(of_first["lost"].sum()),
        "loss": losses.to_dict(),
        "interval": {method: interval(drawn[method]) for method in drawn},
        "above_l2_interval": {method: interval(drawn[method] - drawn["l2"]) for method in drawn},
        "missed": {method: sums.xs(method)["missed"].to_dict() for method in losses.index},
        "false": {method: sums.xs(method)["false"].to_dict() for method in losses.index},
        "measures": {
            method: asdict(challenge_measures(tested, found, range(len(tested))))
            for method, found in tracks.items()
        },
        "chosen": tuning[tuning["chosen"]].groupby("method")["parameter"].first().to_dict(),
    }


def tracker_table(values: Mapping[str, Any], published: Mapping[str, float]) -> pd.DataFrame:
    """Return the loss of each tracker in percent: over films, and on each film with its interval.

    Over films it is the mean with the standard deviation, on one film the 95 % interval of the resampling.
    """
    rows = {}
    for method, title in TITLES.items():
        row: dict[str, Any] = {"published": f"{published[method]:.2f}" if method in published else ""}
        over_films = values["loss"].get(method)
        row["nuclei, mean over films"] = _mean_sd(over_films["repeats"]) if over_films else ""
        for study, found in values["studies"].items():
            low, high = found["interval"][method]
            row[STUDIES[study]] = f"{found['loss'][method]:.2f} ({low:.2f} to {high:.2f})"
        rows[title] = row
    return pd.DataFrame(rows).T


def _mean_sd(losses: Sequence[float]) -> str:
    spread = f" ± {np.std(losses, ddof=1):.2f}" if len(losses) > 1 else ""
    return f"{np.mean(losses):.2f}{spread}"


def tracker_data(values: Mapping[str, Any], published: Mapping[str, float]) -> pd.DataFrame:
    """Return the numbers of `tracker_table` and `measure_table`, one row per film and tracker."""
    return pd.DataFrame(
        [
            {
                "film": study,
                "tracker": method,
                "published_loss": published.get(method) if study == MAIN else None,
                "mean_over_films": (
                    np.mean(values["loss"][method]["repeats"])
                    if study == MAIN and method in values["loss"]
                    else None
                ),
                "loss": found["loss"][method],
                "low": found["interval"][method][0],
                "high": found["interval"][method][1],
                "above_l2_low": found["above_l2_interval"][method][0],
                "above_l2_high": found["above_l2_interval"][method][1],
                **found["measures"][method],
            }
            for study, found in values["studies"].items()
            for method in TITLES
        ]
    )


def measure_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the measures of the Cell Tracking Challenge, in percent."""
    columns = {"TRA": "TRA", "DET": "DET", "LNK": "LNK", "edge_f1": "edge F1"}
    rows = {
        TITLES[method]: {
            (STUDIES[study], title): f"{100 * found['measures'][method][name]:.2f}"
            for study, found in values["studies"].items()
            for name, title in columns.items()
            if study == MAIN or name in ("LNK", "edge_f1")
        }
        for method in TITLES
    }
    return pd.DataFrame(rows).T


def error_table(found: Mapping[str, Any]) -> pd.DataFrame:
    """Return the numbers of missed and false events of each kind, for each tracker."""
    known, missed, false = (found[name] for name in ("events", "missed", "false"))
    kinds = [kind for kind in EVENTS if known[kind] or any(row[kind] for row in false.values())]
    table = {"known": {kind: str(known[kind]) for kind in kinds}} | {
        title: {kind: f"{missed[method][kind]} / {false[method][kind]}" for kind in kinds}
        for method, title in TITLES.items()
    }
    return pd.DataFrame(table).T


def count_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the numbers of frames, cells and events of each film."""
    columns = {}
    for study, found in values["studies"].items():
        events = found["events"]
        columns[STUDIES[study]] = {
            "training pairs": found["pairs"]["training"],
            "test pairs": found["pairs"]["test"],
            "cells per frame": round(found["cells"]),
            "training divisions": found["training_events"]["division"],
            "test events": sum(events.values()),
            "moves": events["move"],
            "divisions": events["division"],
            "merges and splits": events["merge"] + events["split"],
            "appearances and disappearances": events["appearance"] + events["disappearance"],
            "lost by gating": found["lost_by_gating"],
            "untracked detections": f"{found['untracked']} of {found['detections']}",
        }
    return pd.DataFrame(columns)


def tuning_table(tuning: pd.DataFrame) -> pd.DataFrame:
    """Return the number of held-out events missed with each parameter; a star marks the chosen one."""
    sums = tuning.groupby(["method", "parameter", "study"], sort=False).agg(
        missed=("missed", "sum"), chosen=("chosen", "any")
    )
    marked = sums["missed"].astype(str) + np.where(sums["chosen"], " *", "")
    table = marked.unstack("study", fill_value="").rename(columns=STUDIES)
    table = table.loc[sorted(table.index, key=_largest_first)]
    table.index = table.index.set_levels(
        [TITLES[method] for method in table.index.levels[0]], level="method"
    ).set_names(["tracker", "alpha, or (leaf, share)"])
    return table


def describe_strengths(tuning: pd.DataFrame) -> str:
    """Say which of the chosen regularization strengths are at an end of their grid."""
    at_end = []
    strengths = tuning[tuning["method"].isin(["l1", "l2"])]
    for (study, method), rows in strengths.groupby(["study", "method"], sort=False):
        grid = rows["parameter"].astype(float)
        chosen = grid[rows["chosen"]].iloc[0]
        if chosen in (grid.min(), grid.max()):
            at_end.append(f"{chosen:g} of {TITLES[method]} ({STUDIES[study]})")
    if not at_end:
        return "All regularization strengths are chosen inside their grids."
    return f"At an end of the grid, extended as far as it may be: {', '.join(at_end)}."


def _largest_first(row: tuple[str, str]) -> tuple[int, list[float]]:
    """Return the sort key of a method and parameter."""
    method, parameter = row
    return list(TITLES).index(method), [-number for number in np.atleast_1d(literal_eval(parameter))]


def time_table(timings: Mapping[str, Any]) -> pd.DataFrame:
    """Return the seconds of training, and the milliseconds of tracking per pair of frames."""
    columns = (("training_seconds", "training (s)", 1), ("seconds_per_pair", "per pair (ms)", 1000))
    return pd.DataFrame(
        {
            (STUDIES[study], title): {
                TITLES[method]: f"{factor * found[method][name]:.1f}" for method in TITLES
            }
            for study, found in timings.items()
            for name, title, factor in columns
        }
    )


if "snakemake" in globals():
    run_stage(main, snakemake)
