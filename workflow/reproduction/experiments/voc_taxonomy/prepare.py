"""Images of PASCAL VOC as bags of words, in the words of each of three parts (rule prepare_voc_bags)."""

import numpy as np

from ermlab.detection.box_words import share_images
from ermlab.features.surf import dense_surf
from ermlab.features.words import Vocabulary, histogram, n_cells
from reproduction.claims.results import read_json
from reproduction.datasets.voc2007_sample import CLASSES, read_voc2007_sample
from reproduction.experiments.voc_taxonomy.protocol import PARTS, BagsOfImages
from reproduction.pipeline.job import job

#: SURF windows of 20 and 40 pixels, as in section 5.1.
SCALES = (1.0, 2.0)
#: Descriptors of a part that its words are learned from.
SAMPLE = 20_000
#: The whole image and its quarters.
LEVELS = (1, 2)
#: ITU-R BT.601: how bright red, green and blue are.
LUMINANCE = (0.299, 0.587, 0.114)


def main(receipt: str, bags: str, seed: int, images: int, n_words: int, step: int) -> None:
    """Share the images out, learn words on each part alone, and count them in all images."""
    data = read_voc2007_sample(read_json(receipt)["folder"])
    used = min(images, len(data.images))
    parts = share_images(data.labels[:used], PARTS)
    grey = [data.images[i] @ LUMINANCE for i in range(used)]
    places = [dense_surf(image, step=step, scales=SCALES) for image in grey]
    counts = []
    for part in parts:
        descriptors = np.concatenate([places[i][1] for i in part])
        chosen = np.random.default_rng(seed).permutation(len(descriptors))[:SAMPLE]
        words = Vocabulary(n_words, random_state=seed).fit(descriptors[np.sort(chosen)])
        counts.append([_bag(image, *place, words) for image, place in zip(grey, places, strict=True)])
    labels = np.array([np.isin(np.arange(len(CLASSES)), present) for present in data.labels[:used]])
    known = np.all([labels[part].any(axis=0) for part in parts], axis=0)  # each role needs each class
    which = np.zeros(used, dtype=np.int64)
    for number, part in enumerate(parts):
        which[part] = number
    BagsOfImages(np.array(counts), labels[:, known], which, np.array(CLASSES)[known]).write(bags)


def _bag(image: np.ndarray, points: np.ndarray, descriptors: np.ndarray, words: Vocabulary) -> np.ndarray:
    """Return the shares of the words in each cell of the pyramid, all cells with equal weight."""
    box = np.array([0, 0, image.shape[1] - 1, image.shape[0] - 1])
    counts = histogram(points, words.assign(descriptors), box, words.n_words, LEVELS)
    return (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)).ravel() / n_cells(LEVELS)


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            snakemake.output.bags,
            snakemake.params.seed,
            snakemake.params.images,
            snakemake.params.words,
            snakemake.params.step,
        )
