"""Train the random field that joins all pairs of pixels (rule train_vessel_dense)."""

import numpy as np

from ermlab.segmentation import DenseCRF
from reproduction.experiments.vessels.field_training import FieldSettings, train_field
from reproduction.experiments.vessels.fields import WHOLE, Square, VesselFields
from reproduction.pipeline.job import Paths, run_stage

#: Channels of the guide image.
LEVEL, SCORE = (0,), (1,)
#: Kernels among which training chooses by their weights: of positions, of positions and gray level, and of
#: positions and score. Widths are in pixels, those of levels and scores in standard deviations.
KERNELS = (
    1.0,
    2.0,
    *((position, level, LEVEL) for position in (4.0, 16.0) for level in (0.3, 1.0)),
    *((position, score, SCORE) for position in (4.0, 16.0) for score in (0.3, 1.0)),
)


def main(inputs: Paths, outputs: Paths, *, seed: int, settings: FieldSettings) -> None:
    """Train by approximate inference: mean field."""
    fields = VesselFields.read(inputs["retinas"], inputs["scores"])
    train_field(fields, outputs, dense_task, dense_sample, segment_by_dense, settings, seed)


def dense_task(class_weight: float = 1.0) -> DenseCRF:
    """Return the task: two states, two features of a pixel, and all kernels."""
    return DenseCRF(2, 2, kernels=KERNELS, class_weight=[1.0, class_weight])


def dense_sample(fields: VesselFields, i: int, square: Square = WHOLE) -> tuple[np.ndarray, ...]:
    """Return the features of the pixels, the guide image, and the field of view."""
    features = fields.unary_features(i)[square]
    guide = np.stack([fields.gray_levels(i)[square], features[..., 0]], axis=-1)
    return features, guide, fields.retinas.fields[i][square]


def segment_by_dense(fields: VesselFields, i: int, w: np.ndarray) -> np.ndarray:
    """Return the labels of a photograph, by mean field."""
    return dense_task().predict(w, dense_sample(fields, i))


if "snakemake" in globals():
    run_stage(main, snakemake)
