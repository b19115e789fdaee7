"""Precision, recall and false positives of the cars found in aerial frames (rule evaluate_aerial_cars)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ermlab.metrics.detection import (
    CORRECT,
    IGNORED,
    DetectionCurve,
    average_precision,
    match_detections,
    recall_at_false_positives,
)
from reproduction.claims.results import over_seeds, read_json, write_results
from reproduction.experiments.aerial_cars.measures import car_curve, criteria, squares
from reproduction.experiments.aerial_cars.protocol import (
    CONTROLS,
    METHODS,
    Frames,
    Settings,
    chosen_price,
    read_frames,
)
from reproduction.pipeline.job import job

RECALLS = np.linspace(0, 1, 101)
RATES = np.geomspace(0.1, 100, 61)
#: False positives a frame at which recall is told.
TOLD_RATES = (1.0, 5.0, 10.0)
#: Height and width of the part of a frame that the page shows.
SHOWN = (370, 460)
Curves = dict[tuple[str, str, str], list[DetectionCurve]]


def main(
    receipt: str,
    folder: Path,
    *,
    frames: int,
    settings: Mapping[str, Any],
    prices: str,
    detections: Sequence[str],
    training: Sequence[str],
    timings: Sequence[str],
    seeds: int,
) -> None:
    """Evaluate what was found; the files of the training rule come seed by seed, fold by fold."""
    source, settings = read_json(receipt), Settings.of(settings)
    data = read_frames(source["folder"], frames)
    found = [pd.concat(map(pd.read_csv, part)) for part in np.array_split(list(detections), seeds)]
    trained = pd.concat(map(pd.read_csv, training))
    curves = _curves(data, found, settings)
    by_scene = {kind: _by_scene(curves, data.scene_names, kind) for kind in ("centre", "pascal")}
    mean = {kind: _mean_over_scenes(some) for kind, some in by_scene.items()}
    write_results(
        folder,
        {
            "scenes": data.scene_names,
            "ap": {name: over_seeds(some) for name, some in mean["centre"].items()},
            "ap_gain": _gains(mean["centre"]),
            "ap_pascal": {name: over_seeds(some) for name, some in mean["pascal"].items()},
            "ap_pascal_gain": _gains(mean["pascal"]),
            "ap_by_scene": _marked(by_scene["centre"]),
            "ap_pascal_by_scene": _marked(by_scene["pascal"]),
            "told_rates": TOLD_RATES,
            "recall_at_rates": _recalls(curves, data.scene_names),
            "price": _prices(pd.read_csv(prices), data.scene_names),
            "samples": {method: int(rows["samples"].max()) for method, rows in trained.groupby("method")},
            "virtual_share": {
                method: float((rows["virtual_samples"] / rows["samples"]).mean())
                for method, rows in trained.groupby("method")
            },
            "largest_gap": float(trained["gap"].max()),
            "seeds": seeds,
            "frames": {scene: len(data.of_scene(scene)) for scene in data.scene_names},
            "cars": {
                scene: int(sum((~data.others[i]).sum() for i in data.of_scene(scene)))
                for scene in data.scene_names
            },
        },
        datasets={"kit_ais_cars": source["kind"]},
        timings={
            f"{method}_training_seconds": float(np.mean([read_json(path)[method] for path in timings]))
            for method in METHODS
        },
    )
    _precision_table(curves, data.scene_names).to_csv(
        folder / "precision.csv", index=False, lineterminator="\n"
    )
    _rate_table(curves, data.scene_names).to_csv(folder / "rates.csv", index=False, lineterminator="\n")
    pd.read_csv(prices).to_csv(folder / "prices.csv", index=False, lineterminator="\n")
    with (folder / "examples.npz").open("wb") as file:
        np.savez_compressed(file, **_examples(data, found[0], settings))


def _curves(data: Frames, found: list[pd.DataFrame], settings: Settings) -> Curves:
    """Return the curve of each seed for each criterion, scene and method."""
    curves: Curves = {}
    for kind, measure in criteria(settings.tolerance).items():
        for scene in data.scene_names:
            numbers = data.of_scene(scene)
            for method in (*METHODS, *CONTROLS):
                curves[kind, scene, method] = [
                    _curve(data, numbers, table[table["method"] == method], settings.side, measure)
                    for table in found
                ]
    return curves


def _curve(data: Frames, numbers: list[int], table: pd.DataFrame, side: int, measure: Any) -> DetectionCurve:
    rows = [table[table["frame"] == i] for i in numbers]
    return car_curve(
        [some[["x", "y"]].to_numpy() for some in rows],
        [some["score"].to_numpy() for some in rows],
        [data.centres[i] for i in numbers],
        [data.others[i] for i in numbers],
        side,
        measure,
    )


def _by_scene(curves: Curves, scenes: list[str], kind: str) -> dict[str, dict[str, list[float]]]:
    """Return average precision in percent for each scene, method and seed."""
    return {
        scene: {
            method: [100 * average_precision(c.precision, c.recall) for c in curves[kind, scene, method]]
            for method in (*METHODS, *CONTROLS)
        }
        for scene in scenes
    }


def _mean_over_scenes(by_scene: dict[str, dict[str, list[float]]]) -> dict[str, np.ndarray]:
    """Return the mean for each method and seed."""
    methods = (*METHODS, *CONTROLS)
    return {method: np.mean([some[method] for some in by_scene.values()], axis=0) for method in methods}


def _gains(mean: dict[str, np.ndarray]) -> dict[str, dict]:
    """Return by how many points each method is better than the linear one, seed by seed."""
    return {method: over_seeds(mean[method] - mean["linear"]) for method in METHODS if method != "linear"}


def _marked(by_scene: dict[str, dict[str, list[float]]]) -> dict[str, dict[str, dict]]:
    return {
        scene: {method: over_seeds(values) for method, values in some.items()}
        for scene, some in by_scene.items()
    }


def _recalls(curves: Curves, scenes: list[str]) -> dict[str, list[float]]:
    """Return recall at some rates of false positives, the mean over scenes and seeds."""
    return {
        method: np.mean(
            [
                recall_at_false_positives(curve, TOLD_RATES)
                for scene in scenes
                for curve in curves["centre", scene, method]
            ],
            axis=0,
        )
        for method in METHODS
    }


def _prices(table: pd.DataFrame, scenes: list[str]) -> dict[str, dict[str, float]]:
    """Return the price that was chosen for each method and test scene."""
    return {
        method: {
            test: chosen_price(table, method, [scene for scene in scenes if scene != test]) for test in scenes
        }
        for method in METHODS
    }


def _precision_table(curves: Curves, scenes: list[str]) -> pd.DataFrame:
    """Return precision over recall, the mean over seeds, 0 where a recall is not reached."""
    rows = []
    for scene in scenes:
        for method in METHODS:
            precision = np.mean(
                [
                    np.interp(
                        RECALLS, np.append(0, c.recall), np.append(c.precision[0], c.precision), right=0
                    )
                    for c in curves["centre", scene, method]
                ],
                axis=0,
            )
            rows.append(
                pd.DataFrame({"scene": scene, "method": method, "recall": RECALLS, "precision": precision})
            )
    return pd.concat(rows)


def _rate_table(curves: Curves, scenes: list[str]) -> pd.DataFrame:
    """Return recall over false positives a frame, the mean over seeds."""
    rows = []
    for scene in scenes:
        for method in METHODS:
            recalls = [recall_at_false_positives(c, RATES) for c in curves["centre", scene, method]]
            values = {"scene": scene, "method": method, "rate": RATES, "recall": np.mean(recalls, axis=0)}
            rows.append(pd.DataFrame(values))
    return pd.concat(rows)


def _examples(data: Frames, found: pd.DataFrame, settings: Settings) -> dict[str, np.ndarray]:
    """Return for each scene the part of its first frame with most cars, and what each method finds there.

    Arrays are named ``<number of the scene>_<what>``; detections are as many as the frame has cars, the best
    ones, with columns x, y and whether they are right (1), ignored (0) or wrong (-1).
    """
    arrays = {}
    measure = criteria(settings.tolerance)["centre"]
    for number, scene in enumerate(data.scene_names):
        frame = data.of_scene(scene)[0]
        cars = data.centres[frame][~data.others[frame]]
        top, left = _fullest_part(data.images[frame].shape, cars)
        part = (slice(top, top + SHOWN[0]), slice(left, left + SHOWN[1]))
        arrays[f"{number}_image"] = data.images[frame][part]
        arrays[f"{number}_cars"] = cars - (left, top)
        for method in METHODS:
            rows = found[(found["frame"] == frame) & (found["method"] == method)]
            verdicts = match_detections(
                squares(rows[["x", "y"]], settings.side),
                rows["score"],
                squares(data.centres[frame], settings.side),
                data.others[frame],
                measure=measure,
            )
            best = np.flatnonzero(verdicts != IGNORED)[: len(cars)]
            places = rows[["x", "y"]].to_numpy()[best] - (left, top)
            arrays[f"{number}_{method}"] = np.column_stack([places, verdicts[best] == CORRECT])
    return arrays


def _fullest_part(shape: tuple[int, ...], cars: np.ndarray) -> tuple[int, int]:
    """Return the corner (top, left) of the part of a frame that holds most cars, the first of several."""

    def count(corner: tuple[int, int]) -> int:
        places = cars - corner[::-1]
        return int(((places > 0) & (places < SHOWN[::-1])).all(axis=1).sum())

    tops = range(0, max(shape[0] - SHOWN[0], 0) + 1, 20)
    lefts = range(0, max(shape[1] - SHOWN[1], 0) + 1, 20)
    return max(((top, left) for top in tops for left in lefts), key=count)


if "snakemake" in globals():
    with job(snakemake):
        inputs = dict(snakemake.input.items())
        main(inputs.pop("receipt"), Path(snakemake.output.values).parent, **snakemake.params.sizes, **inputs)
