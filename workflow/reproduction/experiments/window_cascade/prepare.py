"""Draw initial windows of the images and compute their cues, for every split (rule prepare_windows)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.parallel import map_in_threads
from ermlab.detection.boxes import as_boxes, best_overlap
from reproduction.claims.results import read_json
from reproduction.datasets.voc2007_sample import read_voc2007_sample
from reproduction.experiments.window_cascade.objectness import CUES, ImageCues, WindowPrior, initial_windows
from reproduction.experiments.window_cascade.window_pool import INITIAL_COUNTS, WindowPool
from reproduction.pipeline.job import Paths, run_stage

#: The pictures shown are the first test images of the first split, whatever they look like.
SHOWN_IMAGES = 8


def main(inputs: Paths, outputs: Paths, *, seed: int, images: int, windows: int, threads: int) -> None:
    """Describe ``windows`` windows of each image, and write those of the two halves of each split."""
    data = read_voc2007_sample(read_json(inputs["receipt"])["folder"])
    numbers = range(min(images, len(data.images)))
    shapes = [data.images[i].shape[:2] for i in numbers]
    splits = split_images([data.boxes[i] for i in numbers], shapes, len(outputs["train"]), seed)

    def describe(i: int) -> list[WindowPool]:
        return describe_windows(i, data.images[i], data.boxes[i], data.difficult[i], splits, windows)

    described = map_in_threads(describe, numbers, threads)
    for k, split in enumerate(splits):
        for path, chosen in ((outputs["train"][k], split.train), (outputs["test"][k], split.test)):
            WindowPool.join([described[i][k] for i in chosen]).write(path)
    shown = {str(i): half_resolution(data.images[i]) for i in splits[0].test[:SHOWN_IMAGES]}
    np.savez_compressed(outputs["pictures"], **shown)


@dataclass(frozen=True)
class Split:
    """Training and test images, and the window prior of the training images."""

    train: NDArray[np.int64]  #: indices of images, sorted
    test: NDArray[np.int64]
    prior: WindowPrior
    seed: tuple[int, int]  #: seed of all splits, and number of this one

    def rng(self, image: int) -> np.random.Generator:
        """Return the random generator of an image, which does not depend on other images."""
        return np.random.default_rng([*self.seed, 1 + image])


def split_images(
    boxes: Sequence[ArrayLike], shapes: Sequence[tuple[int, int]], n_splits: int, seed: int
) -> list[Split]:
    """Split the images into random halves ``n_splits`` times, and fit the window prior of each first half."""
    if len(boxes) < 2:
        raise ValueError(f"boxes are of {len(boxes)} images: expected at least 2")
    splits = []
    for number in range(n_splits):
        order = np.random.default_rng([seed, number]).permutation(len(boxes))
        train, test = np.sort(order[: len(boxes) // 2]), np.sort(order[len(boxes) // 2 :])
        prior = WindowPrior.fit([boxes[i] for i in train], [shapes[i] for i in train])
        splits.append(Split(train, test, prior, (seed, number)))
    return splits


def describe_windows(
    number: int,
    image: ArrayLike,
    truth: ArrayLike,
    difficult: ArrayLike,
    splits: Sequence[Split],
    n: int,
) -> list[WindowPool]:
    """Draw initial windows of one image for each split, and compute their cues.

    Superpixels and integral images are computed once for all splits. In test images as many windows as
    published are drawn, whatever ``n`` is, to measure which objects they reach.

    Parameters
    ----------
    number : int
        Index of the image in its data set.
    image : array-like of shape (height, width, 3)
        The image.
    truth : array-like of shape (n_objects, 4)
        Boxes of its objects.
    difficult : array-like of shape (n_objects,)
        Whether each object is marked as difficult.
    splits : sequence of Split
        The splits.
    n : int
        Number of windows to describe.
    """
    cues = ImageCues(image, n_jobs=1)
    truth = as_boxes(truth, "truth")
    truth_cues = cues(truth).astype(np.float32).reshape(-1, len(CUES))
    pools = []
    for split in splits:
        n_drawn = max(n, *INITIAL_COUNTS) if number in split.test else n
        drawn = initial_windows(image, split.prior, n_drawn, split.rng(number), cues.labels)
        windows = drawn[:n]
        pools.append(
            WindowPool(
                images=np.array([number]),
                starts=np.array([0, len(windows)]),
                windows=windows.astype(np.int32),
                cues=cues(windows).astype(np.float32),
                truth_starts=np.array([0, len(truth)]),
                truth=truth.astype(np.int32),
                truth_cues=truth_cues,
                difficult=np.asarray(difficult, dtype=bool),
                reachable=np.stack([best_overlap(truth, drawn[:count]) for count in INITIAL_COUNTS], axis=1),
            )
        )
    return pools


def half_resolution(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the means of 2 x 2 pixels; an odd last row or column is dropped."""
    height, width = (side // 2 for side in image.shape[:2])
    blocks = image[: 2 * height, : 2 * width].reshape(height, 2, width, 2, 3)
    return blocks.mean(axis=(1, 3)).astype(np.uint8)


if "snakemake" in globals():
    run_stage(main, snakemake)
