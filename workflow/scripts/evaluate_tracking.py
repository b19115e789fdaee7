"""Losses, errors and pictures of the trackers of section 1.2 (rule evaluate_tracking)."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ermlab.datasets.dcelliq_nuclei import read_dcelliq_nuclei
from ermlab.evaluation.results import read_json, write_results
from ermlab.evaluation.tracking import average_losses, enumeration_difference, interval, resampled_losses
from ermlab.features.cell_films import CellFilm
from ermlab.features.cell_scenes import cut_film, cut_tracks, few_cells
from ermlab.risk.tracking_protocol import track_by_weights
from ermlab.workflow.job import job

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
        Name to its files: films, errors, measures, tuning, links, timings.
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
    errors = {name: pd.read_csv(files["errors"]) for name, files in studies.items()}
    summaries = {name: _summary(errors[name], files, seed) for name, files in studies.items()}
    values = enumeration_difference(**enumerated, seed=seed)
    for name, summary in summaries.items():
        values["loss" if name == MAIN else f"loss_{name}"] = summary["loss"]
    write_results(
        folder,
        {**values, "enumerated_pairs": enumerated["problems"], "studies": summaries},
        datasets={name: read_json(path)["kind"] for name, path in receipts.items()},
        timings={name: read_json(files["timings"]) for name, files in studies.items()},
    )
    for kind in ("errors", "tuning"):
        tables = [pd.read_csv(files[kind]).assign(study=name) for name, files in studies.items()]
        pd.concat(tables).to_csv(folder / f"{kind}.csv", index=False, lineterminator="\n")
    frames = read_dcelliq_nuclei(read_json(receipts["dcelliq_nuclei"])["folder"])[-1].frames
    _write_pictures(folder, studies[MAIN], frames, picture)
    shutil.copyfile(hela, folder / "hela.npz")
    for name, files in studies.items():
        if name != MAIN:
            shutil.copyfile(files["links"], folder / f"links_{name}.npz")
            shutil.copyfile(files["films"][-1], folder / f"film_{name}.npz")


def _summary(errors: pd.DataFrame, files: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return losses with their spread, and all that was counted."""
    test = errors[errors["part"] == "test"]
    losses = average_losses(test)
    drawn = resampled_losses(test, BLOCKS, DRAWS, seed)
    measures = pd.read_csv(files["measures"]).set_index("method")
    tuning = pd.read_csv(files["tuning"])
    films = [CellFilm.read(path) for path in files["films"]]
    sums = test.groupby(["method", "kind"], sort=False)[["known", "missed", "false", "lost"]].sum()
    one = sums.xs(losses.index[0])
    training = errors[errors["part"] == "training"].groupby("kind", sort=False)["known"].sum()
    return {
        "pairs": {part: int(rows["frame"].nunique()) for part, rows in errors.groupby("part")},
        "cells": float(np.mean([len(film.cells(t)) for film in films for t in range(len(film))])),
        "untracked": sum(len(film.frame) - len(np.unique(film.tracks[:, 0])) for film in films),
        "detections": sum(len(film.frame) for film in films),
        "training_events": training.to_dict(),
        "events": one["known"].to_dict(),
        "lost_by_gating": int(one["lost"].sum()),
        "loss": losses.to_dict(),
        "interval": {method: interval(drawn[method]) for method in drawn},
        "above_l2_interval": {method: interval(drawn[method] - drawn["l2"]) for method in drawn},
        "missed": {method: sums.xs(method)["missed"].to_dict() for method in losses.index},
        "false": {method: sums.xs(method)["false"].to_dict() for method in losses.index},
        "measures": measures.to_dict(orient="index"),
        "chosen": tuning[tuning["chosen"]].groupby("method")["parameter"].first().to_dict(),
    }


def _write_pictures(folder: Path, files: Mapping[str, Any], images: Any, picture: Mapping[str, int]) -> None:
    """Write tracked frames of the test film, and two frames with few cells and the weights for them."""
    film = CellFilm.read(files["films"][-1])
    with np.load(files["weights"]) as trained:
        w = trained["l2"]
    cut_tracks(film, track_by_weights(film, w), images, picture["side"]).write(folder / "tracks.npz")
    t, corner = few_cells(film, range(len(film) - 1), picture["small"])
    shape = (picture["small"], picture["small"])
    cut_film(film, range(t, t + 2), corner, shape).write(folder / "few_cells.npz")
    rows, columns = (slice(start, start + side) for start, side in zip(corner, shape, strict=True))
    with (folder / "few_images.npz").open("wb") as file:
        np.savez(file, images=np.stack([images[t + k][rows, columns] for k in (0, 1)]), w=w)


if "snakemake" in globals():
    with job(snakemake):
        inputs = dict(snakemake.input.items())
        kinds = ("films", "errors", "measures", "tuning", "links", "weights", "timings")
        main(
            {name: {kind: inputs[f"{kind}_{name}"] for kind in kinds} for name in snakemake.params.studies},
            {name: inputs[f"receipt_{name}"] for name in snakemake.params.datasets},
            inputs["hela"],
            Path(snakemake.output.values).parent,
            enumerated=snakemake.params.enumerated,
            picture=snakemake.params.picture,
            seed=snakemake.params.seed,
        )
