"""Describe the flowers by bags of visual words (rule prepare_flower_words)."""

import numpy as np
from PIL import Image

from ermlab._utils.parallel import map_in_threads
from reproduction.claims.results import read_json
from reproduction.datasets.flowers17 import CLASSES, Flowers17, read_flowers17
from reproduction.experiments.flowers_taxonomy.descriptors import (
    CHANNELS,
    FlowerBags,
    FlowerSettings,
    bags_of_words,
    learn_vocabularies,
    sample_descriptors,
)
from reproduction.experiments.flowers_taxonomy.protocol import always_trained, draw_splits
from reproduction.pipeline.job import Paths, run_stage

#: Side of an example in pixels.
EXAMPLE_SIDE = 72


def main(
    inputs: Paths, outputs: Paths, *, seed: int, images: int, splits: int, settings: FlowerSettings
) -> None:
    """Describe at most ``images`` images of each class, evenly chosen, and keep one example of each.

    Vocabularies are learned from images that are in the training part of every split: they serve all splits.
    """
    data = read_flowers17(read_json(inputs["receipt"])["folder"])
    per_class = len(data.labels) // len(CLASSES)
    in_class = np.linspace(0, per_class - 1, min(images, per_class)).round().astype(int)
    chosen = (np.arange(len(CLASSES))[:, None] * per_class + in_class).ravel()
    labels = data.labels[chosen]
    common = always_trained(draw_splits(labels, splits, seed))
    samples = map_in_threads(
        lambda i: sample_descriptors(data.images[chosen[i]], settings, [seed, int(chosen[i])]),
        common.tolist(),
    )
    vocabularies = learn_vocabularies(samples, settings, seed)
    bags = map_in_threads(lambda i: bags_of_words(data.images[i], vocabularies, settings), chosen.tolist())
    channels = {channel: np.array([bag[channel] for bag in bags]) for channel in CHANNELS}
    FlowerBags(images=chosen, labels=labels, **channels).write(outputs["bags"])
    np.savez_compressed(outputs["examples"], examples=example_images(data))


def example_images(data: Flowers17) -> np.ndarray:
    """Return the central square of the first image of each class, ``(classes, side, side, 3)``."""
    examples = []
    for label in range(len(CLASSES)):
        image = data.images[int(np.argmax(data.labels == label))]
        height, width = image.shape[:2]
        side = min(height, width)
        top, left = (height - side) // 2, (width - side) // 2
        square = Image.fromarray(image[top : top + side, left : left + side])
        examples.append(np.asarray(square.resize((EXAMPLE_SIDE, EXAMPLE_SIDE), Image.Resampling.BOX)))
    return np.stack(examples)


if "snakemake" in globals():
    run_stage(main, snakemake)
