"""What else decides the error: representation, search, choice of parameters (rule train_car_controls)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ermlab.detection.localization import Scan, swap_boxes
from ermlab.detection.windows import Windows
from reproduction.claims.results import read_json
from reproduction.experiments.joint_kernel_support.protocol import (
    METHODS,
    CarBench,
    Settings,
    Trainer,
    read_cars,
)
from reproduction.pipeline.job import job

#: Changes of what is trained, each with the ways to search that are tried.
BOTH = ("known", "free")
VARIANTS = (
    ({}, BOTH),
    ({"normalisation": "area"}, BOTH),
    ({"normalisation": "counts"}, BOTH),
    ({"levels": (1, 2, 4, 8)}, ("known",)),
)
#: Other overlaps of detections, tried with the settings as they are; the training is the same.
OVERLAPS = (0.2, 0.5)
#: One of so many training images is held out to compare the variants.
HELD_OUT = 3


def main(
    receipt: str,
    words: str,
    outputs: Mapping[str, str],
    size: Mapping[str, int],
    *,
    seed: int,
    noise: Sequence[float],
    cross_validated: Sequence[float],
    folds: int,
    settings: Mapping[str, Any],
) -> None:
    """Try the variants on clean training pairs, and cross-validation at some levels of noise."""
    bench = CarBench.of(read_cars(read_json(receipt)["folder"], **size), words, Settings.of(settings))
    variants = [
        row
        for changes, searches in VARIANTS
        for method in METHODS
        for row in _errors(bench.varied(changes), method, searches, () if changes else OVERLAPS)
    ]
    validated = [
        {
            "noise": r,
            "method": method,
            **_cross_validated(bench, method, r, [seed, list(noise).index(r)], folds),
        }
        for r in cross_validated
        for method in METHODS
    ]
    Path(outputs["variants"]).parent.mkdir(parents=True, exist_ok=True)
    for name, rows in (("variants", variants), ("validated", validated)):
        pd.DataFrame(rows).to_csv(outputs[name], index=False, lineterminator="\n")


def _errors(
    bench: CarBench, method: str, searches: Sequence[str], overlaps: Sequence[float]
) -> list[dict[str, Any]]:
    """Return the error on held-out training images and on the test images, trained on the other images.

    Each way to search is tried with the overlap of the settings, the first one with other ``overlaps``, too.
    """
    trainer, pairs = bench.trainer(method), bench.pairs
    held_out = np.arange(len(bench.train)) % HELD_OUT == 0
    candidates = trainer.train(pairs[~held_out[pairs.images]])
    scorer = candidates.scorers[candidates.chosen]
    images = np.flatnonzero(held_out)
    truth = [bench.train_boxes[image] for image in images]
    scans = {
        search: [Scan.of([scorer], some) for some in _windows(bench, trainer, search, images, truth)]
        for search in searches
    }
    tried = [(search, bench.settings.max_overlap) for search in searches]
    return [
        {
            "normalisation": bench.settings.normalisation,
            "levels": " ".join(map(str, bench.settings.levels)),
            "max_overlap": overlap,
            "method": method,
            "search": search,
            "held_out_error": trainer.error(scans[search][0], truth, max_overlap=overlap),
            "test_error": trainer.error(scans[search][1], bench.test_boxes, max_overlap=overlap),
        }
        for search, overlap in [*tried, *((searches[0], overlap) for overlap in overlaps)]
    ]


def _windows(
    bench: CarBench, trainer: Trainer, search: str, images: Sequence[int], truth: Sequence[np.ndarray]
) -> tuple[list[list[Windows]], list[list[Windows]]]:
    """Return what is searched of some training images and of the test images."""
    if search == "known":
        return trainer.known_size_windows(images, truth), bench.test_windows(trainer)
    sizes = bench.free_sizes
    return (
        [trainer.windows(bench.train[image], sizes) for image in images],
        [trainer.windows(grid, sizes) for grid in bench.test],
    )


def _cross_validated(bench: CarBench, method: str, r: float, seed: list[int], folds: int) -> dict[str, Any]:
    """Return the parameters that the crops and the folds choose, with their errors on the test images."""
    trainer = bench.trainer(method)
    pairs = swap_boxes(bench.pairs, bench.shapes, r, np.random.default_rng(seed))
    candidates, windows = trainer.train(pairs), bench.test_windows(trainer)
    chosen = {"crops": candidates.chosen, "folds": int(np.argmin(trainer.cross_validate(pairs, folds)))}
    scan = Scan.of([candidates.scorers[index] for index in chosen.values()], windows)
    errors = [trainer.error(scan, bench.test_boxes, scorer) for scorer in range(len(chosen))]
    return {
        f"{quantity}_{name}": value
        for (name, index), error in zip(chosen.items(), errors, strict=True)
        for quantity, value in (("parameter", candidates.parameters[index]), ("error", error))
    }


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            snakemake.input.words,
            dict(snakemake.output.items()),
            snakemake.params.size,
            **snakemake.params.controls,
            settings=snakemake.params.settings,
        )
