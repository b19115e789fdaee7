"""Evaluate the costs of ten detections with all reset strategies (rule evaluate_detection_strategies)."""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from time import thread_time
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab._utils.parallel import map_in_threads
from ermlab.detection import (
    Detection,
    Quality,
    WordGrid,
    best_boxes,
    best_overlap,
    count_splits,
    linear,
    load_word_grids,
    words_at_points,
)
from reproduction.claims.results import read_json, write_results
from reproduction.datasets.voc2007_sample import CLASSES
from reproduction.experiments.detection_strategies.measures import (
    brute_force_gap,
    compare_strategies,
    mean_costs,
    reset_over_kept,
    seen_with_and_without,
    strategy_values,
)
from reproduction.experiments.detection_strategies.prepare import AnnotatedImages
from reproduction.experiments.detection_strategies.resampling import resampled_values
from reproduction.pipeline.job import Paths, run_stage

GAMMAS = [0.25, 0.5, 0.75]
N_DETECTIONS = 10
#: Boxes in pixels (or a coarser unit) with the published bound, which the claims are about, and with our
#: tight bound; and, with the published bound, boxes of grid points, no two of which contain the same points.
SEARCHES = ("published", "tight", "places")
#: The classes of figure 5.3. One that is in no test image is replaced by another class.
SHOWN_CLASSES = ("aeroplane", "cat", "train")

#: Strategies whose detections are compared: never and always reset, first, and every other time.
COMPARED_STRATEGIES = ("000000000", "111111111", "111000000", "010101010")
#: Number of pairs of a class and an image whose detections are compared with the tight bound, and of those
#: that are timed with the published one, which needs a hundred times as many splits.
N_COMPARED, N_TIMED = 10, 5

#: Detections for each gamma, by (class, image).
Found = dict[tuple[int, int], list[list[Detection]]]


class Measured(NamedTuple):
    """Splits ``(searches, gammas, classes, images, n, n)``, and the detections."""

    splits: NDArray[np.float64]
    found: Found


def main(
    inputs: Paths, outputs: Paths, *, seed: int, n_words: int, test_images: int, unit: int, threads: int
) -> None:
    """Measure the costs in test images, and compare the strategies of each class."""
    annotated, model = AnnotatedImages.read(inputs["annotations"]), read_json(inputs["model"])
    names, weights = model["classes"], np.array(model["weights"])
    images = annotated.test[:test_images].tolist()
    grids = load_word_grids(inputs["words"])["test"][:test_images]
    shapes = [annotated.shape(i) for i in images]
    splits, found = measure(shapes, grids, weights, unit, threads)
    present = np.array([[CLASSES.index(name) in annotated.present(i) for i in images] for name in names])
    published, tight, places = (strategy_values(of_search) for of_search in splits)
    areas = box_areas(found, shapes)
    strategies = _by_search(splits, lambda of_search: strategies_by_class(of_search, names, areas))
    summed = splits.sum(axis=3, keepdims=True)
    every_table = np.concatenate([splits, summed], axis=3).reshape(-1, N_DETECTIONS, N_DETECTIONS)
    write_results(
        Path(outputs["values"]).parent,
        published
        | resampled_values(splits[0], present, seed)
        | {
            "tight": tight,
            "places": places,
            "shortest_path_minus_brute_force_max": brute_force_gap(every_table),
            "reset_over_kept_max": reset_over_kept(every_table),
            "tight_over_published_max": tight_over_published(splits[1], splits[0]),
            "same_detections_share": same_detections_share(
                searches_of_classes(shapes, grids, weights[:N_COMPARED], unit, "tight")
            ),
            "found_share": found_share(annotated, images, names, found),
            "gammas": GAMMAS,
            "classes": len(names),
            "left_out": [name for name in CLASSES if name not in names],
            "classes_with_and_without": len(seen_with_and_without(present)),
            "pairs_present": int(present.sum()),
            "pairs_absent": int((~present).sum()),
            "train_images": len(annotated.train),
            "train_boxes": model["boxes"],
            "test_images": len(images),
            "points_per_image": float(np.mean([grid.words.size for grid in grids])),
            "words": n_words,
            "C": model["C"],
            "held_out_auc": model["held_out_auc"],
        },
        datasets={"voc2007_sample": read_json(inputs["receipt"])["kind"]},
        timings={
            "detection_seconds": median_seconds(
                searches_of_classes(shapes, grids, weights[:N_TIMED], unit, "classical")
            )
        },
    )
    examples = shown_detections(found, names, images, present)
    shown_class, shown_image = names.index(examples["class"][0]), images.index(examples["image"][0])
    tables = {
        "costs": _by_search(splits, lambda of_search: mean_costs(of_search, GAMMAS, names, present)),
        "strategies": strategies,
        "examples": examples,
        "points": weighted_points(grids[shown_image], weights[shown_class]),
    }
    for name, table in tables.items():
        table.to_csv(outputs[name], index=False, lineterminator="\n")


def measure(
    shapes: Sequence[tuple[int, int]],
    grids: Sequence[WordGrid],
    weights: NDArray[np.float64],
    unit: int,
    threads: int,
) -> Measured:
    """Find the boxes of each class in each image, and count the splits of all queues of each search."""

    def measure_pair(pair: tuple[int, int]) -> tuple[NDArray[np.float64], list[list[Detection]]]:
        c, i = pair
        points, words = words_at_points(grids[i])
        weighted = weights[c][words]
        in_pixels, found = _count(points, weighted, shapes[i], unit, ("classical", "tight"))
        in_places, _ = _count(points, weighted, shapes[i], grids[i].step, ("classical",))
        return np.stack(in_pixels + in_places), found

    pairs = list(np.ndindex(len(weights), len(grids)))
    splits, found = zip(*map_in_threads(measure_pair, pairs, threads), strict=True)
    table = np.stack(splits).reshape(len(weights), len(grids), *splits[0].shape)
    return Measured(np.moveaxis(table, (0, 1), (2, 3)), dict(zip(pairs, found, strict=True)))


def _count(
    points: NDArray, weights: NDArray, shape: tuple[int, int], unit: int, bounds: tuple[str, ...]
) -> tuple[list[NDArray[np.float64]], list[list[Detection]]]:
    """Return the splits of all queues for each bound, and for each gamma the detections in pixels."""
    height, width = shape
    points, shape = points // unit, (-(-height // unit), -(-width // unit))
    fastest = linear(points, weights, shape, "tight")
    found = [best_boxes(fastest, N_DETECTIONS, gamma) for gamma in GAMMAS]
    splits = [count_splits(linear(points, weights, shape, bound), found, GAMMAS) for bound in bounds]
    last_pixel = width - 1, height - 1, width - 1, height - 1
    in_pixels = [
        [
            detection._replace(box=np.minimum(detection.box * unit + [0, 0, unit - 1, unit - 1], last_pixel))
            for detection in detections
        ]
        for detections in found
    ]
    return splits, in_pixels


def searches_of_classes(
    shapes: Sequence[tuple[int, int]],
    grids: Sequence[WordGrid],
    weights: NDArray[np.float64],
    unit: int,
    bound: str,
) -> list[Quality]:
    """Return a search for each class, each in another image."""
    searches = []
    for c in range(len(weights)):
        i = c % len(grids)
        points, words = words_at_points(grids[i])
        shape = tuple(-(-side // unit) for side in shapes[i])
        searches.append(linear(points // unit, weights[c][words], shape, bound))
    return searches


def same_detections_share(searches: Sequence[Quality]) -> float:
    """Return the share of searches, gammas and strategies with the detections of a queue that is kept."""
    same = []
    for quality, gamma in itertools.product(searches, GAMMAS):
        boxes = [
            [detection.box.tolist() for detection in best_boxes(quality, N_DETECTIONS, gamma, reset)]
            for reset in COMPARED_STRATEGIES
        ]
        same += [other == boxes[0] for other in boxes[1:]]
    return float(np.mean(same))


def median_seconds(searches: Sequence[Quality]) -> float:
    """Return the median time of a detection with a kept queue and gamma = .5, in seconds of the processor."""
    seconds = []
    for quality in searches:
        start = thread_time()
        best_boxes(quality, N_DETECTIONS, 0.5)
        seconds.append((thread_time() - start) / N_DETECTIONS)
    return float(np.median(seconds))


def tight_over_published(tight: NDArray[np.float64], published: NDArray[np.float64]) -> float:
    """Return the largest ratio of the splits from the set of all boxes with two bounds, the tighter first."""
    return float(np.max(np.diagonal(tight, axis1=-2, axis2=-1) / np.diagonal(published, axis1=-2, axis2=-1)))


def found_share(annotated: AnnotatedImages, images: list[int], names: list[str], found: Found) -> float:
    """Return the share of objects that one of the detections at gamma = .5 overlaps by at least a half."""
    overlaps = []
    for (c, k), detections in found.items():
        boxes, labels = annotated.easy_objects(images[k])
        truth = boxes[labels == CLASSES.index(names[c])]
        overlaps.append(best_overlap(truth, [detection.box for detection in detections[GAMMAS.index(0.5)]]))
    return float(np.mean(np.concatenate(overlaps) >= 0.5))


def strategies_by_class(
    splits: NDArray[np.float64], names: Sequence[str], areas: NDArray[np.float64]
) -> pd.DataFrame:
    """Compare the strategies of each gamma and class, for the costs in all images together."""
    tables = [
        compare_strategies(of_gamma.sum(axis=1)).assign(gamma=gamma, box_area=area, **{"class": names})
        for gamma, of_gamma, area in zip(GAMMAS, splits, areas, strict=True)
    ]
    return pd.concat(tables)


def box_areas(found: Found, shapes: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Return the median share of an image that a detection covers, ``(gammas, classes)``."""
    n_classes = 1 + max(c for c, _ in found)
    shares = np.empty((len(GAMMAS), n_classes, len(shapes), N_DETECTIONS))
    for (c, i), by_gamma in found.items():
        for g, detections in enumerate(by_gamma):
            boxes = np.array([detection.box for detection in detections])
            shares[g, c, i] = (boxes[:, 2:] - boxes[:, :2] + 1).prod(axis=1) / np.prod(shapes[i])
    return np.median(shares, axis=(2, 3))


def shown_detections(
    found: Found, names: list[str], images: list[int], present: NDArray[np.bool_]
) -> pd.DataFrame:
    """Return the detections of each shown class in the first test image that contains it."""
    seen = [name for name, in_images in zip(names, present, strict=True) if in_images.any()]
    shown = sorted(seen, key=lambda name: name not in SHOWN_CLASSES)[: len(SHOWN_CLASSES)]
    rows = []
    for name in shown:
        c = names.index(name)
        k = int(np.argmax(present[c]))
        for gamma, detections in zip(GAMMAS, found[c, k], strict=True):
            place = {"class": name, "image": images[k], "gamma": gamma}
            for rank, (box, score, _) in enumerate(detections, start=1):
                sides = dict(zip(("left", "top", "right", "bottom"), box.tolist(), strict=True))
                rows.append(place | {"rank": rank} | sides | {"score": score})
    return pd.DataFrame(rows)


def weighted_points(grid: WordGrid, weights: NDArray[np.float64]) -> pd.DataFrame:
    """Return the points of an image with the weights of their words."""
    points, words = words_at_points(grid)
    return pd.DataFrame({"x": points[:, 0], "y": points[:, 1], "weight": weights[words]})


def _by_search(splits: NDArray[np.float64], tabulate: Callable[[NDArray], pd.DataFrame]) -> pd.DataFrame:
    parts = {search: tabulate(of_search) for search, of_search in zip(SEARCHES, splits, strict=True)}
    return pd.concat(parts, names=["search", None]).reset_index("search")


if "snakemake" in globals():
    run_stage(main, snakemake)
