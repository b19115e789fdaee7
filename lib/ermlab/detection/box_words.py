"""Linear bag-of-words models of object classes, trained one against the rest on boxes.

The score of a box is the sum of the weights of its words (Lampert, Blaschko and Hofmann, 2008), so that a
model is a linear SVM on counts of words whose score `ermlab.detection.search` maximizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

from ermlab.detection.boxes import as_boxes, as_boxes_inside, best_overlap
from ermlab.detection.word_grids import WordGrid
from ermlab.features.words import histogram

BACKGROUND = -1
#: Largest overlap of a background box with an object.
LARGEST_OVERLAP = 0.3
#: Shortest side of a background box in pixels.
SHORTEST_SIDE = 16
FOLDS = 3
_TRIES = 20  # random boxes per background box


class BoxSamples(NamedTuple):
    """Counts of words (n_boxes, n_words) in boxes, their classes or `BACKGROUND`, and their images."""

    counts: NDArray[np.int64]
    labels: NDArray[np.int64]
    images: NDArray[np.int64]


def words_at_points(grid: WordGrid) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the points (n, 2) of the words of a grid, and the words, ordered by scale."""
    scale, row, column = np.nonzero(grid.words >= 0)
    points = np.column_stack([column, row]) * grid.step + np.array(grid.corner) + grid.step // 2
    return points, grid.words[scale, row, column].astype(np.int64)


def halve_images(labels: Sequence[ArrayLike]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the indices of training and test images, with every class in both if possible."""
    train, test = share_images(labels, 2)
    return train, test


def share_images(labels: Sequence[ArrayLike], n_parts: int) -> list[NDArray[np.int64]]:
    """Divide images into parts, with every class in all parts if possible; return the indices of each.

    From the rarest class to the most frequent, each remaining image goes to the part with the fewest images
    of the class, in case of ties to the smallest, then to the first part; images without objects follow last.

    Parameters
    ----------
    labels : sequence of array-likes of int
        Classes of the objects of each image.
    n_parts : int
        Number of parts.
    """
    present = [set(np.asarray(image).tolist()) for image in labels]
    frequency = {c: sum(c in image for image in present) for c in set().union(*present)}
    parts: list[list[int]] = [[] for _ in range(n_parts)]
    free = list(range(len(present)))
    for c in [*sorted(frequency, key=lambda c: (frequency[c], c)), None]:
        for i in [i for i in free if c is None or c in present[i]]:
            sizes = [(sum(c in present[k] for k in part), len(part)) for part in parts]
            parts[sizes.index(min(sizes))].append(i)
            free.remove(i)
    return [np.sort(part).astype(np.int64) for part in parts]


def background_boxes(
    rng: np.random.Generator, shape: tuple[int, int], objects: ArrayLike, n: int
) -> NDArray[np.int64]:
    """Draw at most n random boxes in an image of (height, width) with little overlap with objects."""
    objects = as_boxes_inside(objects, shape, "objects")
    height, width = shape
    x = np.sort(rng.integers(width, size=(n * _TRIES, 2)), axis=1)
    y = np.sort(rng.integers(height, size=(n * _TRIES, 2)), axis=1)
    boxes = np.column_stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]])
    wide = (np.diff(x) >= SHORTEST_SIDE - 1) & (np.diff(y) >= SHORTEST_SIDE - 1)
    return boxes[wide[:, 0] & (best_overlap(boxes, objects) <= LARGEST_OVERLAP)][:n]


def sample_boxes(image: int, grid: WordGrid, n_words: int, boxes: ArrayLike, labels: ArrayLike) -> BoxSamples:
    """Count the words in boxes of one image with index ``image``."""
    boxes, labels = as_boxes(boxes), np.asarray(labels, dtype=np.int64)
    if labels.shape != (len(boxes),):
        raise ValueError(f"labels of shape {labels.shape}: expected ({len(boxes)},), one for each box")
    points, words = words_at_points(grid)
    counts = np.zeros((len(boxes), n_words), np.int64)
    for k, box in enumerate(boxes):
        counts[k] = histogram(points, words, box, n_words)[0]
    return BoxSamples(counts, labels, np.full(len(boxes), image))


def train_one_against_rest(samples: BoxSamples, classes: Sequence[int], C: float) -> NDArray[np.float64]:
    """Train linear SVMs of each class against all other boxes; return the weights (n_classes, n_words).

    Classes are balanced, as an object class has few boxes and the rest many.
    """
    absent = sorted(set(classes) - set(samples.labels.tolist()))
    if absent:
        raise ValueError(f"classes {absent} have no training box: expected at least one for each class")
    scale = max(samples.counts.sum(axis=1).mean(), 1.0)  # makes the length of an average box about 1
    X = samples.counts / scale
    fits = [
        LinearSVC(C=C, class_weight="balanced", dual=False, random_state=0).fit(X, samples.labels == c)
        for c in classes
    ]
    return np.stack([fit.coef_[0] for fit in fits]) / scale


def cross_validate(samples: BoxSamples, C: float) -> float:
    """Return the mean area under the ROC curve of held-out boxes over folds of images and classes.

    Only classes with boxes both inside and outside of a fold are included.
    """
    fold = np.searchsorted(np.unique(samples.images), samples.images) % FOLDS
    areas = []
    for k in range(FOLDS):
        held_out = fold == k
        inside, outside = (set(samples.labels[part].tolist()) for part in (held_out, ~held_out))
        classes = sorted((inside & outside) - {BACKGROUND})
        if not classes:
            continue
        trained = train_one_against_rest(BoxSamples(*(part[~held_out] for part in samples)), classes, C)
        scores = samples.counts[held_out] @ trained.T
        areas += [roc_auc_score(samples.labels[held_out] == c, scores[:, i]) for i, c in enumerate(classes)]
    if not areas:
        raise ValueError(f"no class has boxes in two of {FOLDS} folds of images: expected more images")
    return float(np.mean(areas))
