"""Compute recall against overlap of the windows ranked first (rule evaluate_window_cascade).

Every image is tested once, with the ranking of the fold that does not train on it. Recalls and areas are
means over all objects; their uncertainty is that over the images, whose objects belong together.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ermlab.detection.boxes import best_overlap, overlap
from ermlab.metrics.detection import recall_overlap
from reproduction.claims.results import read_json, repeated, resampled, write_results
from reproduction.experiments.window_cascade.objectness import CUES
from reproduction.experiments.window_cascade.train import (
    C_GRID,
    CHANCE,
    COUNTS,
    GRAPHS,
    RESCALINGS,
    SUPPRESSIONS,
    VARIANTS,
    covered,
    first_windows,
    rank_windows,
    score_windows,
)
from reproduction.experiments.window_cascade.window_pool import INITIAL_COUNTS, WindowPool
from reproduction.pipeline.job import Paths, run_stage

#: Reference for the variants: all windows at once.
ALL = "all"
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

#: Number of resamples of the images, and decimal places of what is written for each image.
N_RESAMPLES, DECIMALS = 500, 4

#: Largest overlap of each object with the first windows of each variant or reference, (objects, counts).
Overlaps = dict[str, NDArray[np.float64]]


def main(inputs: Paths, outputs: Paths, *, seed: int) -> None:
    """Evaluate the weights of every fold on its test images."""
    pools = [WindowPool.read(path) for path in inputs["tests"]]
    models = [read_json(path) for path in inputs["models"]]
    of_folds = [
        _overlaps(pool, model, np.random.default_rng([seed, fold]))
        for fold, (pool, model) in enumerate(zip(pools, models, strict=True))
    ]
    overlaps = {name: np.concatenate([fold[name] for fold in of_folds]) for name in NAMES}
    images = ObjectsOfImages([len(pool.counted(i)) for pool in pools for i in range(len(pool))])
    reached = np.concatenate([pool.reachable[~pool.difficult] for pool in pools]) >= 0.5

    def of_variants(measure: Callable[[NDArray], NDArray]) -> dict[str, list[dict[str, Any]]]:
        return {variant: images.means(measure(overlaps[variant])) for variant in VARIANTS}

    write_results(
        Path(outputs["values"]).parent,
        {
            "auc": of_variants(parts_of_area),
            "auc_chance": images.means(parts_of_area(overlaps[CHANCE])),
            "auc_all": images.means(parts_of_area(overlaps[ALL]))[0],
            "auc_high": of_variants(parts_of_high_area),
            "recall_at_10": of_variants(found_at_levels),
            **graphs_over_best(overlaps, images, seed),
            "initial_recall": images.means(reached)[-1],
            "initial_recall_by_count": images.means(reached),
            "initial_counts": INITIAL_COUNTS,
            "folds": len(pools),
            "train_images": models[0]["images"],
            "test_images": len(images.counts),
            "test_objects": int(images.counts.sum()),
            "windows_per_image": int(np.diff(pools[0].starts).max()),
            "train_samples": models[0]["samples"],
            "share_of_misses": np.mean([model["share_of_misses"] for model in models]),
            "at_edge": share_at_edge(models),
        },
        datasets={"voc2007_sample": read_json(inputs["receipt"])["kind"]},
    )
    with np.load(inputs["pictures"]) as pictures:
        shown = pools[0].take(range(len(pictures.files)))
    chosen = models[0]["variants"][SHOWN_VARIANT]
    tables = {
        "curves": recall_curves(overlaps),
        "weights": weight_table(models),
        "examples": example_detections(shown, score_windows(shown, chosen["weights"]), chosen["suppression"]),
    }
    for name, table in tables.items():
        table.to_csv(outputs[name], index=False, lineterminator="\n")
    Path(outputs["pictures"]).write_bytes(Path(inputs["pictures"]).read_bytes())


def _overlaps(pool: WindowPool, model: Mapping[str, Any], rng: np.random.Generator) -> Overlaps:
    variants = model["variants"]
    overlaps = {
        name: covered(pool, score_windows(pool, variants[name]["weights"]), variants[name]["suppression"])
        for name in VARIANTS
    }
    overlaps[CHANCE] = covered(pool, rng.random(len(pool.windows)), model["chance_suppression"])
    return overlaps | {ALL: np.repeat(covered_by_any(pool)[:, None], len(COUNTS), axis=1)}


def covered_by_any(pool: WindowPool) -> NDArray[np.float64]:
    """Return the largest overlap of each counted object with any window of its image."""
    return np.concatenate(
        [best_overlap(pool.counted(i), pool.windows[pool.rows(i)]) for i in range(len(pool))]
    )


class ObjectsOfImages:
    """Objects of several images, image by image, and means over them.

    Parameters
    ----------
    counts : sequence of int
        Number of objects of each image.
    """

    def __init__(self, counts: Sequence[int]):
        self.counts = np.asarray(counts)
        self._image = np.repeat(np.arange(len(self.counts)), self.counts)

    def sums(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return the sum over the objects of each image, (images, ...), of values of shape (objects, ...)."""
        values = np.asarray(values, dtype=np.float64)
        sums = np.zeros((len(self.counts), *values.shape[1:]))
        np.add.at(sums, self._image, values)
        return sums

    def means(self, values: ArrayLike) -> list[dict[str, Any]]:
        """Return the mean of each column over all objects, marked as repeated over the images.

        Images have different numbers of objects, so that the mean is a ratio of two sums. Its linearization
        gives one number for each image: their mean is the ratio, and their spread that of the ratio.
        """
        sums, total = self.sums(values), self.counts.sum()
        ratio = sums.sum(axis=0) / total
        of_images = ratio + (sums - ratio * self.counts[:, None]) * len(self.counts) / total
        return [repeated(column.round(DECIMALS), unit="image") for column in of_images.T]


def parts_of_area(overlaps: NDArray[np.float64], low: float = 0.5) -> NDArray[np.float64]:
    """Return what each object contributes to the area under the recall-overlap curve from ``low`` to 1."""
    return np.clip((overlaps - low) / (1 - low), 0, 1)


def parts_of_high_area(overlaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same for the area above an overlap of `HIGH`."""
    return parts_of_area(overlaps, HIGH)


def found_at_levels(overlaps: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether the fewest windows, the first column, cover each object at each of `LEVELS`."""
    return overlaps[:, :1] >= np.array(LEVELS)


def graphs_over_best(overlaps: Overlaps, images: ObjectsOfImages, seed: int) -> dict[str, Any]:
    """Return the area of two graphs over that of the best graph for each count, with resampled images.

    The area of a graph is that of its better rescaling.
    """
    n_images = len(images.counts)
    resamples = np.random.default_rng(seed).multinomial(
        n_images, np.full(n_images, 1 / n_images), size=N_RESAMPLES
    )
    # The first row is that of the images as they are.
    weights = np.vstack([np.ones(n_images, dtype=np.int64), resamples])
    totals = np.maximum(weights @ images.counts, 1)[:, None]
    of_graphs = {
        graph: np.max(
            [
                weights @ images.sums(parts_of_area(overlaps[f"{graph}_{rescaling}"])) / totals
                for rescaling in RESCALINGS
            ],
            axis=0,
        )
        for graph in GRAPHS
    }
    best = np.max(list(of_graphs.values()), axis=0)
    results = {}
    for graph in ("complete", "bipartite"):
        # Without any object found all graphs are the best.
        ratios = np.divide(of_graphs[graph], best, out=np.ones_like(best), where=best > 0).round(DECIMALS)
        results[f"{graph}_over_best"] = [
            resampled(column[0], column[1:], "image", n_images) for column in ratios.T
        ]
    return results


def share_at_edge(models: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the share of choices at the edge of their grid.

    ``suppression`` has one share for each number of windows; ``C`` is that of the largest value, since below
    the smallest one the order of the windows no longer changes.
    """
    edges = SUPPRESSIONS[0], SUPPRESSIONS[-1]
    chosen = [variant for model in models for variant in model["variants"].values()]
    at_edge = [[value in edges for value in variant["suppression"]] for variant in chosen]
    return {
        "suppression": np.mean(at_edge, axis=0),
        "C": np.mean([variant["C"] == C_GRID[-1] for variant in chosen]),
    }


def recall_curves(overlaps: Overlaps) -> pd.DataFrame:
    """Return the recall at each overlap."""
    return pd.concat(
        pd.DataFrame(
            {
                "variant": name,
                "windows": count,
                "overlap": OVERLAPS,
                "recall": recall_overlap(of_variant[:, k], OVERLAPS),
            }
        )
        for name, of_variant in overlaps.items()
        for k, count in enumerate(COUNTS)
    )


def weight_table(models: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return what was chosen and the weights, in deviations of the cues, for each fold and variant."""
    return pd.DataFrame(
        {"fold": fold, "variant": name, "C": model["variants"][name]["C"]}
        | {
            f"suppression_{count}": value
            for count, value in zip(COUNTS, model["variants"][name]["suppression"], strict=True)
        }
        | dict(zip(CUES, model["variants"][name]["weights_in_deviations"], strict=True))
        for fold, model in enumerate(models)
        for name in VARIANTS
    )


def mean_directions(weights: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over the folds of each variant's weights, as returned by `weight_table`, of norm 1."""
    directions = weights[list(CUES)].div((weights[list(CUES)] ** 2).sum(axis=1) ** 0.5, axis=0)
    return directions.groupby(weights["variant"], sort=False).mean()


def setting_table(weights: pd.DataFrame) -> pd.DataFrame:
    """Return the values of C and of the suppression that the folds chose, by the display name of variants."""
    columns = {"C": "C"} | {f"suppression_{count}": f"largest overlap, {count} windows" for count in COUNTS}
    chosen = weights.groupby("variant", sort=False)[list(columns)].agg(
        lambda values: ", ".join(f"{value:g}" for value in sorted(set(values)))
    )
    return chosen.rename(index=NAMES, columns=columns)


def example_detections(pool: WindowPool, scores: ArrayLike, suppression: Sequence[float]) -> pd.DataFrame:
    """Return the best of the first windows for each counted object, one row per object and count.

    Columns are ``image`` (its index in the data set), ``windows`` (how many are passed on), ``overlap``, the
    sides of the box of the ``object``, and those of the ``window`` that overlaps it most.
    """
    rows = []
    for i, ranked in enumerate(rank_windows(pool, scores)):
        for box in pool.counted(i):
            for count, max_overlap in zip(COUNTS, suppression, strict=True):
                windows = first_windows(ranked, count, max_overlap)
                overlaps = overlap([box], windows)[0]
                best = int(overlaps.argmax())
                row = {"image": pool.images[i], "windows": count, "overlap": overlaps[best]}
                row |= {f"object_{side}": value for side, value in zip(SIDES, box, strict=True)}
                row |= {f"window_{side}": value for side, value in zip(SIDES, windows[best], strict=True)}
                rows.append(row)
    return pd.DataFrame(rows)


def area_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the areas in the results of the experiment with their standard errors.

    Columns are ``variant``, ``windows``, ``mean`` and ``se``; variants and references are in the order of
    `NAMES`.
    """
    areas_of = {**values["auc"], CHANCE: values["auc_chance"], ALL: [values["auc_all"]] * len(COUNTS)}
    return pd.DataFrame(
        {"variant": variant, "windows": count}
        | dict(zip(("mean", "se"), _mean(item["repeats"]), strict=True))
        for variant in NAMES
        if variant in areas_of
        for count, item in zip(COUNTS, areas_of[variant], strict=True)
    )


def difference_table(values: Mapping[str, Any], reference: str) -> pd.DataFrame:
    """Return the difference of the area of each variant and that of ``reference``, image by image.

    There is one row per other variant, by its display name, and one column per number of windows; cells are
    the difference and its standard error, as text. Differences vary less than areas, since all variants
    have the same test images.
    """
    of_images = {
        variant: np.array([item["repeats"] for item in items]) for variant, items in values["auc"].items()
    }
    rows = {
        name: [
            "{:+.3f} ± {:.3f}".format(*_mean(difference))
            for difference in of_images[variant] - of_images[reference]
        ]
        for variant, name in NAMES.items()
        if variant in of_images and variant != reference
    }
    return pd.DataFrame.from_dict(rows, orient="index", columns=[f"{count} windows" for count in COUNTS])


def _mean(values: ArrayLike) -> tuple[float, float]:
    """Return mean and standard error."""
    values = np.asarray(values)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


if "snakemake" in globals():
    run_stage(main, snakemake)
