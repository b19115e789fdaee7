"""Compute precision, recall and equal error rates of detections (rule evaluate_joint_kernel_support)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ermlab.metrics.detection import DetectionCurve, detection_curve, ellipse_agreement, equal_error_rate
from reproduction.claims.results import read_json, repeated, write_results
from reproduction.experiments.joint_kernel_support.protocol import METHODS, READINGS, SIDES, box_arrays
from reproduction.pipeline.job import Paths, run_stage

RECALLS = np.linspace(0, 1, 101)
#: "JKSE reaches a recall level of 50% and over most of the plot precision lies above 40%" (thesis, 3.1.9).
HALF, PRECISE = 0.5, 0.4
#: Curves over seeds of each method and noise level.
Curves = dict[tuple[str, float], list[DetectionCurve]]


def main(inputs: Paths, outputs: Paths, *, step: int, stride: int, scales: Sequence[float]) -> None:
    """Evaluate the detections of all seeds."""
    scenes = read_json(inputs["scenes"])
    train_boxes, test_boxes = (box_arrays(scenes[part]["boxes"]) for part in ("train", "test"))
    detections, choices, labels = (
        [pd.read_csv(path) for path in inputs[name]] for name in ("detections", "choices", "labels")
    )
    choice = read_json(inputs["choice"])
    timings = [pd.DataFrame(read_json(path)) for path in inputs["timings"]]
    noise = sorted(detections[0]["noise"].unique())
    values, curves = {}, {}
    for reading in READINGS:
        curves[reading] = detection_curves(_of(detections, reading), noise, test_boxes)
        values[reading] = _reading_values(
            curves[reading], _of(detections, reading), _of(choices, reading), noise, test_boxes
        )
    write_results(
        Path(outputs["values"]).parent,
        {
            "noise": noise,
            # The reading of the source, see the page.
            **values["free"],
            "known_size": values["known"],
            "labels_on_a_car": [
                repeated((table.loc[table["noise"] == r, "overlap"] >= 0.5).mean() for table in labels)
                for r in noise
            ],
            "locations": {
                **locations(scenes["test"]["shapes"], test_boxes, step * stride),
                "searched": {
                    reading: int(_of(timings, reading)[0]["windows"].iloc[0]) for reading in READINGS
                },
            },
            "choice": choice,
            "scales": list(scales),
            "seeds": len(detections),
            "train_images": len(train_boxes),
            "train_cars": sum(map(len, train_boxes)),
            "test_images": len(test_boxes),
            "test_cars": sum(map(len, test_boxes)),
            "crops": scenes["crops"],
        },
        datasets={"uiuc_cars": read_json(inputs["receipt"])["kind"]},
        timings={
            **_timings(_of(timings, "free"), _of(choices, "free")),
            "known_size": _timings(_of(timings, "known"), _of(choices, "known")),
        },
    )
    tables = [mean_curves(of_reading).assign(reading=reading) for reading, of_reading in curves.items()]
    pd.concat(tables).to_csv(outputs["curves"], index=False, lineterminator="\n")
    for name in ("variants", "validated"):
        pd.read_csv(inputs[name]).to_csv(outputs[name], index=False, lineterminator="\n")
    with np.load(inputs["pictures"]) as pictures:
        (shown,) = _of(detections[:1], "free")
        examples = _examples(pictures, train_boxes, test_boxes, shown, labels[0])
    np.savez_compressed(outputs["examples"], **examples)


def _of(tables: Sequence[pd.DataFrame], reading: str) -> list[pd.DataFrame]:
    return [table[table["reading"] == reading] for table in tables]


def _reading_values(
    curves: Curves,
    detections: Sequence[pd.DataFrame],
    choices: Sequence[pd.DataFrame],
    noise: Sequence[float],
    truth: Sequence[np.ndarray],
) -> dict[str, Any]:
    """Return the results of one reading of the protocol."""
    ellipse_curves = detection_curves(detections, noise, truth, measure=ellipse_agreement)
    return {
        "eer": _over_noise(curves, noise, _error),
        "recall_reached": _over_noise(curves, noise, lambda curve: curve.recall[-1]),
        "precise_share": _over_noise(curves, noise, precise_share),
        "eer_ellipse": _over_noise(ellipse_curves, noise, _error),
        "parameter": _chosen(choices, noise, "parameter"),
        "area": _chosen(choices, noise, "area"),
        "area_spread": _area_spread(choices, noise),
        "at_edge": _at_edge(choices),
        # For all values of C together, as are the training times.
        "map_calls": _chosen(choices, noise, "searches")["ssvm"],
        "map_calls_per_training": repeated(map(_calls_per_training, choices)),
    }


def locations(shapes: Sequence[tuple[int, int]], boxes: Sequence[np.ndarray], step: int) -> dict[str, int]:
    """Return the median number of boxes in the test images, restricted in different ways.

    ``known_size`` and ``all`` are boxes with corners at every pixel, ``all_on_a_grid`` those with corners at
    every ``step`` pixels.
    """
    cars = np.concatenate(boxes)
    width, height = np.median(cars[:, 2:] - cars[:, :2] + 1, axis=0).astype(int)
    numbers = {
        "known_size": [max(h - height + 1, 0) * max(w - width + 1, 0) for h, w in shapes],
        "all_on_a_grid": [_intervals(h // step) * _intervals(w // step) for h, w in shapes],
        "all": [_intervals(h) * _intervals(w) for h, w in shapes],
    }
    return {name: int(np.median(counts)) for name, counts in numbers.items()}


def _intervals(length: int) -> int:
    return length * (length + 1) // 2


def detection_curves(
    detections: Sequence[pd.DataFrame], noise: Sequence[float], truth: Sequence[np.ndarray], **options: Any
) -> Curves:
    """Return the curve of each seed for each method and noise level; ``options`` are of `detection_curve`."""
    curves = {}
    for method in METHODS:
        for r in noise:
            tables = [table[(table["method"] == method) & (table["noise"] == r)] for table in detections]
            curves[method, r] = [
                detection_curve(
                    _by_image(table, SIDES, len(truth)),
                    _by_image(table, "score", len(truth)),
                    truth,
                    **options,
                )
                for table in tables
            ]
    return curves


def _by_image(table: pd.DataFrame, columns: str | list[str], n_images: int) -> list[np.ndarray]:
    """Return the columns of each image; rows are in the order of the images."""
    return np.split(table[columns].to_numpy(), np.searchsorted(table["image"], np.arange(1, n_images)))


def _error(curve: DetectionCurve) -> float:
    return equal_error_rate(curve.precision, curve.recall)


def precise_share(curve: DetectionCurve) -> float:
    """Return the share of recalls up to one half that the curve reaches with a precision above `PRECISE`."""
    levels = RECALLS[RECALLS <= HALF]
    return float(((_precision_at(curve, levels) > PRECISE) & (levels <= curve.recall[-1])).mean())


def _precision_at(curve: DetectionCurve, recalls: np.ndarray) -> np.ndarray:
    return np.interp(recalls, np.append(0, curve.recall), np.append(curve.precision[0], curve.precision))


def _over_noise(
    curves: Curves, noise: Sequence[float], quantity: Callable[[DetectionCurve], float]
) -> dict[str, list]:
    return {method: [repeated(map(quantity, curves[method, r])) for r in noise] for method in METHODS}


def _chosen(choices: Sequence[pd.DataFrame], noise: Sequence[float], column: str) -> dict[str, list]:
    """Return a column of the chosen parameters for each method, over noise and seeds."""
    chosen = [table[table["chosen"]].set_index(["method", "noise"])[column] for table in choices]
    return {
        method: [repeated(values.loc[method, r] for values in chosen) for r in noise] for method in METHODS
    }


def _area_spread(choices: Sequence[pd.DataFrame], noise: Sequence[float]) -> dict[str, list]:
    """Return the largest minus the smallest area on the crops over all values of the parameter."""
    areas = [table.groupby(["method", "noise"])["area"] for table in choices]
    spreads = [groups.max() - groups.min() for groups in areas]
    return {
        method: [repeated(found.loc[method, r] for found in spreads) for r in noise] for method in METHODS
    }


def _at_edge(choices: Sequence[pd.DataFrame]) -> dict[str, float]:
    """Return how often the first and the last value of the parameter were chosen, over noise and seeds."""
    shares = {}
    for method in METHODS:
        tables = [table[table["method"] == method] for table in choices]
        ends = [table["parameter"].agg(["min", "max"]) for table in tables]
        chosen = [
            table.loc[table["chosen"], "parameter"].isin(end) for table, end in zip(tables, ends, strict=True)
        ]
        shares[method] = float(pd.concat(chosen).mean())
    return shares


def _ssvm_calls(choices: pd.DataFrame) -> pd.Series:
    """Return the MAP calls of the structured SVM at each noise level, which every row of the level has."""
    return choices[choices["method"] == "ssvm"].groupby("noise")["searches"].first()


def _calls_per_training(choices: pd.DataFrame) -> float:
    """Return the mean number of MAP calls of the structured SVM for one C and one noise level."""
    return float(_ssvm_calls(choices).sum() / (choices["method"] == "ssvm").sum())


def _timings(tables: Sequence[pd.DataFrame], choices: Sequence[pd.DataFrame]) -> dict[str, float]:
    table = pd.concat(tables)
    ssvm = table[table["method"] == "ssvm"]
    calls = sum(_ssvm_calls(of_seed).sum() for of_seed in choices)
    return {
        "map_share": ssvm["search_seconds"].sum() / ssvm["seconds"].sum(),
        "map_call_seconds": ssvm["search_seconds"].sum() / calls,
        "ssvm_training_seconds": ssvm["seconds"].max(),
        "jkse_training_seconds": table.loc[table["method"] != "ssvm", "seconds"].max(),
    }


def mean_curves(curves: Curves) -> pd.DataFrame:
    """Return the mean precision over seeds at each recall that all seeds reach."""
    rows = []
    for (method, r), of_seeds in curves.items():
        reached = RECALLS[min(curve.recall[-1] for curve in of_seeds) >= RECALLS]
        precision = np.mean([_precision_at(curve, reached) for curve in of_seeds], axis=0)
        table = {"method": method, "noise": r, "recall": reached, "precision": precision}
        rows.append(pd.DataFrame(table))
    return pd.concat(rows)


def _examples(
    pictures: Mapping[str, np.ndarray],
    train_boxes: Sequence[np.ndarray],
    test_boxes: Sequence[np.ndarray],
    detections: pd.DataFrame,
    labels: pd.DataFrame,
) -> dict[str, np.ndarray]:
    """Return training images with cars and swapped labels, and test images with cars and detections.

    Arrays are named ``<part>_<number>_<content>``. There are as many detections, the best ones, as cars.
    """
    arrays = {}
    for part, boxes in (("train", train_boxes), ("test", test_boxes)):
        shown = [int(key.removeprefix(f"{part}_")) for key in pictures if key.startswith(part)]
        for number, image in enumerate(shown):
            name = f"{part}_{number}"
            arrays[f"{name}_image"], arrays[f"{name}_cars"] = pictures[f"{part}_{image}"], boxes[image]
            if part == "train":
                swapped = labels[(labels["noise"] == 1) & (labels["image"] == image)]
                arrays[f"{name}_swapped"] = swapped[SIDES].to_numpy()
                continue
            for (method, r), table in detections[detections["image"] == image].groupby(["method", "noise"]):
                best = table.sort_values("score", ascending=False, kind="stable")[: len(boxes[image])]
                arrays[f"{name}_{method}_{r}"] = best[SIDES].to_numpy()
    return arrays


def example_names(examples: Mapping[str, np.ndarray], part: str) -> list[str]:
    """Return the names of the example images of a part, ``"train"`` or ``"test"``, in order."""
    names = {key.removesuffix("_image") for key in examples if key.endswith("_image")}
    return sorted(name for name in names if name.startswith(f"{part}_"))


def example_boxes(examples: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return the cars and the swapped labels of the training examples, one row per box."""
    tables = [
        pd.DataFrame(examples[f"{name}_{kind}"], columns=SIDES).assign(image=name, kind=kind)
        for name in example_names(examples, "train")
        for kind in ("cars", "swapped")
    ]
    return pd.concat(tables, ignore_index=True)[["image", "kind", *SIDES]]


def error_table(values: Mapping[str, Any], published: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """Return table 3.1: published and own error rates, one row per reading, method and noise level."""
    rows = []
    for reading, found in (("free", values), ("known", values["known_size"])):
        for method in METHODS:
            for i, r in enumerate(values["noise"]):
                per_seed = {
                    name: found[name][method][i]["repeats"]
                    for name in ("eer", "eer_ellipse", "recall_reached", "parameter", "area")
                }
                rows.append(
                    {
                        "reading": reading,
                        "method": method,
                        "noise": r,
                        "published": published[method][i],
                        "here": np.mean(per_seed["eer"]),
                        "sd": np.std(per_seed["eer"], ddof=1) if len(per_seed["eer"]) > 1 else np.nan,
                        "ellipse": np.mean(per_seed["eer_ellipse"]),
                        "recall_reached": np.mean(per_seed["recall_reached"]),
                        "parameter": np.median(per_seed["parameter"]),
                        "area_on_crops": np.mean(per_seed["area"]),
                    }
                )
    return pd.DataFrame(rows)


if "snakemake" in globals():
    run_stage(main, snakemake)
