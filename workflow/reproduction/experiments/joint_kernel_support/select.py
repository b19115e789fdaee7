"""Choose settings that the thesis does not specify on held-out training images (rule select_car_settings).

For each reading of the protocol these are the descriptor sizes, the scaling of the histograms of each kernel
and the maximum overlap of two detections. They are the same for all noise levels and seeds. The rule: with
clean labels, models that were trained on two thirds of the training images detect the cars of the last third,
and the settings with the lowest mean equal error rate are chosen: first the descriptor sizes, by the mean
over joint kernel support estimation with both kernels, which trains in a second, then the others, by the mean
over all methods.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.claims.results import write_json
from reproduction.experiments.joint_kernel_support.localization import Boxes, Scan
from reproduction.experiments.joint_kernel_support.measures import detection_error
from reproduction.experiments.joint_kernel_support.protocol import (
    METHODS,
    READINGS,
    CarData,
    Choice,
    Settings,
    Trainer,
)
from reproduction.experiments.joint_kernel_support.windows import NORMALIZATIONS, Windows
from reproduction.pipeline.job import Paths, run_stage

#: One of this many training images is held out.
HELD_OUT = 3
#: Maximum overlaps of two detections.
OVERLAPS = (0.0, 0.1, 0.2, 0.3, 0.5)


def main(inputs: Paths, outputs: Paths, *, scales: Sequence[float], settings: Settings) -> None:
    """Measure the held-out error of all settings, and choose for each reading."""
    cars = CarData.read(inputs["words"], inputs["scenes"], settings)
    subsets = dict.fromkeys([tuple(range(len(scales))), *((i,) for i in range(len(scales)))])
    fast = [method for method, (training, _) in METHODS.items() if training == "jkse"]
    tables, chosen = [], {}
    for reading in READINGS:
        quick = pd.concat(held_out_errors(cars, reading, subset, fast) for subset in subsets)
        best = tuple(choose(quick)["scales"])
        slow = held_out_errors(cars, reading, best, [method for method in METHODS if method not in fast])
        tables += [quick, slow]
        chosen[reading] = choose(pd.concat([slow, quick[quick["scales"] == _names(best)]]))
    write_json(outputs["choice"], chosen)
    pd.concat(tables).to_csv(outputs["variants"], index=False, lineterminator="\n")


def choose(errors: pd.DataFrame) -> dict[str, Any]:
    """Return the settings with the lowest mean error over the methods; ties go to the first.

    The scaling of a kernel is chosen for given descriptor sizes and overlap, by the methods that use it.
    """
    best, lowest = {}, np.inf
    for (scales, overlap), table in errors.groupby(["scales", "max_overlap"], sort=False):
        means = table.groupby(["kernel", "normalization"], sort=False)["error"].mean()
        scaling = {kernel: means[kernel].idxmin() for kernel in dict.fromkeys(table["kernel"])}
        used = [
            scaling[kernel] == name
            for kernel, name in zip(table["kernel"], table["normalization"], strict=True)
        ]
        error = table.loc[used, "error"].mean()
        if error < lowest:
            lowest = error
            best = {
                "scales": [int(scale) for scale in str(scales).split()],
                "normalization": scaling,
                "max_overlap": float(overlap),
            }
    return best


def held_out_errors(
    cars: CarData, reading: str, scales: tuple[int, ...], methods: Sequence[str]
) -> pd.DataFrame:
    """Return the error of methods with each scaling of their kernel and each maximum overlap."""
    cars, pairs = cars.with_scales(scales), cars.pairs
    held_out = np.arange(len(cars.train)) % HELD_OUT == 0
    images = np.flatnonzero(held_out)
    truth = [cars.train_boxes[image] for image in images]
    rows = []
    for method, kernel, normalization in _cases(methods):
        trainer = cars.trainer(method, reading, Choice(scales, {kernel: normalization}, 0.0))
        scorer = trainer.train(pairs[~held_out[pairs.images]]).chosen_scorer
        scan = Scan.of([scorer], training_windows(trainer, images, truth))
        key = {"method": method, "kernel": kernel, "normalization": normalization}
        for overlap in OVERLAPS:
            error = detection_error(scan.detections(0, cars.settings.max_boxes, overlap), truth)
            rows.append({**key, "max_overlap": overlap, "error": error})
    return pd.DataFrame(rows).assign(reading=reading, scales=_names(scales))


def _cases(methods: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return each method with its kernel and each scaling of that."""
    kernels = [(method, METHODS[method][1]) for method in methods]
    return [(method, kernel, scaling) for method, kernel in kernels for scaling in NORMALIZATIONS[kernel]]


def _names(scales: Sequence[int]) -> str:
    return " ".join(map(str, scales))


def training_windows(trainer: Trainer, images: Sequence[int], boxes: Sequence[Boxes]) -> list[list[Windows]]:
    """Return the searched windows of training images, by default those of the size of one of their boxes."""
    return [
        trainer.pool.of(image, trainer.sizes or _sizes_of(trainer, image, of_image))
        for image, of_image in zip(images, boxes, strict=True)
    ]


def _sizes_of(trainer: Trainer, image: int, boxes: Boxes) -> list[tuple[int, int]]:
    return sorted({trainer.grids[image].size_of(box) for box in boxes})


if "snakemake" in globals():
    run_stage(main, snakemake)
