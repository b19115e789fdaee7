"""Choose the parameter of JKSE by cross-validation instead of crops (rule train_car_controls).

The thesis expects this to help (section 3.1.8); it is not practical for the structured SVM.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from reproduction.claims.results import read_json
from reproduction.experiments.joint_kernel_support.localization import Pairs, Scan, swap_boxes
from reproduction.experiments.joint_kernel_support.measures import detection_error
from reproduction.experiments.joint_kernel_support.protocol import METHODS, CarData, Choice, Settings, Trainer
from reproduction.experiments.joint_kernel_support.select import training_windows
from reproduction.pipeline.job import Paths, run_stage


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
    """Cross-validate JKSE at some noise levels, with boxes of any size."""
    choice = Choice(**read_json(inputs["choice"])["free"])
    cars = CarData.read(inputs["words"], inputs["scenes"], settings).with_scales(choice.scales)
    rows = [
        {"noise": r, "method": method, **_cross_validated(cars, method, choice, pairs, folds)}
        for r in cross_validated
        for pairs in [
            swap_boxes(cars.pairs, cars.shapes, r, np.random.default_rng([seed, list(noise).index(r)]))
        ]
        for method in METHODS
        if METHODS[method][0] == "jkse"
    ]
    pd.DataFrame(rows).to_csv(outputs["validated"], index=False, lineterminator="\n")


def cross_validate(trainer: Trainer, pairs: Pairs, n_folds: int, max_overlap: float) -> list[float]:
    """Return the mean equal error rate on held-out training images for each value of the parameter.

    Errors are measured against the given pairs, correct or not. Image i belongs to fold ``i % n_folds``.
    """
    folds = np.arange(len(trainer.grids)) % n_folds
    errors = [_held_out_errors(trainer, pairs, folds == fold, max_overlap) for fold in range(n_folds)]
    return np.mean(errors, axis=0).tolist()


def _held_out_errors(
    trainer: Trainer, pairs: Pairs, held_out: NDArray[np.bool_], max_overlap: float
) -> list[float]:
    candidates = trainer.train(pairs[~held_out[pairs.images]])
    images = np.flatnonzero(held_out)
    truth = [pairs.of_image(image) for image in images]
    scan = Scan.of(candidates.scorers, training_windows(trainer, images, truth))
    return [
        detection_error(scan.detections(scorer, trainer.settings.max_boxes, max_overlap), truth)
        for scorer in range(len(candidates.scorers))
    ]


def _cross_validated(
    cars: CarData, method: str, choice: Choice, pairs: Pairs, n_folds: int
) -> dict[str, Any]:
    """Return the parameters chosen by crops and by cross-validation, with their errors on the test images."""
    trainer = cars.trainer(method, "free", choice)
    candidates = trainer.train(pairs)
    chosen = {
        "crops": candidates.chosen,
        "folds": int(np.argmin(cross_validate(trainer, pairs, n_folds, choice.max_overlap))),
    }
    scan = Scan.of([candidates.scorers[index] for index in chosen.values()], cars.test_windows(trainer))
    row = {}
    for scorer, (name, index) in enumerate(chosen.items()):
        found = scan.detections(scorer, trainer.settings.max_boxes, choice.max_overlap)
        row[f"parameter_{name}"] = candidates.parameters[index]
        row[f"error_{name}"] = detection_error(found, cars.test_boxes)
    return row


if "snakemake" in globals():
    run_stage(main, snakemake)
