"""Compute recall against overlap of the windows ranked first (rule evaluate_window_cascade)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ermlab.detection.boxes import best_overlap, overlap
from ermlab.metrics.detection import recall_area, recall_overlap
from reproduction.claims.results import read_json, repeated, write_results
from reproduction.experiments.window_cascade.objectness import CUES
from reproduction.experiments.window_cascade.train import (
    COUNTS,
    GRAPHS,
    RESCALINGS,
    VARIANTS,
    areas,
    covered,
    first_windows,
    score_windows,
)
from reproduction.experiments.window_cascade.window_pool import INITIAL_COUNTS, WindowPool
from reproduction.pipeline.job import Paths, run_stage

#: References for the variants: the windows in random order, and all windows at once.
CHANCE, ALL = "chance", "all"
#: Display names of variants and references, in the order in which they are shown.
NAMES = {
    "complete_slack": "complete, slack",
    "complete_margin": "complete, margin",
    "bipartite_slack": "bipartite, slack",
    "bipartite_margin": "bipartite, margin",
    "star_slack": "star, slack",
    "star_margin": "star, margin",
    "sosvm": "structured SVM",
    CHANCE: "random order",
    ALL: "all initial windows",
}
OVERLAPS = np.linspace(0.5, 1, 51)
#: Overlap levels at which variants are compared, and from which on an overlap is high.
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9)
HIGH = 0.75
SIDES = ("left", "top", "right", "bottom")
#: The variant whose detections are shown.
SHOWN_VARIANT = "complete_slack"

#: Largest overlap of each object with the first windows of each variant or reference, (objects, counts).
Overlaps = dict[str, NDArray[np.float64]]


def main(inputs: Paths, outputs: Paths, *, seed: int) -> None:
    """Evaluate the weights of every split on its test images."""
    pools = [WindowPool.read(path) for path in inputs["tests"]]
    models = [read_json(path) for path in inputs["models"]]
    overlaps = [
        _overlaps(pool, model["variants"], np.random.default_rng([seed, split]))
        for split, (pool, model) in enumerate(zip(pools, models, strict=True))
    ]
    reached = [(pool.reachable[~pool.difficult] >= 0.5).mean(axis=0) for pool in pools]
    # The splits share images.
    over_splits = partial(repeated, unit="split", test_over_train=len(pools[0]) / models[0]["images"])
    area_of, high_area_of, recall_of = (
        partial(_over_splits, overlaps, measure, over_splits)
        for measure in (areas, high_areas, recall_at_levels)
    )
    write_results(
        Path(outputs["values"]).parent,
        {
            "auc": {variant: area_of(variant) for variant in VARIANTS},
            "auc_chance": area_of(CHANCE),
            "auc_all": area_of(ALL)[0],
            "auc_high": {variant: high_area_of(variant) for variant in VARIANTS},
            "recall_at_10": {variant: recall_of(variant) for variant in VARIANTS},
            "complete_over_best": graph_over_best(overlaps, "complete", over_splits),
            "bipartite_over_best": graph_over_best(overlaps, "bipartite", over_splits),
            "initial_recall": over_splits(shares[-1] for shares in reached),
            "initial_recall_by_count": [over_splits(shares) for shares in np.transpose(reached)],
            "initial_counts": INITIAL_COUNTS,
            "splits": len(pools),
            "train_images": models[0]["images"],
            "test_images": len(pools[0]),
            "windows_per_image": int(np.diff(pools[0].starts).max()),
            "train_samples": models[0]["samples"],
            "share_of_misses": over_splits(model["share_of_misses"] for model in models),
            "test_objects": over_splits((~pool.difficult).sum() for pool in pools),
        },
        datasets={"voc2007_sample": read_json(inputs["receipt"])["kind"]},
    )
    with np.load(inputs["pictures"]) as pictures:
        shown = pools[0].take(range(len(pictures.files)))
    weights = models[0]["variants"][SHOWN_VARIANT]["weights"]
    tables = {
        "curves": recall_curves(overlaps),
        "weights": weight_table(models),
        "examples": example_detections(shown, score_windows(shown, weights)),
    }
    for name, table in tables.items():
        table.to_csv(outputs[name], index=False, lineterminator="\n")
    Path(outputs["pictures"]).write_bytes(Path(inputs["pictures"]).read_bytes())


def _overlaps(pool: WindowPool, variants: Mapping[str, Any], rng: np.random.Generator) -> Overlaps:
    scores = {name: score_windows(pool, variants[name]["weights"]) for name in VARIANTS}
    scores[CHANCE] = rng.random(len(pool.windows))
    overlaps = {name: covered(pool, order) for name, order in scores.items()}
    return overlaps | {ALL: np.repeat(covered_by_any(pool)[:, None], len(COUNTS), axis=1)}


def covered_by_any(pool: WindowPool) -> NDArray[np.float64]:
    """Return the largest overlap of each counted object with any window of its image."""
    return np.concatenate(
        [best_overlap(pool.counted(i), pool.windows[pool.rows(i)]) for i in range(len(pool))]
    )


def _over_splits(
    overlaps: Sequence[Overlaps],
    measure: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    mark: Callable[[Iterable[float]], dict[str, Any]],
    name: str,
) -> list[dict[str, Any]]:
    """Return each number that ``measure`` has for a variant or reference, marked as repeated over splits."""
    return [mark(column) for column in np.transpose([measure(split[name]) for split in overlaps])]


def graph_over_best(
    overlaps: Sequence[Overlaps], graph: str, mark: Callable[[Iterable[float]], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the area of a graph over that of the best one, of each the better rescaling, for each count."""
    ratios = []
    for split in overlaps:
        best = {
            name: np.max([areas(split[f"{name}_{rescaling}"]) for rescaling in RESCALINGS], axis=0)
            for name in GRAPHS
        }
        largest = np.max(list(best.values()), axis=0)
        # Without any object found all graphs are the best.
        ratios.append(np.divide(best[graph], largest, out=np.ones_like(largest), where=largest > 0))
    return [mark(column) for column in np.transpose(ratios)]


def high_areas(overlaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the area under the recall-overlap curve of each column above an overlap of `HIGH`, at most 1."""
    return np.array([recall_area(column, low=HIGH) for column in overlaps.T])


def recall_at_levels(overlaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the recall at each of `LEVELS` with the fewest windows, the first column."""
    return recall_overlap(overlaps[:, 0], np.array(LEVELS))


def recall_curves(overlaps: Sequence[Overlaps]) -> pd.DataFrame:
    """Return mean and standard deviation over the splits of the recall at each overlap."""
    tables = []
    for name in overlaps[0]:
        for k, count in enumerate(COUNTS):
            recalls = [recall_overlap(split[name][:, k], OVERLAPS) for split in overlaps]
            tables.append(
                pd.DataFrame(
                    {
                        "variant": name,
                        "windows": count,
                        "overlap": OVERLAPS,
                        "recall": np.mean(recalls, axis=0),
                        "recall_sd": np.std(recalls, axis=0, ddof=1),
                    }
                )
            )
    return pd.concat(tables)


def weight_table(models: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the chosen C and the weights, in deviations of the cues, of each split and variant."""
    return pd.DataFrame(
        {"split": split, "variant": name, "C": model["variants"][name]["C"]}
        | dict(zip(CUES, model["variants"][name]["weights_in_deviations"], strict=True))
        for split, model in enumerate(models)
        for name in VARIANTS
    )


def example_detections(pool: WindowPool, scores: ArrayLike) -> pd.DataFrame:
    """Return the best of the first windows for each counted object, one row per object and count.

    Columns are ``image`` (its index in the data set), ``windows`` (how many are passed on), ``overlap``, the
    sides of the box of the ``object``, and those of the ``window`` that overlaps it most.
    """
    rows = []
    for i, windows in enumerate(first_windows(pool, scores)):
        for box in pool.counted(i):
            for count in COUNTS:
                overlaps = overlap([box], windows[:count])[0]
                best = int(overlaps.argmax())
                row = {"image": pool.images[i], "windows": count, "overlap": overlaps[best]}
                row |= {f"object_{side}": value for side, value in zip(SIDES, box, strict=True)}
                row |= {f"window_{side}": value for side, value in zip(SIDES, windows[best], strict=True)}
                rows.append(row)
    return pd.DataFrame(rows)


def area_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return mean and standard deviation over the splits of the areas in the results of the experiment.

    Columns are ``variant``, ``windows``, ``mean`` and ``sd``; variants and references are in the order of
    `NAMES`.
    """
    areas_of = {**values["auc"], CHANCE: values["auc_chance"], ALL: [values["auc_all"]] * len(COUNTS)}
    return pd.DataFrame(
        {
            "variant": variant,
            "windows": count,
            "mean": np.mean(item["repeats"]),
            "sd": np.std(item["repeats"], ddof=1),
        }
        for variant in NAMES
        if variant in areas_of
        for count, item in zip(COUNTS, areas_of[variant], strict=True)
    )


def difference_table(values: Mapping[str, Any], reference: str) -> pd.DataFrame:
    """Return the difference of the area of each variant and that of ``reference``, split by split.

    There is one row per other variant, by its display name, and one column per number of windows; cells are
    mean and standard deviation over the splits, as text. Differences vary less than areas, since all variants
    have the same test images.
    """
    per_split = {
        variant: np.array([item["repeats"] for item in items]) for variant, items in values["auc"].items()
    }
    rows = {
        name: [
            f"{difference.mean():+.3f} ± {difference.std(ddof=1):.3f}"
            for difference in per_split[variant] - per_split[reference]
        ]
        for variant, name in NAMES.items()
        if variant in per_split and variant != reference
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=[f"{count} windows" for count in COUNTS])


if "snakemake" in globals():
    run_stage(main, snakemake)
