"""What else decides the error: representation, search, choice of parameters (rule train_car_controls)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ermlab.evaluation.results import read_json
from ermlab.risk.localisation import swap_boxes
from ermlab.risk.localisation_protocol import METHODS, CarBench, Settings, read_cars
from ermlab.workflow.job import job

#: Changes of the settings, each with the ways to search that are tried.
BOTH = ("known", "free")
VARIANTS = (
    ({}, BOTH),
    ({"normalisation": "area"}, BOTH),
    ({"normalisation": "counts"}, BOTH),
    ({"levels": (1, 2, 4, 8)}, ("known",)),
    ({"max_overlap": 0.2}, ("known",)),
    ({"max_overlap": 0.5}, ("known",)),
)
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
        {**_described(varied.settings), "method": method, **row}
        for changes, searches in VARIANTS
        for varied in [bench.varied(changes)]
        for method in METHODS
        for row in _errors(varied, method, searches)
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


def _described(settings: Settings) -> dict[str, Any]:
    return {
        "normalisation": settings.normalisation,
        "levels": " ".join(map(str, settings.levels)),
        "max_overlap": settings.max_overlap,
    }


def _errors(bench: CarBench, method: str, searches: Sequence[str]) -> list[dict[str, Any]]:
    """Return the error on held-out training images and on the test images, trained on the other images."""
    trainer, pairs = bench.trainer(method), bench.pairs
    held_out = np.arange(len(bench.train)) % HELD_OUT == 0
    candidates = trainer.train(pairs[~held_out[pairs.images]])
    scorer = candidates.scorers[candidates.chosen]
    images = np.flatnonzero(held_out)
    truth = [bench.train_boxes[image] for image in images]
    rows = []
    for search in searches:
        if search == "known":
            windows, test = trainer.known_size_windows(images, truth), bench.test_windows(trainer)
        else:
            windows = [trainer.windows(bench.train[image], bench.free_sizes) for image in images]
            test = [trainer.windows(grid, bench.free_sizes) for grid in bench.test]
        rows.append(
            {
                "search": search,
                "held_out_error": trainer.error(scorer, windows, truth),
                "test_error": trainer.error(scorer, test, bench.test_boxes),
            }
        )
    return rows


def _cross_validated(bench: CarBench, method: str, r: float, seed: list[int], folds: int) -> dict[str, Any]:
    """Return the parameters that the crops and the folds choose, with their errors on the test images."""
    trainer = bench.trainer(method)
    pairs = swap_boxes(bench.pairs, bench.shapes, r, np.random.default_rng(seed))
    candidates, windows = trainer.train(pairs), bench.test_windows(trainer)
    by_folds = int(np.argmin(trainer.cross_validate(pairs, folds)))
    return {
        f"{quantity}_{name}": value
        for name, index in (("crops", candidates.chosen), ("folds", by_folds))
        for quantity, value in (
            ("parameter", candidates.parameters[index]),
            ("error", trainer.error(candidates.scorers[index], windows, bench.test_boxes)),
        )
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
