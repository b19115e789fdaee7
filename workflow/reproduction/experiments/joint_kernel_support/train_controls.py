"""Compare representations, searches and choices of the parameter (rule train_car_controls)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.metrics.detection import detection_curve, equal_error_rate
from reproduction.experiments.joint_kernel_support.localization import Boxes, Pairs, Scan, swap_boxes
from reproduction.experiments.joint_kernel_support.train import METHODS, CarData, Settings, Trainer
from reproduction.experiments.joint_kernel_support.windows import Windows
from reproduction.pipeline.job import Paths, run_stage

BOTH = ("known", "free")
#: Changes of the settings, and how the images are searched with each: windows of known or of any size.
VARIANTS = (
    ({}, BOTH),
    ({"normalization": "area"}, BOTH),
    ({"normalization": "counts"}, BOTH),
    ({"levels": (1, 2, 4, 8)}, ("known",)),
)
#: Other maximum overlaps of detections, for the unchanged settings; training does not depend on them.
OVERLAPS = (0.2, 0.5)
#: One of this many training images is held out to compare the variants.
HELD_OUT = 3
#: Ratio of successive window sizes if the size is not known.
SIZE_RATIO = 1.25


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    seed: int,
    noise: Sequence[float],
    cross_validated: Sequence[float],
    folds: int,
    settings: Settings,
) -> None:
    """Compare the variants on clean training pairs, and cross-validate at some noise levels."""
    cars = CarData.read(inputs["words"], inputs["scenes"], settings)
    variants = [
        row
        for changes, searches in VARIANTS
        for method in METHODS
        for row in _errors(
            replace(cars, settings=replace(settings, **changes)),
            method,
            searches,
            overlaps=() if changes else OVERLAPS,
        )
    ]
    validated = [
        {
            "noise": r,
            "method": method,
            **_cross_validated(cars, method, r, [seed, list(noise).index(r)], folds),
        }
        for r in cross_validated
        for method in METHODS
    ]
    for name, rows in (("variants", variants), ("validated", validated)):
        pd.DataFrame(rows).to_csv(outputs[name], index=False, lineterminator="\n")


def detection_error(
    trainer: Trainer,
    scan: Scan,
    truth: Sequence[Boxes],
    scorer: int = 0,
    max_overlap: float | None = None,
) -> float:
    """Return the equal error rate of the detections; by default with the maximum overlap of the settings."""
    overlap = trainer.settings.max_overlap if max_overlap is None else max_overlap
    found = scan.detections(scorer, trainer.settings.max_boxes, overlap)
    curve = detection_curve([boxes for boxes, _ in found], [scores for _, scores in found], truth)
    return equal_error_rate(curve.precision, curve.recall)


def cross_validate(trainer: Trainer, pairs: Pairs, n_folds: int) -> list[float]:
    """Return the mean equal error rate on held-out training images for each value of the parameter.

    Errors are measured against the given pairs, correct or not, with windows of the size of their boxes.
    Image i belongs to fold ``i % n_folds``.
    """
    folds = np.arange(len(trainer.grids)) % n_folds
    errors = [_held_out_errors(trainer, pairs, folds == fold) for fold in range(n_folds)]
    return np.mean(errors, axis=0).tolist()


def _held_out_errors(trainer: Trainer, pairs: Pairs, held_out: NDArray[np.bool_]) -> list[float]:
    candidates = trainer.train(pairs[~held_out[pairs.images]])
    images = np.flatnonzero(held_out)
    truth = [pairs.of_image(image) for image in images]
    scan = Scan.of(candidates.scorers, known_size_windows(trainer, images, truth))
    return [detection_error(trainer, scan, truth, scorer) for scorer in range(len(candidates.scorers))]


def known_size_windows(
    trainer: Trainer, images: Sequence[int], boxes: Sequence[Boxes]
) -> list[list[Windows]]:
    """Return for training images the windows that have the size of one of the image's boxes."""
    grids = [trainer.grids[image] for image in images]
    return [
        trainer.windows(grid, sorted({grid.size_of(box) for box in of_image}))
        for grid, of_image in zip(grids, boxes, strict=True)
    ]


def free_sizes(cars: CarData) -> list[tuple[int, int]]:
    """Return window sizes, in grid places, from the smallest to the largest training car."""
    widths, heights = (cars.pairs.boxes[:, 2:] - cars.pairs.boxes[:, :2] + 1).T
    n_steps = int(np.ceil(np.log(widths.max() / widths.min()) / np.log(SIZE_RATIO)))
    ladder = np.geomspace(widths.min(), widths.max(), n_steps + 1) / cars.train[0].step
    return [(round(width), round(np.median(heights / widths) * width)) for width in ladder]


def _errors(
    cars: CarData, method: str, searches: Sequence[str], overlaps: Sequence[float]
) -> list[dict[str, Any]]:
    """Return the errors on held-out training images of models that were trained on the other images.

    Each kind of search has the maximum overlap of the settings; the first also has each of ``overlaps``.
    """
    trainer, pairs = cars.trainer(method), cars.pairs
    held_out = np.arange(len(cars.train)) % HELD_OUT == 0
    scorer = trainer.train(pairs[~held_out[pairs.images]]).chosen_scorer
    images = np.flatnonzero(held_out)
    truth = [cars.train_boxes[image] for image in images]
    scans = {
        search: Scan.of([scorer], _held_out_windows(cars, trainer, search, images, truth))
        for search in searches
    }
    cases = [(search, cars.settings.max_overlap) for search in searches]
    cases += [(searches[0], overlap) for overlap in overlaps]
    return [
        {
            "normalisation": cars.settings.normalization,
            "levels": " ".join(map(str, cars.settings.levels)),
            "max_overlap": overlap,
            "method": method,
            "search": search,
            "held_out_error": detection_error(trainer, scans[search], truth, max_overlap=overlap),
        }
        for search, overlap in cases
    ]


def _held_out_windows(
    cars: CarData, trainer: Trainer, search: str, images: Sequence[int], truth: Sequence[Boxes]
) -> list[list[Windows]]:
    """Return the searched windows of the given training images."""
    if search == "known":
        return known_size_windows(trainer, images, truth)
    sizes = free_sizes(cars)
    return [trainer.windows(cars.train[image], sizes) for image in images]


def _cross_validated(cars: CarData, method: str, r: float, seed: list[int], n_folds: int) -> dict[str, Any]:
    """Return the parameters chosen by crops and by cross-validation, with their errors on the test images."""
    trainer = cars.trainer(method)
    pairs = swap_boxes(cars.pairs, cars.shapes, r, np.random.default_rng(seed))
    candidates = trainer.train(pairs)
    chosen = {
        "crops": candidates.chosen,
        "folds": int(np.argmin(cross_validate(trainer, pairs, n_folds))),
    }
    scan = Scan.of([candidates.scorers[index] for index in chosen.values()], cars.test_windows(trainer))
    row = {}
    for scorer, (name, index) in enumerate(chosen.items()):
        row[f"parameter_{name}"] = candidates.parameters[index]
        row[f"error_{name}"] = detection_error(trainer, scan, cars.test_boxes, scorer)
    return row


if "snakemake" in globals():
    run_stage(main, snakemake)
