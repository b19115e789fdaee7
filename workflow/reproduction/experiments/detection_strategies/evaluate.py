"""Costs of ten detections with every strategy of resets (rule evaluate_detection_strategies)."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from ermlab._utils.parallel import map_in_threads
from ermlab.detection import Detection, best_boxes, linear
from ermlab.detection.box_words import words_at_points
from ermlab.detection.boxes import best_overlap
from ermlab.detection.strategy import count_splits
from ermlab.detection.word_grids import WordGrid, load_word_grids
from reproduction.claims.results import read_json, write_results
from reproduction.datasets.voc2007_sample import CLASSES, VocSample, read_voc2007_sample
from reproduction.experiments.detection_strategies.measures import (
    brute_force_gap,
    compare_strategies,
    mean_costs,
    reset_over_kept,
    seen_with_and_without,
    strategy_values,
)
from reproduction.pipeline.job import job

GAMMAS = [0.25, 0.5, 0.75]
N_DETECTIONS = 10
#: Boxes in pixels (or a coarser unit) with the published bound, which the claims are about, and the tight
#: one; and, with the published bound, boxes of places of the grid of points, no two with the same points.
SEARCHES = ("published", "tight", "places")
#: The classes of figure 5.3; where no test image holds one, another one steps in.
SHOWN_CLASSES = ("aeroplane", "cat", "train")


class Measured(NamedTuple):
    """Splits ``(searches, gammas, classes, images, n, n)``, and detections of (class, image) by gamma."""

    splits: np.ndarray
    found: dict[tuple[int, int], list[list[Detection]]]


def main(
    receipt: str, words: str, split: str, model: str, folder: Path, test_images: int, unit: int, threads: int
) -> None:
    """Measure the costs in test images, and compare the strategies of each class."""
    source, halves, trained = read_json(receipt), read_json(split), read_json(model)
    data, names, weights = (
        read_voc2007_sample(source["folder"]),
        trained["classes"],
        np.array(trained["weights"]),
    )
    images, grids = halves["test"][:test_images], load_word_grids(words)["test"][:test_images]
    measured = measure([data.images[i].shape[:2] for i in images], grids, weights, unit, threads)
    labels = [CLASSES.index(name) for name in names]
    present = np.array([[c in data.labels[i] for i in images] for c in labels])
    published, tight, places = (strategy_values(splits, present) for splits in measured.splits)
    areas = _box_areas(measured.found, [data.images[i].shape[:2] for i in images])
    strategies = _by_search(measured.splits, lambda splits: _strategies(splits, names, areas))
    every_table = np.concatenate(
        [measured.splits, measured.splits.sum(axis=3, keepdims=True)], axis=3
    ).reshape(-1, N_DETECTIONS, N_DETECTIONS)
    write_results(
        folder,
        published
        | {
            "tight": tight,
            "places": places,
            "shortest_path_minus_brute_force_max": brute_force_gap(every_table),
            "reset_over_kept_max": reset_over_kept(every_table),
            "area_all_reset_correlation": _area_correlations(strategies),
            "found_share": found_share(data, images, labels, measured.found),
            "gammas": GAMMAS,
            "classes": len(names),
            "left_out": [name for name in CLASSES if name not in names],
            "classes_with_and_without": len(seen_with_and_without(present)),
            "pairs_present": int(present.sum()),
            "pairs_absent": int((~present).sum()),
            "train_images": len(halves["train"]),
            "train_boxes": trained["boxes"],
            "test_images": len(images),
            "points_per_image": float(np.mean([grid.words.size for grid in grids])),
            "words": halves["words"],
            "C": trained["C"],
            "held_out_auc": trained["held_out_auc"],
        },
        datasets={"voc2007_sample": source["kind"]},
    )
    examples = _examples(measured.found, names, images, present)
    first = names.index(examples["class"][0]), images.index(examples["image"][0])
    tables = {
        "costs": _by_search(measured.splits, lambda splits: mean_costs(splits, GAMMAS, names, present)),
        "strategies": strategies,
        "examples": examples,
        "points": _weighted_points(grids[first[1]], weights[first[0]]),
    }
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")


def measure(
    shapes: list[tuple[int, int]], grids: list[WordGrid], weights: np.ndarray, unit: int, threads: int
) -> Measured:
    """Find the boxes of each class in each image, and count the splits of all queues of each search."""

    def measure_pair(pair: tuple[int, int]) -> tuple[np.ndarray, list[list[Detection]]]:
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
    points: np.ndarray, weights: np.ndarray, shape: tuple[int, int], unit: int, bounds: tuple[str, ...]
) -> tuple[list[np.ndarray], list[list[Detection]]]:
    """Return the splits of all queues for each bound, and for each gamma the detections in pixels."""
    height, width = shape
    points, shape = points // unit, (-(-height // unit), -(-width // unit))
    fastest = linear(points, weights, shape, "tight")
    found = [best_boxes(fastest, N_DETECTIONS, gamma) for gamma in GAMMAS]
    splits = [count_splits(linear(points, weights, shape, bound), found, GAMMAS) for bound in bounds]
    within = width - 1, height - 1, width - 1, height - 1
    in_pixels = [
        [d._replace(box=np.minimum(d.box * unit + [0, 0, unit - 1, unit - 1], within)) for d in detections]
        for detections in found
    ]
    return splits, in_pixels


def found_share(data: VocSample, images: list[int], labels: list[int], found: dict) -> float:
    """Return the share of objects that one of ten detections at gamma = .5 overlaps by half."""
    overlaps = []
    for (c, k), detections in found.items():
        i = images[k]
        truth = data.boxes[i][(data.labels[i] == labels[c]) & ~data.difficult[i]]
        overlaps.append(best_overlap(truth, [detection.box for detection in detections[GAMMAS.index(0.5)]]))
    return float(np.mean(np.concatenate(overlaps) >= 0.5))


def _by_search(splits: np.ndarray, tabulate: Callable[[np.ndarray], pd.DataFrame]) -> pd.DataFrame:
    parts = {search: tabulate(part) for search, part in zip(SEARCHES, splits, strict=True)}
    return pd.concat(parts, names=["search", None]).reset_index("search")


def _strategies(splits: np.ndarray, names: list[str], areas: np.ndarray) -> pd.DataFrame:
    tables = [
        compare_strategies(part.sum(axis=1)).assign(gamma=gamma, box_area=area, **{"class": names})
        for gamma, part, area in zip(GAMMAS, splits, areas, strict=True)
    ]
    return pd.concat(tables)


def _box_areas(found: dict, shapes: list[tuple[int, int]]) -> np.ndarray:
    """Return the median share of an image that a detection covers, ``(gammas, classes)``."""
    n_classes = 1 + max(c for c, _ in found)
    shares = np.empty((len(GAMMAS), n_classes, len(shapes), N_DETECTIONS))
    for (c, i), detections in found.items():
        for g, boxes in enumerate([d.box for d in part] for part in detections):
            sides = np.array(boxes)[:, 2:] - np.array(boxes)[:, :2] + 1
            shares[g, c, i] = sides.prod(axis=1) / np.prod(shapes[i])
    return np.median(shares, axis=(2, 3))


def _area_correlations(strategies: pd.DataFrame) -> list[float]:
    """Return the rank correlation, over classes, of the area of boxes and the cost of always resetting."""
    published = strategies[strategies["search"] == "published"]
    return [
        float(spearmanr(part["box_area"], part["all_reset"]).statistic)
        for _, part in published.groupby("gamma")
    ]


def _examples(found: dict, names: list[str], images: list[int], present: np.ndarray) -> pd.DataFrame:
    """Return the detections in the first test image of each shown class, whatever they look like."""
    seen = [name for name, group in zip(names, present, strict=True) if group.any()]
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


def _weighted_points(grid: WordGrid, weights: np.ndarray) -> pd.DataFrame:
    points, words = words_at_points(grid)
    return pd.DataFrame({"x": points[:, 0], "y": points[:, 1], "weight": weights[words]})


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            snakemake.input.words,
            snakemake.input.split,
            snakemake.input.model,
            Path(snakemake.output.values).parent,
            snakemake.params.test_images,
            snakemake.params.unit,
            snakemake.threads,
        )
