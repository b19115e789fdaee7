"""Label the test images with one kind of model (rule train_snakes)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.svm import LinearSVC

from ermlab.segmentation import GraphCRF, grid_edges
from ermlab.structured import StructuredSVM
from reproduction.datasets.snakes import LENGTH, SnakeImages
from reproduction.experiments.snake_fields.features import color_features, direction_features, window_features
from reproduction.experiments.snake_fields.prepare import pack, read_images
from reproduction.pipeline.job import Paths, run_stage

#: Classifiers of single cells: radius of the window, and whether trees instead of a linear SVM.
CLASSIFIERS = {"window_3": (1, False), "window_7": (3, False), "forest_7": (3, True)}
#: Fields: features of edges, and whether the numbers of training snakes are in random order.
FIELDS = {
    "directions": (direction_features, False),
    "colors": (color_features, False),
    "shuffled": (color_features, True),
}
_RADIUS = 1
_PENALTIES = (0.01, 0.1, 1.0, 10.0)


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    model: str,
    images: int,
    control_images: int,
    C: float,
    tol: float,
    max_iter: int,
    trees: int,
    seed: int,
) -> None:
    """Train on the first ``images`` training images, the control on fewer, and label all test images."""
    everything, test = (read_images(inputs["images"], part) for part in ("train", "test"))
    if model in CLASSIFIERS:
        radius, forest = CLASSIFIERS[model]
        train = first_images(everything, images)
        labels = classify_cells(train, test, radius, trees if forest else None, seed)
        certificate = {}
    else:
        features, shuffled = FIELDS[model]
        train = first_images(everything, control_images if shuffled else images)
        if shuffled:
            train = shuffle_numbers(train, np.random.default_rng(seed))
        labels, certificate = label_fields(train, test, features, C, tol, max_iter)
    np.savez_compressed(
        outputs["labels"],
        found=np.concatenate([found.ravel() for found in labels]),
        **pack("test", test),
        **certificate,
    )


def first_images(images: SnakeImages, count: int) -> SnakeImages:
    """Return the first images."""
    return SnakeImages(images.colors[:count], images.labels[:count])


def shuffle_numbers(images: SnakeImages, rng: np.random.Generator) -> SnakeImages:
    """Return images in which the cells of each snake have its numbers in random order."""
    labels = []
    for truth in images.labels:
        numbers = np.concatenate([[0], 1 + rng.permutation(LENGTH)])
        labels.append(numbers[truth])
    return SnakeImages(images.colors, tuple(labels))


def classify_cells(
    train: SnakeImages, test: SnakeImages, radius: int, trees: int | None, seed: int
) -> list[np.ndarray]:
    """Label each cell by a window around it; C of the linear SVM is selected on the training images."""
    X = np.vstack([window_features(colors, radius) for colors in train.colors])
    y = np.concatenate([labels.ravel() for labels in train.labels])
    if trees is None:
        groups = np.repeat(np.arange(len(train)), [labels.size for labels in train.labels])
        folds = GroupKFold(min(4, len(train)))
        search = GridSearchCV(LinearSVC(dual=False), {"C": list(_PENALTIES)}, cv=folds)
        classifier = search.fit(X, y, groups=groups)
    else:
        classifier = RandomForestClassifier(trees, random_state=seed).fit(X, y)
    return [
        classifier.predict(window_features(colors, radius)).reshape(colors.shape) for colors in test.colors
    ]


def label_fields(
    train: SnakeImages,
    test: SnakeImages,
    features: Callable[[np.ndarray], np.ndarray],
    C: float,
    tol: float,
    max_iter: int,
) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Label all cells of an image at once; return the labels, and scores and bounds of the test images."""

    def sample(colors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return window_features(colors, _RADIUS), grid_edges(colors.shape), features(colors)

    X, y = [sample(colors) for colors in train.colors], [labels.ravel() for labels in train.labels]
    n_features, n_edge_features = X[0][0].shape[1], X[0][2].shape[1]
    task = GraphCRF(LENGTH + 1, n_features, n_edge_features, directed=True, inference="messages")
    fitted = StructuredSVM(task, C=C, tol=tol, max_iter=max_iter, solver="blocks").fit(X, y)
    found = [task.infer(fitted.coef_, sample(colors)) for colors in test.colors]
    certificate = {
        "scores": np.array([labeling.score for labeling in found]),
        "bounds": np.array([labeling.bound for labeling in found]),
        "gap": fitted.result_.relative_gap,
        "iterations": fitted.result_.n_iter,
    }
    return [
        labeling.labels.reshape(colors.shape) for labeling, colors in zip(found, test.colors, strict=True)
    ], certificate


if "snakemake" in globals():
    run_stage(main, snakemake)
