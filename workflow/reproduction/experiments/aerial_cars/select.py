"""Select C for each detector, by training on one scene and testing on another (rule select_aerial_C)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from ermlab.metrics.detection import average_precision
from reproduction.experiments.aerial_cars.detectors import Trainer
from reproduction.experiments.aerial_cars.protocol import (
    METHODS,
    Frames,
    Settings,
    car_curve,
    criteria,
    detect,
    load_grids,
)
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    seed: int,
    settings: Settings,
    selection: Mapping[str, int],
    C: Mapping[str, Sequence[float]],
) -> None:
    """Write the average precision of each method and C for each pair of scenes.

    ``selection`` has the smaller numbers of regions and rotations of the selection, ``C`` the values to
    select from with one template (``"linear"``) and with slots (``"slot"``).
    """
    trainer = Trainer(Frames.load(inputs["frames"]), replace(settings, **selection), seed)
    table = pd.DataFrame(validate_pairs(trainer, load_grids(inputs["grids"]), C))
    table.to_csv(outputs["validated"], index=False, lineterminator="\n")


def validate_pairs(
    trainer: Trainer, grids: Sequence[NDArray], C: Mapping[str, Sequence[float]]
) -> list[dict[str, Any]]:
    """Train on one scene and test on another, for every pair of scenes, method and C.

    Returns rows with ``method``, ``price`` (the value of C), ``train``, ``test`` and ``ap``, by the distance
    of centers. C for the fold that tests a third scene is selected by the pairs among the other two.
    """
    frames, settings = trainer.frames, trainer.settings
    measure = criteria(settings.tolerance)["center"]
    rows = []
    for method, (has_slots, _) in METHODS.items():
        values = sorted(C["slot" if has_slots else "linear"])
        for train in frames.scene_names:
            detectors = trainer.train(method, [train], values)
            for test in frames.scene_names:
                if test == train:
                    continue
                numbers = frames.of_scene(test)
                assigned = [detectors[0].slots.assign_windows(grids[i]) for i in numbers]
                for value, detector in zip(values, detectors, strict=True):
                    found = [
                        detect(detector.scores(grids[i], slots), settings)
                        for i, slots in zip(numbers, assigned, strict=True)
                    ]
                    curve = car_curve(frames, numbers, found, settings.side, measure)
                    ap = average_precision(curve.precision, curve.recall)
                    rows.append({"method": method, "price": value, "train": train, "test": test, "ap": ap})
    return rows


def best_C(validated: pd.DataFrame, method: str, scenes: Sequence[str]) -> float:
    """Return the C with the best mean over the pairs among ``scenes``, the smallest of several.

    ``validated`` has the rows of `validate_pairs`; rows that involve other scenes are ignored.
    """
    rows = validated[
        (validated["method"] == method) & validated["train"].isin(scenes) & validated["test"].isin(scenes)
    ]
    if rows.empty:
        raise ValueError(f"no pair of {list(scenes)} for {method!r}: expected rows of validate_pairs")
    return float(rows.groupby("price")["ap"].mean().idxmax())


def at_edge(validated: pd.DataFrame, scenes: Sequence[str]) -> list[tuple[str, str, float]]:
    """Return method, test scene and C of each choice that is the smallest or largest value validated."""
    edges = []
    for method in METHODS:
        values = validated.loc[validated["method"] == method, "price"]
        for test in scenes:
            C = best_C(validated, method, [scene for scene in scenes if scene != test])
            if C in (values.min(), values.max()):
                edges.append((method, test, C))
    return edges


if "snakemake" in globals():
    run_stage(main, snakemake)
