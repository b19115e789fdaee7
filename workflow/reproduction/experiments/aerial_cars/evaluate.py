"""Evaluate the detections of cars in aerial frames (rule evaluate_aerial_cars)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

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
from reproduction.claims.results import read_json, repeated, write_results
from reproduction.experiments.aerial_cars.protocol import (
    LATENT,
    LATENT_TITLE,
    METHODS,
    TITLES,
    Frames,
    Settings,
    car_curve,
    criteria,
    squares,
)
from reproduction.experiments.aerial_cars.select import at_edge, best_C
from reproduction.experiments.intervals import interval_text
from reproduction.pipeline.job import Paths, run_stage

ALL_METHODS = (*METHODS, LATENT)
RECALLS = np.linspace(0, 1, 101)
RATES = np.geomspace(0.1, 100, 61)
#: False positives per frame at which recall is reported.
REPORTED_RATES = (1.0, 5.0, 10.0)
#: Height and width of the part of a frame that the page shows.
SHOWN = (370, 460)
#: Curve of each seed by criterion, scene and method.
Curves = dict[tuple[str, str, str], list[DetectionCurve]]
#: Average precision of each seed by scene and method.
ByScene = dict[str, dict[str, list[float]]]


def main(inputs: Paths, outputs: Paths, *, seeds: int, settings: Settings) -> None:
    """Evaluate the detections; the files of the training rule are ordered by seed, then by fold."""
    frames = Frames.load(inputs["frames"])
    found = [pd.concat(map(pd.read_csv, paths)) for paths in np.array_split(inputs["detections"], seeds)]
    training = pd.concat(map(pd.read_csv, inputs["training"]))
    seconds = pd.DataFrame(map(read_json, inputs["timings"]))
    validated = pd.read_csv(inputs["validated"])
    curves = detection_curves(frames, found, settings)
    by_scene = {kind: precision_by_scene(curves, frames.scene_names, kind) for kind in ("center", "pascal")}
    mean = {kind: _mean_over_seeds(precisions) for kind, precisions in by_scene.items()}
    write_results(
        Path(outputs["values"]).parent,
        {
            "scenes": frames.scene_names,
            "ap": {name: repeated(values, unit="scene") for name, values in mean["center"].items()},
            "ap_gain": _gains(mean["center"]),
            "ap_pascal": {name: repeated(values, unit="scene") for name, values in mean["pascal"].items()},
            "ap_pascal_gain": _gains(mean["pascal"]),
            "ap_by_scene": _mark_seeds(by_scene["center"]),
            "ap_pascal_by_scene": _mark_seeds(by_scene["pascal"]),
            "told_rates": REPORTED_RATES,
            "recall_at_rates": _mean_recalls(curves, frames.scene_names),
            "price": selected_C(validated, frames.scene_names),
            "price_at_edge": at_edge(validated, frames.scene_names),
            "price_values": {
                method: sorted(set(rows["price"])) for method, rows in validated.groupby("method")
            },
            **summarize_training(training),
            "seeds": seeds,
            "rotations": settings.rotations,
            "max_cars": settings.cars,
            "backgrounds": settings.backgrounds,
            "frames": {scene: len(frames.of_scene(scene)) for scene in frames.scene_names},
            "cars": {
                scene: int(sum((~frames.others[i]).sum() for i in frames.of_scene(scene)))
                for scene in frames.scene_names
            },
        },
        datasets={"kit_ais_cars": read_json(inputs["receipt"])["kind"]},
        timings={
            **{f"{name}_training_seconds": float(seconds[name].mean()) for name in (*METHODS, LATENT)},
            "latent_detection_ratio": float(
                seconds["latent_detection"].sum() / seconds["plain_detection"].sum()
            ),
            "gaussian_over_slot": float(seconds["gaussian_scores"].sum() / seconds["slot_scores"].sum()),
        },
    )
    for name, table in (
        ("precision", precision_table(curves, frames.scene_names)),
        ("rates", rate_table(curves, frames.scene_names)),
        ("prices", validated),
    ):
        table.to_csv(outputs[name], index=False, lineterminator="\n")
    np.savez_compressed(outputs["examples"], **example_arrays(frames, found[0], settings))


def detection_curves(frames: Frames, found: Sequence[pd.DataFrame], settings: Settings) -> Curves:
    """Return the curve of each seed for each criterion, scene and method."""
    curves: Curves = {}
    for kind, measure in criteria(settings.tolerance).items():
        for scene in frames.scene_names:
            numbers = frames.of_scene(scene)
            for method in ALL_METHODS:
                curves[kind, scene, method] = [
                    car_curve(
                        frames,
                        numbers,
                        [_detections(table, method, frame) for frame in numbers],
                        settings.side,
                        measure,
                    )
                    for table in found
                ]
    return curves


def _detections(table: pd.DataFrame, method: str, frame: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the centers and scores of the detections of a method in a frame."""
    rows = table[(table["method"] == method) & (table["frame"] == frame)]
    return rows[["x", "y"]].to_numpy(), rows["score"].to_numpy()


def precision_by_scene(curves: Curves, scenes: Sequence[str], kind: str) -> ByScene:
    """Return average precision in percent for each scene, method and seed."""
    return {
        scene: {
            method: [
                100 * average_precision(curve.precision, curve.recall)
                for curve in curves[kind, scene, method]
            ]
            for method in ALL_METHODS
        }
        for scene in scenes
    }


def _mean_over_seeds(by_scene: ByScene) -> dict[str, np.ndarray]:
    """Return the mean over seeds for each method and scene: scenes are the units, however many the seeds."""
    return {
        method: np.array([np.mean(precisions[method]) for precisions in by_scene.values()])
        for method in ALL_METHODS
    }


def _gains(mean: Mapping[str, np.ndarray]) -> dict[str, dict]:
    """Return the difference of each method to the linear one in points, paired by scene."""
    return {
        method: repeated(mean[method] - mean["linear"], unit="scene")
        for method in METHODS
        if method != "linear"
    }


def _mark_seeds(by_scene: ByScene) -> dict[str, dict[str, dict]]:
    return {
        scene: {method: repeated(values) for method, values in precisions.items()}
        for scene, precisions in by_scene.items()
    }


def _mean_recalls(curves: Curves, scenes: Sequence[str]) -> dict[str, np.ndarray]:
    """Return recall at `REPORTED_RATES`, the mean over scenes and seeds."""
    return {
        method: np.mean(
            [
                recall_at_false_positives(curve, REPORTED_RATES)
                for scene in scenes
                for curve in curves["center", scene, method]
            ],
            axis=0,
        )
        for method in METHODS
    }


def selected_C(validated: pd.DataFrame, scenes: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return C for each method and test scene, selected on the other scenes."""
    return {
        method: {
            test: best_C(validated, method, [scene for scene in scenes if scene != test]) for test in scenes
        }
        for method in METHODS
    }


def summarize_training(training: pd.DataFrame) -> dict:
    """Return the numbers of samples, the mean shares of virtual samples, and the largest gap."""
    methods = training.groupby("method")
    return {
        "samples": {method: int(rows["samples"].max()) for method, rows in methods},
        "virtual_share": {
            method: float((rows["virtual_samples"] / rows["samples"]).mean()) for method, rows in methods
        },
        "largest_gap": float(training["gap"].max()),
    }


def precision_table(curves: Curves, scenes: Sequence[str]) -> pd.DataFrame:
    """Return precision over recall, the mean over seeds; 0 where a recall is not reached."""

    def precision(curve: DetectionCurve) -> np.ndarray:
        recalls, precisions = np.append(0, curve.recall), np.append(curve.precision[0], curve.precision)
        return np.interp(RECALLS, recalls, precisions, right=0)

    return _mean_curves(curves, scenes, precision, {"recall": RECALLS}, "precision")


def rate_table(curves: Curves, scenes: Sequence[str]) -> pd.DataFrame:
    """Return recall over false positives per frame, the mean over seeds."""
    return _mean_curves(
        curves, scenes, lambda curve: recall_at_false_positives(curve, RATES), {"rate": RATES}, "recall"
    )


def _mean_curves(
    curves: Curves,
    scenes: Sequence[str],
    values: Callable[[DetectionCurve], np.ndarray],
    axis: Mapping[str, np.ndarray],
    name: str,
) -> pd.DataFrame:
    return pd.concat(
        pd.DataFrame(
            {
                "scene": scene,
                "method": method,
                **axis,
                name: np.mean([values(curve) for curve in curves["center", scene, method]], axis=0),
            }
        )
        for scene in scenes
        for method in (*METHODS, LATENT)
    )


def example_arrays(frames: Frames, found: pd.DataFrame, settings: Settings) -> dict[str, np.ndarray]:
    """Return for each scene the part of its first frame with most cars, and the detections of each method.

    Arrays are named ``<index of the scene>_<content>``. Of the detections the best ones are kept, as many as
    the frame has cars, with columns x, y and whether they are correct.
    """
    arrays = {}
    measure = criteria(settings.tolerance)["center"]
    for number, scene in enumerate(frames.scene_names):
        frame = frames.of_scene(scene)[0]
        cars = frames.centers[frame][~frames.others[frame]]
        top, left = _fullest_part(frames.images[frame].shape, cars)
        arrays[f"{number}_image"] = frames.images[frame][top : top + SHOWN[0], left : left + SHOWN[1]]
        arrays[f"{number}_cars"] = cars - (left, top)
        for method in METHODS:
            centers, scores = _detections(found, method, frame)
            verdicts = match_detections(
                squares(centers, settings.side),
                scores,
                squares(frames.centers[frame], settings.side),
                frames.others[frame],
                measure=measure,
            )
            best = np.flatnonzero(verdicts != IGNORED)[: len(cars)]
            correct = verdicts[best] == CORRECT
            arrays[f"{number}_{method}"] = np.column_stack([centers[best] - (left, top), correct])
    return arrays


def _fullest_part(shape: tuple[int, ...], cars: np.ndarray) -> tuple[int, int]:
    """Return the corner (top, left) of the part of a frame with most cars, the first of several."""

    def count(corner: tuple[int, int]) -> int:
        places = cars - corner[::-1]
        return int(((places > 0) & (places < SHOWN[::-1])).all(axis=1).sum())

    tops = range(0, max(shape[0] - SHOWN[0], 0) + 1, 20)
    lefts = range(0, max(shape[1] - SHOWN[1], 0) + 1, 20)
    return max(((top, left) for top in tops for left in lefts), key=count)


def mean_over_scenes(curves: pd.DataFrame, at: str, value: str) -> pd.DataFrame:
    """Return the mean over scenes of the column ``value`` for each method and each value of ``at``."""
    return curves.groupby(["method", at], sort=False, as_index=False)[value].mean()


def curve_table(precision: pd.DataFrame, rates: pd.DataFrame) -> pd.DataFrame:
    """Return both kinds of curves as one table with the columns scene, method, curve, x and y."""
    first = precision.rename(columns={"recall": "x", "precision": "y"}).assign(curve="precision over recall")
    second = rates.rename(columns={"rate": "x", "recall": "y"}).assign(curve="recall over false positives")
    return pd.concat([first, second])[["scene", "method", "curve", "x", "y"]]


def scene_table(values: Mapping) -> pd.DataFrame:
    """Return average precision in percent, one row per method and one column per scene.

    The means over the scenes have 95 % intervals.
    """
    rows = {}
    for method, title in (TITLES | {LATENT: LATENT_TITLE}).items():
        by_scene = {scene: _mean_sd(values["ap_by_scene"][scene][method]) for scene in values["scenes"]}
        rows[title] = by_scene | {
            "mean": interval_text(values["ap"][method]),
            "mean, PASCAL": interval_text(values["ap_pascal"][method]),
        }
    return pd.DataFrame(rows).T


def gain_table(values: Mapping, published: Mapping[str, float]) -> pd.DataFrame:
    """Return points of average precision over the linear detector: published, ours, and ours by scene."""
    rows = {}
    for method, points in published.items():
        row = {
            "published": f"+{points:g}",
            "ours": interval_text(values["ap_gain"][method]),
            "PASCAL": interval_text(values["ap_pascal_gain"][method]),
        }
        for scene in values["scenes"]:
            precisions = values["ap_by_scene"][scene]
            gains = np.subtract(precisions[method]["repeats"], precisions["linear"]["repeats"])
            row[scene] = f"{gains.mean():+.0f}"
        rows[TITLES[method]] = row
    return pd.DataFrame(rows).T


def describe_samples(values: Mapping) -> str:
    """Say how many cars and regions the detectors are trained on, and what the source says about it."""
    total, n_frames = sum(values["cars"].values()), sum(values["frames"].values())
    used = {scene: min(cars, values["max_cars"]) for scene, cars in values["cars"].items()}
    taken = "All cars" if used == values["cars"] else f"At most {values['max_cars']} cars of each scene"
    return (
        "The source has 30 images with more than 1,000 cars in all; it states neither which of them are for "
        f"training nor how many windows without a car are used. We have {n_frames} frames with {total} "
        f"annotated cars. {taken} in the frames of the two training scenes are training samples, "
        f"{sum(used.values()) - max(used.values())} to {sum(used.values()) - min(used.values())} in all, and "
        f"{values['backgrounds']} regions without a car are added per scene."
    )


def describe_selection(values: Mapping) -> str:
    """Say which values of C were compared, and which choices are at the edge of their range."""
    ranges = {
        TITLES[method]: f"{min(C):g} to {max(C):g} ({len(C)} values)"
        for method, C in values["price_values"].items()
    }
    compared = "; ".join(f"{title}: {text}" for title, text in ranges.items())
    edges = [f"{TITLES[method]} for {test} (C = {C:g})" for method, test, C in values["price_at_edge"]]
    outcome = (
        f"These choices are at the edge of their range, and might gain from another C: {', '.join(edges)}."
        if edges
        else "No choice is at the edge of its range."
    )
    return f"Values of $C$ compared: {compared}. {outcome}"


def describe_scenes(values: Mapping) -> str:
    """Say on which scenes each detector gains over the linear one, and how many virtual samples are used."""
    sentences = []
    for method, title in TITLES.items():
        if method == "linear":
            continue
        gains = np.array(values["ap_gain"][method]["repeats"])
        by_scene = ", ".join(
            f"{gain:+.0f} on {scene}" for gain, scene in zip(gains, values["scenes"], strict=True)
        )
        sentences.append(f"- *{title}*: {gains.mean():+.0f} points on average ({by_scene}).")
    used = {method: values["virtual_share"][method] for method in ("linear_equivariant", "slot_equivariant")}
    sentences.append(
        "- *Few virtual samples?* The source expects the optimizer to choose a small set. Per sample, "
        f"{used['linear_equivariant']:.0f} rotations are the worst at least once for the linear and "
        f"{used['slot_equivariant']:.0f} for the slot detector, of {values['rotations']}. A sample that no "
        "weights satisfy at all angles is violated at one of them in every pass, and the angle changes with "
        "the weights."
    )
    return "\n".join(sentences)


def _mean_sd(measured: Mapping[str, Sequence[float]]) -> str:
    """Return mean and standard deviation over seeds; the mean alone of a single one."""
    repeats = measured["repeats"]
    mean = f"{np.mean(repeats):.0f}"
    return mean if len(repeats) < 2 else f"{mean} ± {np.std(repeats, ddof=1):.0f}"


if "snakemake" in globals():
    run_stage(main, snakemake)
