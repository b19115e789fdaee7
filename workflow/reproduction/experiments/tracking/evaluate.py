"""Losses, errors and pictures of the trackers of section 1.2 (rule evaluate_tracking)."""

import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.tracking.cell_detection import detect_frames
from ermlab.tracking.cells import join_frames, match_tracks
from ermlab.tracking.films import CellFilm
from ermlab.tracking.lineage import relabel
from ermlab.tracking.tracks import read_tracks
from reproduction.claims.results import read_json, write_results
from reproduction.datasets.dcelliq_nuclei import read_dcelliq_nuclei
from reproduction.datasets.nuclei_films import NucleiFilm
from reproduction.experiments.tracking.challenge_measures import challenge_measures
from reproduction.experiments.tracking.measures import (
    average_losses,
    enumeration_difference,
    interval,
    resampled_losses,
)
from reproduction.experiments.tracking.scenes import cut_film, cut_middle, few_cells
from reproduction.pipeline.job import job

#: The laboratory that the claims speak of: it stands in for the published one.
MAIN = "dcelliq"
#: Blocks of successive frames that are drawn anew, and draws.
BLOCKS, DRAWS = 10, 5000


def main(
    studies: Mapping[str, Mapping[str, Any]],
    receipts: Mapping[str, str],
    hela: str,
    folder: Path,
    *,
    enumerated: Mapping[str, int],
    picture: Mapping[str, int],
    seed: int,
) -> None:
    """Write the numbers and pictures of the experiment.

    Parameters
    ----------
    studies
        Name to its files: films, errors, tuning, tracks, weights, timings.
    receipts
        Data set to its receipt.
    hela
        Tracked frames of HeLa nuclei.
    enumerated
        ``problems`` of up to ``largest`` cells that are compared with their enumeration.
    picture
        Pixels of the ``side`` of the square of tracked frames, and of the ``small`` one with few cells.
    """
    folder.mkdir(parents=True, exist_ok=True)
    test = read_dcelliq_nuclei(read_json(receipts["dcelliq_nuclei"])["folder"])[-1]
    label_images, detected = _detect(test)
    summaries = {}
    for name, files in studies.items():
        film = detected if name == MAIN else CellFilm.read(files["films"][-1])
        summaries[name] = _summary(files, film, seed)
        for kind in ("tracks", "weights"):
            shutil.copyfile(files[kind], folder / f"{kind}_{name}.npz")
        film.write(folder / f"film_{name}.npz")
    losses = {"loss" if name == MAIN else f"loss_{name}": found["loss"] for name, found in summaries.items()}
    write_results(
        folder,
        {
            **enumeration_difference(**enumerated, seed=seed),
            "enumerated_pairs": enumerated["problems"],
            **losses,
            "studies": summaries,
        },
        datasets={name: read_json(path)["kind"] for name, path in receipts.items()},
        timings={name: read_json(files["timings"]) for name, files in studies.items()},
    )
    for kind in ("errors", "tuning"):
        tables = [pd.read_csv(files[kind]).assign(study=name) for name, files in studies.items()]
        pd.concat(tables).to_csv(folder / f"{kind}.csv", index=False, lineterminator="\n")
    tracks = read_tracks(studies[MAIN]["tracks"])["l2"]
    count = int(tracks.lineage.end.max()) + 1
    shown = cut_film(detected, range(count))
    masks = list(relabel(label_images[:count], shown, tracks.label))
    frames = [test.frames[t] for t in range(count)]
    cut_middle(frames, masks, tracks.lineage, picture["side"]).write(folder / "nuclei.npz")
    _write_few_cells(folder, detected, test, picture["small"])
    shutil.copyfile(hela, folder / "hela.npz")


def _detect(film: NucleiFilm) -> tuple[list[NDArray], CellFilm]:
    """Return the detections of a film once more, as label images, and with the tracks as the truth has them.

    In the films that trackers are trained and tested on, the truth is made to fit the detections.
    """
    found = list(detect_frames(film.frames))
    rows = [
        match_tracks(labels, mask) - np.array([1, 0])
        for (labels, _), mask in zip(found, film.truth.masks, strict=True)
    ]
    detected = join_frames([cells for _, cells in found], rows, film.truth.lineage)
    return [labels for labels, _ in found], detected


def _summary(files: Mapping[str, Any], film: CellFilm, seed: int) -> dict[str, Any]:
    """Return losses with their spread, and all that was counted."""
    errors, tuning = pd.read_csv(files["errors"]), pd.read_csv(files["tuning"])
    test = errors[errors["part"] == "test"]
    losses = average_losses(test)
    drawn = resampled_losses(test, BLOCKS, DRAWS, seed)
    sums = test.groupby(["method", "kind"], sort=False)[["known", "missed", "false", "lost"]].sum()
    one = sums.xs(losses.index[0])
    training = errors[errors["part"] == "training"].groupby("kind", sort=False)["known"].sum()
    shown = cut_film(film, range(int(test["frame"].min()), int(test["frame"].max()) + 2))
    measures = {
        method: asdict(challenge_measures(shown, tracks, range(len(shown))))
        for method, tracks in read_tracks(files["tracks"]).items()
    }
    return {
        "pairs": {part: int(rows["frame"].nunique()) for part, rows in errors.groupby("part")},
        "cells": len(film.frame) / len(film),
        "untracked": len(film.frame) - len(np.unique(film.tracks[:, 0])),
        "detections": len(film.frame),
        "training_events": training.to_dict(),
        "events": one["known"].to_dict(),
        "lost_by_gating": int(one["lost"].sum()),
        "loss": losses.to_dict(),
        "interval": {method: interval(drawn[method]) for method in drawn},
        "above_l2_interval": {method: interval(drawn[method] - drawn["l2"]) for method in drawn},
        "missed": {method: sums.xs(method)["missed"].to_dict() for method in losses.index},
        "false": {method: sums.xs(method)["false"].to_dict() for method in losses.index},
        "measures": measures,
        "chosen": tuning[tuning["chosen"]].groupby("method")["parameter"].first().to_dict(),
    }


def _write_few_cells(folder: Path, film: CellFilm, source: NucleiFilm, side: int) -> None:
    """Write two frames of a small square with few cells, as detections and as images."""
    t, corner = few_cells(film, range(len(film) - 1), side)
    cut_film(film, range(t, t + 2), corner, (side, side)).write(folder / "few_cells.npz")
    part = tuple(slice(start, start + side) for start in corner)
    with (folder / "few_images.npz").open("wb") as file:
        np.savez(file, images=np.stack([source.frames[t + k][part] for k in (0, 1)]))


if "snakemake" in globals():
    with job(snakemake):
        inputs = dict(snakemake.input.items())
        kinds = ("films", "errors", "tuning", "tracks", "weights", "timings")
        main(
            {name: {kind: inputs[f"{kind}_{name}"] for kind in kinds} for name in snakemake.params.studies},
            {name: inputs[f"receipt_{name}"] for name in snakemake.params.datasets},
            inputs["hela"],
            Path(snakemake.output.values).parent,
            enumerated=snakemake.params.enumerated,
            picture=snakemake.params.picture,
            seed=snakemake.params.seed,
        )
