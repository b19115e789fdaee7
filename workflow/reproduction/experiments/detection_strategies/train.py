"""A linear bag-of-words model of each class against the rest (rule train_detection_models)."""

import numpy as np

from ermlab.detection.box_words import (
    BACKGROUND,
    BoxSamples,
    background_boxes,
    cross_validate,
    sample_boxes,
    train_one_against_rest,
)
from ermlab.detection.word_grids import load_word_grids
from reproduction.claims.results import read_json, write_json
from reproduction.datasets.voc2007_sample import CLASSES, read_voc2007_sample
from reproduction.pipeline.job import job

#: From so small that the weights are a difference of mean histograms to so large that all margins are kept.
PRICES = (0.01, 0.1, 1.0, 10.0)
BACKGROUND_PER_IMAGE = 10


def main(receipt: str, words: str, split: str, model: str, seed: int) -> None:
    """Choose C, one for all classes, on held-out training boxes; train with it on all of them."""
    data, halves = read_voc2007_sample(read_json(receipt)["folder"]), read_json(split)
    rng = np.random.default_rng(seed)
    parts = []
    for i, grid in zip(halves["train"], load_word_grids(words)["train"], strict=True):
        shape, easy = data.images[i].shape[:2], ~data.difficult[i]
        background = background_boxes(rng, shape, data.boxes[i], BACKGROUND_PER_IMAGE)
        boxes = np.concatenate([data.boxes[i][easy], background])
        labels = np.concatenate([data.labels[i][easy], np.full(len(background), BACKGROUND)])
        parts.append(sample_boxes(i, grid, halves["words"], boxes, labels))
    samples = BoxSamples(*map(np.concatenate, zip(*parts, strict=True)))
    areas = {C: cross_validate(samples, C) for C in PRICES}
    best = max(PRICES, key=areas.get)
    classes = sorted(set(samples.labels.tolist()) - {BACKGROUND})
    print(f"{len(samples.labels)} boxes; area under the ROC curve of held-out boxes for each C: {areas}")
    write_json(
        model,
        {
            "classes": [CLASSES[c] for c in classes],
            "C": best,
            "held_out_auc": [{"C": C, "auc": area} for C, area in areas.items()],
            "boxes": len(samples.labels),
            "weights": train_one_against_rest(samples, classes, best).tolist(),
        },
    )


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            snakemake.input.words,
            snakemake.input.split,
            snakemake.output.model,
            snakemake.params.seed,
        )
