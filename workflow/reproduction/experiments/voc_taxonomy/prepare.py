"""Describe images of PASCAL VOC by the visual words of each of three parts (rule prepare_voc_bags)."""

import numpy as np

from ermlab.detection import share_images
from ermlab.features.surf import dense_surf
from ermlab.features.words import Vocabulary, histogram, n_cells
from reproduction.claims.results import read_json
from reproduction.datasets.voc2007_sample import CLASSES, read_voc2007_sample
from reproduction.experiments.detection_strategies.prepare import LUMINANCE, SCALES
from reproduction.experiments.voc_taxonomy.protocol import LEVELS, N_PARTS, BagsOfImages
from reproduction.pipeline.job import Paths, run_stage

#: Number of descriptors from which the vocabulary of a part is learned.
MAX_SAMPLES = 20_000


def main(inputs: Paths, outputs: Paths, *, seed: int, images: int, n_words: int, step: int) -> None:
    """Divide the images into parts, learn a vocabulary on each part, and count its words in all images."""
    data = read_voc2007_sample(read_json(inputs["receipt"])["folder"])
    n_images = min(images, len(data.images))
    parts = share_images(data.labels[:n_images], N_PARTS)
    gray = [data.images[i] @ LUMINANCE for i in range(n_images)]
    described = [dense_surf(image, step=step, scales=SCALES) for image in gray]
    counts = []
    for part in parts:
        descriptors = np.concatenate([described[i][1] for i in part])
        chosen = np.random.default_rng(seed).permutation(len(descriptors))[:MAX_SAMPLES]
        words = Vocabulary(n_words, random_state=seed).fit(descriptors[np.sort(chosen)])
        counts.append([_bag(image, *found, words) for image, found in zip(gray, described, strict=True)])
    labels = np.array([np.isin(np.arange(len(CLASSES)), present) for present in data.labels[:n_images]])
    known = np.all([labels[part].any(axis=0) for part in parts], axis=0)  # each role needs each class
    part_of_image = np.zeros(n_images, dtype=np.int64)
    for number, part in enumerate(parts):
        part_of_image[part] = number
    bags = BagsOfImages(np.array(counts), labels[:, known], part_of_image, np.array(CLASSES)[known])
    bags.write(outputs["bags"])


def _bag(image: np.ndarray, points: np.ndarray, descriptors: np.ndarray, words: Vocabulary) -> np.ndarray:
    """Return the word frequencies of each cell of the pyramid, all cells with equal weight."""
    box = np.array([0, 0, image.shape[1] - 1, image.shape[0] - 1])
    counts = histogram(points, words.assign(descriptors), box, words.n_words, LEVELS)
    return (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)).ravel() / n_cells(LEVELS)


if "snakemake" in globals():
    run_stage(main, snakemake)
