"""Draw initial windows of the images and compute their cues, for every fold (rule prepare_windows)."""

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

#: The pictures shown are the first test images of the first fold, whatever they look like.
SHOWN_IMAGES = 8


def main(
    inputs: Paths, outputs: Paths, *, seed: int, images: int, windows: int, folds: int, threads: int
) -> None:
    """Describe ``windows`` windows of each image, and write those of the two parts of each fold."""
    data = read_voc2007_sample(read_json(inputs["receipt"])["folder"])
    numbers = range(min(images, len(data.images)))
    shapes = [data.images[i].shape[:2] for i in numbers]
    parts = fold_images([data.boxes[i] for i in numbers], shapes, folds, seed)

    def describe(i: int) -> list[WindowPool]:
        return describe_windows(i, data.images[i], data.boxes[i], data.difficult[i], parts, windows)

    described = map_in_threads(describe, numbers, threads)
    for k, fold in enumerate(parts):
        for path, chosen in ((outputs["train"][k], fold.train), (outputs["test"][k], fold.test)):
            WindowPool.join([described[i][k] for i in chosen]).write(path)
    shown = {str(i): half_resolution(data.images[i]) for i in parts[0].test[:SHOWN_IMAGES]}
    np.savez_compressed(outputs["pictures"], **shown)


@dataclass(frozen=True)
class Fold:
    """Training and test images, and the window prior of the training images."""

    train: NDArray[np.int64]  #: indices of images, sorted
    test: NDArray[np.int64]
    prior: WindowPrior
    seed: tuple[int, int]  #: seed of all folds, and number of this one

    def rng(self, image: int) -> np.random.Generator:
        """Return the random generator of an image, which does not depend on other images."""
        return np.random.default_rng([*self.seed, 1 + image])


def fold_images(
    boxes: Sequence[ArrayLike], shapes: Sequence[tuple[int, int]], n_folds: int, seed: int
) -> list[Fold]:
    """Divide the images at random for cross-validation, and fit the window prior of each training part."""
    if not 2 <= n_folds <= len(boxes):
        raise ValueError(f"n_folds is {n_folds}: expected 2 to {len(boxes)}, the number of images")
    order = np.random.default_rng(seed).permutation(len(boxes))
    folds = []
    for number, test in enumerate(np.array_split(order, n_folds)):
        train = np.setdiff1d(order, test)
        prior = WindowPrior.fit([boxes[i] for i in train], [shapes[i] for i in train])
        folds.append(Fold(train, np.sort(test), prior, (seed, number)))
    return folds


def describe_windows(
    number: int,
    image: ArrayLike,
    truth: ArrayLike,
    difficult: ArrayLike,
    folds: Sequence[Fold],
    n: int,
) -> list[WindowPool]:
    """Draw initial windows of one image for each fold, and compute their cues.

    Superpixels and integral images are computed once for all folds. In test images as many windows as
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
    folds : sequence of Fold
        The folds.
    n : int
        Number of windows to describe.
    """
    cues = ImageCues(image, n_jobs=1)
    truth = as_boxes(truth, "truth")
    truth_cues = cues(truth).astype(np.float32).reshape(-1, len(CUES))
    pools = []
    for fold in folds:
        n_drawn = max(n, *INITIAL_COUNTS) if number in fold.test else n
        drawn = initial_windows(image, fold.prior, n_drawn, fold.rng(number), cues.labels)
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
