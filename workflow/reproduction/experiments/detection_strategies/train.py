"""Train a linear bag-of-words model of each class against the rest (rule train_detection_models)."""

import numpy as np

from ermlab.detection import (
    BoxSamples,
    background_boxes,
    cross_validate,
    load_word_grids,
    sample_boxes,
    train_one_against_rest,
)
from ermlab.detection.box_words import BACKGROUND
from reproduction.claims.results import write_json
from reproduction.datasets.voc2007_sample import CLASSES
from reproduction.experiments.detection_strategies.prepare import AnnotatedImages
from reproduction.pipeline.job import Paths, run_stage

#: For the smallest C the weights are a difference of mean histograms, for the largest no margin is violated.
C_GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
BACKGROUND_PER_IMAGE = 10


def main(inputs: Paths, outputs: Paths, *, seed: int, n_words: int) -> None:
    """Select one C for all classes on held-out training boxes, and train with it on all boxes."""
    annotated = AnnotatedImages.read(inputs["annotations"])
    rng = np.random.default_rng(seed)
    parts = []
    for i, grid in zip(annotated.train.tolist(), load_word_grids(inputs["words"])["train"], strict=True):
        background = background_boxes(rng, annotated.shape(i), annotated.all_boxes(i), BACKGROUND_PER_IMAGE)
        objects, labels = annotated.easy_objects(i)
        boxes = np.concatenate([objects, background])
        labels = np.concatenate([labels, np.full(len(background), BACKGROUND)])
        parts.append(sample_boxes(i, grid, n_words, boxes, labels))
    samples = BoxSamples(*map(np.concatenate, zip(*parts, strict=True)))
    areas = {C: cross_validate(samples, C) for C in C_GRID}
    best = max(C_GRID, key=areas.get)
    classes = sorted(set(samples.labels.tolist()) - {BACKGROUND})
    print(f"{len(samples.labels)} boxes; area under the ROC curve of held-out boxes for each C: {areas}")
    write_json(
        outputs["model"],
        {
            "classes": [CLASSES[c] for c in classes],
            "C": best,
            "held_out_auc": [{"C": C, "auc": area} for C, area in areas.items()],
            "boxes": len(samples.labels),
            "weights": train_one_against_rest(samples, classes, best).tolist(),
        },
    )


if "snakemake" in globals():
    run_stage(main, snakemake)
