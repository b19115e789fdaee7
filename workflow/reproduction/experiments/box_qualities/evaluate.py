"""Compare the search with enumeration for many qualities, and train with it (rule evaluate_box_qualities)."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.detection import (
    BagOfWords,
    BoxTask,
    Quality,
    WordGrid,
    best_boxes,
    histogram,
    linear,
    load_word_grids,
    loss_augmented,
    overlap,
    pyramid,
    words_at_points,
)
from ermlab.structured import StructuredSVM
from reproduction.claims.results import read_json, write_results
from reproduction.datasets.voc2007_sample import CLASSES
from reproduction.experiments.detection_strategies.prepare import AnnotatedImages
from reproduction.pipeline.job import Paths, run_stage

TITLES = {
    "linear": "bag of words",
    "pyramid": "pyramid of 1 and 4 cells",
    "intersection": "histogram intersection",
    "chi2": "chi2 kernel",
    "chi2_distance": "negative chi2 distance",
    "margin": "margin-rescaled violation",
    "slack": "slack-rescaled violation",
}
#: Levels of the spatial pyramid.
GRIDS = (1, 2)
N_DETECTIONS = 3
#: Detections that overlap by all of their area are penalized by this share of the best score.
PENALTY = 0.5
#: Scores that differ by less than this share are equal.
ROUNDING = 1e-9


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    unit: int,
    searches: int,
    images: int,
    C: float,
    tol: float,
) -> None:
    """Search test images on a coarse grid by all qualities, and train with loss-augmented search."""
    annotated, model = AnnotatedImages.read(inputs["annotations"]), read_json(inputs["model"])
    weights, grids = np.array(model["weights"]), load_word_grids(inputs["words"])
    rows = []
    for c, i in itertools.islice(pairs_with_objects(annotated, model["classes"]), searches):
        x = coarse_image(annotated, grids["test"], annotated.test, i, unit)
        truth = first_box(annotated, i, CLASSES.index(model["classes"][c]), unit)
        for name, quality in qualities(x, weights[c], truth).items():
            rows.append({"class": model["classes"][c], "image": i, "quality": name, **compare(quality)})
    table = pd.DataFrame(rows)
    write_results(
        Path(outputs["values"]).parent,
        {
            **summarize(table),
            "training": train_detector(
                *training_samples(annotated, grids["train"], model["classes"], unit, images),
                weights.shape[1],
                C,
                tol,
            ),
            "searches": searches,
            "unit": unit,
        },
        datasets={"voc2007_sample": read_json(inputs["receipt"])["kind"]},
    )
    table.to_csv(outputs["table"], index=False, lineterminator="\n")


def pairs_with_objects(annotated: AnnotatedImages, classes: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the test images with one of the classes in them, each with its first such class."""
    for i in annotated.test.tolist():
        known = [c for c, name in enumerate(classes) if CLASSES.index(name) in annotated.present(i)]
        if known:
            yield known[0], i


def coarse_image(
    annotated: AnnotatedImages, grids: Sequence[WordGrid], members: NDArray[np.int64], image: int, unit: int
) -> BagOfWords:
    """Return an image whose boxes have sides of whole units."""
    points, words = words_at_points(grids[members.tolist().index(image)])
    height, width = annotated.shape(image)
    return BagOfWords(points // unit, words, (-(-height // unit), -(-width // unit)))


def first_box(annotated: AnnotatedImages, image: int, label: int, unit: int) -> NDArray[np.int64]:
    """Return the box of the first object of a class in an image, in units."""
    boxes = annotated.boxes[(annotated.images == image) & (annotated.labels == label)]
    return boxes[0] // unit


def qualities(x: BagOfWords, w: NDArray[np.float64], truth: NDArray[np.int64]) -> dict[str, Quality]:
    """Return the qualities of `TITLES` for an image and the weights of words.

    Kernels compare a box with the words of the true one. Cells of the pyramid have the weights of the bag of
    words, twice in the upper half of a box and half of them in the lower, so that the place matters.
    """
    weighted = w[x.words]
    plain = linear(x.points, weighted, x.shape)
    reference = BoxTask(len(w)).joint_feature(x, truth)
    by_cell = weighted[:, None] * np.array([1.0, 2.0, 2.0, 0.5, 0.5])
    return {
        "linear": plain,
        "pyramid": pyramid(x.points, by_cell, x.shape, GRIDS),
        **{
            kernel: histogram(x.points, x.words, x.shape, reference, kernel=kernel)
            for kernel in ("intersection", "chi2", "chi2_distance")
        },
        **{rescaling: loss_augmented(plain, truth, rescaling) for rescaling in ("margin", "slack")},
    }


def all_boxes(shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return all boxes of at least one pixel, ``(n, 4)``."""
    height, width = shape
    sides = [
        [(first, last) for first in range(length) for last in range(first, length)]
        for length in (width, height)
    ]
    return np.array(
        [(left, top, right, bottom) for (left, right), (top, bottom) in itertools.product(*sides)]
    )


def compare(quality: Quality) -> dict[str, Any]:
    """Search for several boxes with soft and with hard suppression, and compare with all boxes.

    Returns
    -------
    dict
        ``boxes``, ``splits`` of the first detection, and whether every detection has the best value given the
        previous ones: ``hard`` for eq. 5.14 with an overlap of a half, ``soft`` for a penalty that grows with
        the overlap (eq. 5.10).
    """
    boxes = all_boxes(quality.shape)
    scores = np.array([quality.score(box) for box in boxes])
    strength = PENALTY * float(np.abs(scores).max())

    def soft(share: float) -> float:
        return strength * share

    found = {"hard": best_boxes(quality, N_DETECTIONS, 0.5), "soft": best_boxes(quality, N_DETECTIONS, soft)}
    penalties: dict[str, Callable[[NDArray], NDArray]] = {
        "hard": lambda shares: np.where(shares >= 0.5, np.inf, 0.0),
        "soft": lambda shares: strength * shares,
    }
    outcome: dict[str, Any] = {"boxes": len(boxes), "splits": found["hard"][0].splits}
    for name, detections in found.items():
        remaining, best = scores.copy(), []
        for detection in detections:
            best.append(abs(detection.score - remaining.max()) <= ROUNDING * max(strength, 1e-300))
            remaining = remaining - penalties[name](overlap([detection.box], boxes)[0])
        outcome[name] = all(best)
    return outcome


def summarize(table: pd.DataFrame) -> dict[str, Any]:
    """Return for each quality the share of exact searches, and the share of boxes that need a split."""
    by_quality = table.groupby("quality")
    return {
        "exact_share": {
            name: {kind: float(rows[kind].mean()) for kind in ("hard", "soft")} for name, rows in by_quality
        },
        "splits_over_boxes": {
            name: float((rows["splits"] / rows["boxes"]).median()) for name, rows in by_quality
        },
    }


def quality_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return one row per quality: exact searches, and splits per box."""
    return pd.DataFrame(
        {
            "quality of a box": title,
            "exact, hard suppression": f"{100 * values['exact_share'][name]['hard']:.0f} %",
            "exact, soft suppression": f"{100 * values['exact_share'][name]['soft']:.0f} %",
            "splits of the first search over boxes": f"{100 * values['splits_over_boxes'][name]:.2g} %",
        }
        for name, title in TITLES.items()
    )


def training_samples(
    annotated: AnnotatedImages, grids: Sequence[WordGrid], classes: Sequence[str], unit: int, images: int
) -> tuple[list[BagOfWords], list[NDArray[np.int64]]]:
    """Return training images of the class that most of them show, with the box of its first object."""
    train = annotated.train.tolist()
    with_class = {
        label: [i for i in train if label in annotated.present(i)] for label in map(CLASSES.index, classes)
    }
    label = max(with_class, key=lambda label: len(with_class[label]))
    chosen = with_class[label][:images]
    return (
        [coarse_image(annotated, grids, annotated.train, i, unit) for i in chosen],
        [first_box(annotated, i, label, unit) for i in chosen],
    )


def train_detector(
    X: Sequence[BagOfWords], Y: Sequence[NDArray[np.int64]], n_words: int, C: float, tol: float
) -> dict[str, Any]:
    """Train a structured SVM, whose constraints are found by loss-augmented search."""
    result = StructuredSVM(BoxTask(n_words), C=C, tol=tol).fit(X, Y).result_
    return {
        "images": len(X),
        "gap": result.relative_gap,
        "tol": tol,
        "iterations": result.n_iter,
        "exact": result.exact,
    }


if "snakemake" in globals():
    run_stage(main, snakemake)
