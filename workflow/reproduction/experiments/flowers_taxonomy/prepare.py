"""Bags of visual words of the flowers (rule prepare_flower_words)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ermlab._utils.parallel import map_in_threads
from reproduction.claims.results import read_json
from reproduction.datasets.flowers17 import CLASSES, read_flowers17
from reproduction.experiments.flowers_taxonomy.descriptors import (
    CHANNELS,
    FlowerBags,
    FlowerSettings,
    bags_of_words,
    learn_vocabularies,
    sample_descriptors,
)
from reproduction.experiments.flowers_taxonomy.protocol import always_trained, draw_splits
from reproduction.pipeline.job import job


def main(
    receipt: str, bags: str, *, images: int, splits: int, seed: int, settings: Mapping[str, Any]
) -> None:
    """Describe at most so many images of each kind, evenly spread.

    The words come from images that are in the training part of every split, so they serve all splits.
    """
    data, settings = read_flowers17(read_json(receipt)["folder"]), FlowerSettings.of(settings)
    per_class = len(data.labels) // len(CLASSES)
    some = np.linspace(0, per_class - 1, min(images, per_class)).round().astype(int)
    chosen = (np.arange(len(CLASSES))[:, None] * per_class + some).ravel()
    labels = data.labels[chosen]
    common = always_trained(draw_splits(labels, splits, seed))
    samples = map_in_threads(
        lambda i: sample_descriptors(data.images[chosen[i]], settings, [seed, int(chosen[i])]),
        common.tolist(),
    )
    vocabularies = learn_vocabularies(samples, settings, seed)
    found = map_in_threads(lambda i: bags_of_words(data.images[i], vocabularies, settings), chosen.tolist())
    FlowerBags(
        images=chosen,
        labels=labels,
        **{channel: np.array([bag[channel] for bag in found]) for channel in CHANNELS},
    ).write(bags)


if "snakemake" in globals():
    with job(snakemake):
        main(snakemake.input.receipt, snakemake.output.bags, **snakemake.params.arguments)
