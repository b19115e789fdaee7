"""Precision, recall and equal error rates of the detected cars (rule evaluate_joint_kernel_support)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ermlab.detection.boxes import overlap
from ermlab.metrics.detection import (
    DetectionCurve,
    detection_curve,
    ellipse_agreement,
    equal_error_rate,
)
from reproduction.claims.results import over_seeds, read_json, write_results
from reproduction.datasets.uiuc_cars import UiucCars
from reproduction.experiments.joint_kernel_support.protocol import METHODS, read_cars
from reproduction.pipeline.job import job

RECALLS = np.linspace(0, 1, 101)
SIDES = ["left", "top", "right", "bottom"]
#: The images that the page shows: the first ones with several cars, and the first ones with one.
SEVERAL, SINGLE = 2, 4


def main(
    receipt: str,
    folder: Path,
    size: Mapping[str, int],
    *,
    detections: Sequence[str],
    choices: Sequence[str],
    labels: Sequence[str],
    timings: Sequence[str],
    variants: str,
    validated: str,
) -> None:
    """Evaluate what was found with each seed; all but the first three are files of the training rules."""
    source = read_json(receipt)
    data = read_cars(source["folder"], **size)
    found = [pd.read_csv(path) for path in detections]
    chosen = [table[table["chosen"]] for table in map(pd.read_csv, choices)]
    given = [pd.read_csv(path) for path in labels]
    noise = sorted(found[0]["noise"].unique())
    curves = _curves(found, noise, data, overlap)
    ellipse = _curves(found, noise, data, ellipse_agreement)
    write_results(
        folder,
        {
            "noise": noise,
            "eer": _over_noise(curves, noise, _error),
            "recall_reached": _over_noise(curves, noise, lambda curve: curve.recall[-1]),
            "eer_ellipse": _over_noise(ellipse, noise, _error),
            "parameter": _chosen(chosen, noise, "parameter"),
            "area": _chosen(chosen, noise, "area"),
            "labels_on_a_car": [
                over_seeds((table.loc[table["noise"] == r, "overlap"] >= 0.5).mean() for table in given)
                for r in noise
            ],
            # All values of C together: the time that is set beside them is that of all, too.
            "map_calls": _chosen(chosen, noise, "searches")["ssvm"],
            "seeds": len(found),
            "train_images": len(data.multi_scale.images),
            "train_cars": sum(map(len, data.multi_scale.boxes)),
            "test_images": len(data.single_scale.images),
            "test_cars": sum(map(len, data.single_scale.boxes)),
            "crops": len(data.cars) + len(data.others),
        },
        datasets={"uiuc_cars": source["kind"]},
        timings=_timings([pd.DataFrame(read_json(path)) for path in timings]),
    )
    _mean_curves(curves, noise).to_csv(folder / "curves.csv", index=False, lineterminator="\n")
    for name, path in (("variants", variants), ("validated", validated)):
        pd.read_csv(path).to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
    with (folder / "examples.npz").open("wb") as file:
        np.savez_compressed(file, **_examples(data, found[0], given[0]))


def _curves(
    found: list[pd.DataFrame], noise: list[float], data: UiucCars, measure: Callable
) -> dict[tuple[str, float], list[DetectionCurve]]:
    """Return the curve of each seed for each method and level of noise."""
    truth = data.single_scale.boxes
    curves = {}
    for method in METHODS:
        for r in noise:
            tables = [table[(table["method"] == method) & (table["noise"] == r)] for table in found]
            curves[method, r] = [
                detection_curve(
                    _by_image(table, SIDES, len(truth)),
                    _by_image(table, "score", len(truth)),
                    truth,
                    measure=measure,
                )
                for table in tables
            ]
    return curves


def _by_image(table: pd.DataFrame, columns: str | list[str], n_images: int) -> list[np.ndarray]:
    """Return what the rows of each image say; they stand in the order of the images."""
    return np.split(table[columns].to_numpy(), np.searchsorted(table["image"], np.arange(1, n_images)))


def _error(curve: DetectionCurve) -> float:
    return equal_error_rate(curve.precision, curve.recall)


def _over_noise(
    curves: dict[tuple[str, float], list[DetectionCurve]], noise: list[float], quantity: Callable
) -> dict[str, list]:
    return {method: [over_seeds(map(quantity, curves[method, r])) for r in noise] for method in METHODS}


def _chosen(chosen: list[pd.DataFrame], noise: list[float], column: str) -> dict[str, list]:
    """Return a column of the chosen parameters for each method, over noise and seeds."""
    return {
        method: [
            over_seeds(
                table.loc[(table["method"] == method) & (table["noise"] == r), column].item()
                for table in chosen
            )
            for r in noise
        ]
        for method in METHODS
    }


def _timings(tables: list[pd.DataFrame]) -> dict[str, float]:
    table = pd.concat(tables)
    ssvm = table[table["method"] == "ssvm"]
    return {
        "map_share": ssvm["search_seconds"].sum() / ssvm["seconds"].sum(),
        "ssvm_training_seconds": ssvm["seconds"].max(),
        "jkse_training_seconds": table.loc[table["method"] != "ssvm", "seconds"].max(),
    }


def _mean_curves(curves: dict[tuple[str, float], list[DetectionCurve]], noise: list[float]) -> pd.DataFrame:
    """Return the mean over seeds of the precision at each recall that all of them reach."""
    rows = []
    for (method, r), seeds in curves.items():
        last = min(curve.recall[-1] for curve in seeds)
        reached = RECALLS[last >= RECALLS]
        precision = [
            np.interp(reached, np.append(0, c.recall), np.append(c.precision[0], c.precision)) for c in seeds
        ]
        table = {"method": method, "noise": r, "recall": reached, "precision": np.mean(precision, axis=0)}
        rows.append(pd.DataFrame(table))
    return pd.concat(rows)


def _examples(data: UiucCars, found: pd.DataFrame, given: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return training images with cars and swapped labels, and test images with cars and detections.

    Arrays are named ``<train or test>_<number>_<what>``; the detections are the best, one a car.
    """
    arrays = {}
    for part, scenes in (("train", data.multi_scale), ("test", data.single_scale)):
        counts = np.array([len(boxes) for boxes in scenes.boxes])
        shown = [*np.flatnonzero(counts > 1)[:SEVERAL], *np.flatnonzero(counts == 1)[:SINGLE]]
        for number, image in enumerate(shown):
            name = f"{part}_{number}"
            arrays[f"{name}_image"], arrays[f"{name}_cars"] = scenes.images[image], scenes.boxes[image]
            if part == "train":
                swapped = given[(given["noise"] == 1) & (given["image"] == image)]
                arrays[f"{name}_swapped"] = swapped[SIDES].to_numpy()
                continue
            for (method, r), table in found[found["image"] == image].groupby(["method", "noise"]):
                best = table.sort_values("score", ascending=False, kind="stable")[: counts[image]]
                arrays[f"{name}_{method}_{r}"] = best[SIDES].to_numpy()
    return arrays


if "snakemake" in globals():
    with job(snakemake):
        inputs = dict(snakemake.input.items())
        main(inputs.pop("receipt"), Path(snakemake.output.values).parent, snakemake.params.size, **inputs)
