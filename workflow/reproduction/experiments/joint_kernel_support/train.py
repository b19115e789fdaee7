"""Train every method under label noise, and detect cars with it (rule train_car_localizers)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ermlab.detection.boxes import best_overlap
from reproduction.claims.results import read_json, write_json
from reproduction.experiments.joint_kernel_support.localization import (
    Boxes,
    Pairs,
    Scan,
    Vector,
    swap_boxes,
)
from reproduction.experiments.joint_kernel_support.protocol import (
    METHODS,
    READINGS,
    SIDES,
    Candidates,
    CarData,
    Choice,
    Settings,
)
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, seed: int, noise: Sequence[float], settings: Settings) -> None:
    """Train every method on the pairs of each noise level, and detect cars with the chosen parameter."""
    cars = CarData.read(inputs["words"], inputs["scenes"], settings)
    choices = {reading: Choice(**chosen) for reading, chosen in read_json(inputs["choice"]).items()}
    noisy = [
        swap_boxes(cars.pairs, cars.shapes, r, np.random.default_rng([seed, i])) for i, r in enumerate(noise)
    ]
    tables = {"detections": [], "choices": [], "labels": []}
    timings = []
    for reading in READINGS:
        choice = choices[reading]
        images = cars.with_scales(choice.scales)
        for method in METHODS:
            trainer = images.trainer(method, reading, choice)
            trained = [trainer.train(pairs) for pairs in noisy]
            windows = images.test_windows(trainer)
            searched = int(np.median([sum(np.prod(part.shape) for part in parts) for parts in windows]))
            scan = Scan.of([candidates.chosen_scorer for candidates in trained], windows)
            for i, (r, candidates) in enumerate(zip(noise, trained, strict=True)):
                key = {"reading": reading, "method": method, "noise": r}
                found = scan.detections(i, settings.max_boxes, choice.max_overlap)
                tables["detections"].append(_detection_rows(found).assign(**key))
                tables["choices"].append(_choice_rows(candidates).assign(**key))
                seconds = {"seconds": candidates.seconds, "search_seconds": candidates.search_seconds}
                timings.append({**key, **seconds, "windows": searched})
    tables["labels"] = [
        _label_rows(pairs, cars.train_boxes).assign(noise=r) for r, pairs in zip(noise, noisy, strict=True)
    ]
    for name, parts in tables.items():
        pd.concat(parts).to_csv(outputs[name], index=False, lineterminator="\n")
    write_json(outputs["timings"], timings)


def _detection_rows(found: Sequence[tuple[Boxes, Vector]]) -> pd.DataFrame:
    """Return one row for each detection: image, sides and score."""
    boxes, scores = zip(*found, strict=True)
    table = pd.DataFrame(np.concatenate(boxes), columns=SIDES)
    images = np.repeat(np.arange(len(boxes)), [len(of_image) for of_image in boxes])
    return table.assign(image=images, score=np.concatenate(scores))


def _choice_rows(candidates: Candidates) -> pd.DataFrame:
    """Return one row for each value of the parameter."""
    return pd.DataFrame(
        {
            "parameter": candidates.parameters,
            "area": candidates.areas,
            "chosen": np.arange(len(candidates.parameters)) == candidates.chosen,
            "searches": candidates.searches,
        }
    )


def _label_rows(pairs: Pairs, truth: Sequence[Boxes]) -> pd.DataFrame:
    """Return one row for each label, with its largest overlap with a car of its image."""
    overlaps = [
        best_overlap([box], truth[image])[0] for image, box in zip(pairs.images, pairs.boxes, strict=True)
    ]
    return pd.DataFrame(pairs.boxes, columns=SIDES).assign(image=pairs.images, overlap=overlaps)


if "snakemake" in globals():
    run_stage(main, snakemake)
