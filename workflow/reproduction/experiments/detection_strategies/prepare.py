"""Describe training and test images by visual words on dense grids (rule prepare_detection_words)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ermlab._utils.array_files import ArrayFile
from ermlab.detection import halve_images, learn_words, save_word_grids, word_grid
from reproduction.claims.results import read_json
from reproduction.datasets.voc2007_sample import read_voc2007_sample
from reproduction.pipeline.job import Paths, run_stage

#: SURF windows of 20 and 40 pixels: the smallest parts have a seventh of the height of an image.
SCALES = (1.0, 2.0)
#: Number of descriptors from which the vocabulary is learned.
MAX_SAMPLES = 50_000
#: ITU-R BT.601: the luminance of red, green and blue.
LUMINANCE = (0.299, 0.587, 0.114)


@dataclass(frozen=True)
class AnnotatedImages(ArrayFile):
    """Sizes of the images, the objects in them, and the division into training and test images."""

    train: NDArray[np.int64]  #: training images
    test: NDArray[np.int64]  #: test images
    shapes: NDArray[np.int64]  #: (images, 2): height and width
    images: NDArray[np.int64]  #: (objects,): image of each object
    boxes: NDArray[np.int64]  #: (objects, 4)
    labels: NDArray[np.int64]  #: (objects,): indices into the classes of the data set
    difficult: NDArray[np.bool_]  #: (objects,): not counted by the benchmark

    def shape(self, image: int) -> tuple[int, int]:
        """Return height and width of an image."""
        height, width = self.shapes[image].tolist()
        return height, width

    def present(self, image: int) -> set[int]:
        """Return the classes in an image."""
        return set(self.labels[self.images == image].tolist())

    def easy_objects(self, image: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return boxes and labels of the objects in an image that are not difficult."""
        easy = (self.images == image) & ~self.difficult
        return self.boxes[easy], self.labels[easy]

    def all_boxes(self, image: int) -> NDArray[np.int64]:
        """Return the boxes of all objects in an image."""
        return self.boxes[self.images == image]


def main(inputs: Paths, outputs: Paths, *, seed: int, images: int, n_words: int, step: int) -> None:
    """Learn the vocabulary on training images, and assign words to all images."""
    data = read_voc2007_sample(read_json(inputs["receipt"])["folder"])
    n_images = min(images, len(data.images))
    train, test = halve_images(data.labels[:n_images])
    gray = [data.images[i] @ LUMINANCE for i in range(n_images)]
    dense = {"step": step, "scales": SCALES}
    vocabulary = learn_words(
        [gray[i] for i in train], n_words=n_words, max_samples=MAX_SAMPLES, random_state=seed, **dense
    )
    grids = {
        name: [word_grid(gray[i], vocabulary, **dense) for i in part]
        for name, part in (("train", train), ("test", test))
    }
    save_word_grids(outputs["words"], grids)
    AnnotatedImages(
        train=train,
        test=test,
        shapes=np.array([image.shape for image in gray]),
        images=np.repeat(np.arange(n_images), [len(labels) for labels in data.labels[:n_images]]),
        boxes=np.concatenate(data.boxes[:n_images]),
        labels=np.concatenate(data.labels[:n_images]),
        difficult=np.concatenate(data.difficult[:n_images]),
    ).write(outputs["annotations"])


if "snakemake" in globals():
    run_stage(main, snakemake)
