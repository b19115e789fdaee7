"""Train the random field on the grid of pixels (rule train_vessel_grid)."""

import numpy as np

from ermlab.segmentation import GridCRF, contrast_features
from reproduction.experiments.vessels.field_training import FieldSettings, train_field
from reproduction.experiments.vessels.fields import WHOLE, Square, VesselFields
from reproduction.pipeline.job import Paths, run_stage

CONNECTIVITY = 8


def main(inputs: Paths, outputs: Paths, *, seed: int, settings: FieldSettings) -> None:
    """Train by exact inference: graph cuts."""
    fields = VesselFields.read(inputs["retinas"], inputs["scores"])
    train_field(fields, outputs, grid_task, grid_sample, segment_by_grid, settings, seed)


def grid_task(class_weight: float = 1.0) -> GridCRF:
    """Return the task: two states, two features of a pixel, two of an edge, submodular weights."""
    return GridCRF(2, 2, 2, connectivity=CONNECTIVITY, class_weight=[1.0, class_weight])


def grid_sample(fields: VesselFields, i: int, square: Square = WHOLE) -> tuple[np.ndarray, np.ndarray]:
    """Return the features of the pixels, and of the edges between neighbors."""
    return fields.unary_features(i)[square], contrast_features(fields.gray_levels(i)[square], CONNECTIVITY)


def segment_by_grid(fields: VesselFields, i: int, w: np.ndarray) -> np.ndarray:
    """Return the labels of a photograph, by a minimum cut."""
    return grid_task().predict(w, grid_sample(fields, i))


if "snakemake" in globals():
    run_stage(main, snakemake)
