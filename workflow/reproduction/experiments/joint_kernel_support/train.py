"""Every method under every level of label noise, and what it finds (rule train_car_localisers)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ermlab.detection.boxes import best_overlap
from ermlab.detection.localisation import Pairs, Scan, swap_boxes
from reproduction.claims.results import read_json, write_json
from reproduction.experiments.joint_kernel_support.protocol import (
    METHODS,
    Candidates,
    CarBench,
    Settings,
    read_cars,
)
from reproduction.pipeline.job import job


def main(
    receipt: str,
    words: str,
    outputs: Mapping[str, str],
    size: Mapping[str, int],
    *,
    seed: int,
    noise: Sequence[float],
    settings: Mapping[str, Any],
) -> None:
    """Train every method on the pairs of each noise level, and detect cars with the chosen parameter."""
    bench = CarBench.of(read_cars(read_json(receipt)["folder"], **size), words, Settings.of(settings))
    noisy = [
        swap_boxes(bench.pairs, bench.shapes, r, np.random.default_rng([seed, i]))
        for i, r in enumerate(noise)
    ]
    found, choices, timings = [], [], []
    for method in METHODS:
        trainer = bench.trainer(method)
        trained = [trainer.train(pairs) for pairs in noisy]
        scan = Scan.of([some.scorers[some.chosen] for some in trained], bench.test_windows(trainer))
        for i, (r, candidates) in enumerate(zip(noise, trained, strict=True)):
            boxes, scores = zip(*trainer.detections(scan, i), strict=True)
            found.append(_detection_rows(method, r, boxes, scores))
            choices.append(_choice_rows(method, r, candidates))
            timings.append(
                {
                    "method": method,
                    "noise": r,
                    "seconds": candidates.seconds,
                    "search_seconds": candidates.search_seconds,
                }
            )
    Path(outputs["detections"]).parent.mkdir(parents=True, exist_ok=True)
    pd.concat(found).to_csv(outputs["detections"], index=False, lineterminator="\n")
    pd.concat(choices).to_csv(outputs["choices"], index=False, lineterminator="\n")
    labels = pd.concat(
        _label_rows(r, pairs, bench.train_boxes) for r, pairs in zip(noise, noisy, strict=True)
    )
    labels.to_csv(outputs["labels"], index=False, lineterminator="\n")
    write_json(outputs["timings"], timings)


def _detection_rows(
    method: str, r: float, boxes: Sequence[np.ndarray], scores: Sequence[np.ndarray]
) -> pd.DataFrame:
    images = np.repeat(np.arange(len(boxes)), [len(some) for some in boxes])
    sides = dict(zip(("left", "top", "right", "bottom"), np.concatenate(boxes).T, strict=True))
    return pd.DataFrame(
        {"method": method, "noise": r, "image": images, **sides, "score": np.concatenate(scores)}
    )


def _choice_rows(method: str, r: float, candidates: Candidates) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "method": method,
            "noise": r,
            "parameter": candidates.parameters,
            "area": candidates.areas,
            "chosen": np.arange(len(candidates.parameters)) == candidates.chosen,
            "searches": candidates.searches,
        }
    )


def _label_rows(r: float, pairs: Pairs, truth: Sequence[np.ndarray]) -> pd.DataFrame:
    """Return the labels of a noise level, and how far each overlaps a car of its image."""
    overlaps = [
        best_overlap([box], truth[image])[0] for image, box in zip(pairs.images, pairs.boxes, strict=True)
    ]
    sides = dict(zip(("left", "top", "right", "bottom"), pairs.boxes.T, strict=True))
    return pd.DataFrame({"noise": r, "image": pairs.images, **sides, "overlap": overlaps})


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            snakemake.input.words,
            dict(snakemake.output.items()),
            snakemake.params.size,
            seed=snakemake.params.seed + int(snakemake.wildcards.seed),
            noise=snakemake.params.noise,
            settings=snakemake.params.settings,
        )
