"""Evaluate ROC curves and topologies of the taxonomies of VOC classes (rule evaluate_voc_taxonomy)."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from itertools import permutations as permutations_of
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_curve

from ermlab.taxonomy import Taxonomy, robinson_foulds
from reproduction.claims.results import read_json, repeated, write_results
from reproduction.experiments.taxonomies import count_significantly_lower, distances_between
from reproduction.experiments.voc_taxonomy.protocol import N_PARTS, TEST_OVER_TRAIN, areas_under_roc
from reproduction.pipeline.job import Paths, run_stage

#: The first three are those of the thesis, the others are controls.
METHOD_TITLES = {
    "semantic": "semantic taxonomy",
    "learned": "learned taxonomy",
    "multiclass": "no taxonomy",
    "learned_topology": "learned topology, lengths by eq. 5.34",
    "permuted": "learned tree, classes shuffled",
}
FIT_TITLES = {
    "projection": "nearest tree (3-approximation)",
    "neighbour_joining": "neighbor joining",
    "average_linkage": "average linkage",
}
#: Name of the mean over the classes in the table of curves.
ALL = "all classes"
#: False positive rates at which curves are averaged.
_GRID = np.linspace(0, 1, 51)


def main(inputs: Paths, outputs: Paths, *, seed: int, permutations: int) -> None:
    """Average areas, curves and distances over the orders of the roles."""
    runs = [read_json(path) for path in inputs["runs"]]
    classes, methods = runs[0]["classes"], list(runs[0]["methods"])
    labels = [np.array(run["labels"], dtype=bool) for run in runs]
    scores = {name: [np.array(run["methods"][name]["scores"]) for run in runs] for name in methods}
    areas = {
        name: np.array([areas_under_roc(Y, S) for Y, S in zip(labels, scores[name], strict=True)])
        for name in methods
    }
    distances = topology_distances(runs, permutations, np.random.default_rng(seed))
    write_results(
        Path(outputs["values"]).parent,
        {
            "classes": classes,
            "orders": len(runs),
            "train_images": [run["train_images"] for run in runs],
            "descriptions": [run["description"] for run in runs],
            "auc": {name: [over_orders(of_class) for of_class in area.T] for name, area in areas.items()},
            "mean_auc": {name: over_orders(area.mean(axis=1)) for name, area in areas.items()},
            "classes_worse": count_significantly_lower(areas["learned"], areas["semantic"], 1 / N_PARTS),
            "topology_distance": over_orders(distances["projection"]["distance"]),
            "topology_distance_permuted": over_orders(distances["projection"]["permuted"]),
            "topology_by_fit": {
                fit: {name: float(np.mean(values)) for name, values in found.items()}
                for fit, found in distances.items()
            },
            "learned_trees": distances_between(
                [Taxonomy.from_newick(run["trees"]["learned"]) for run in runs],
                pairs_of_orders(len(runs)),
                permutations,
                seed,
            ),
            "C": {name: [run["methods"][name]["C"] for run in runs] for name in methods},
            "prices": runs[0]["grid"],
            "largest_gap": max(run["methods"][name]["gap"] for run in runs for name in methods),
            "trees": runs[0]["trees"],
        },
        datasets={"voc2007_sample": read_json(inputs["receipt"])["kind"]},
    )
    areas_by_class(areas, classes).to_csv(outputs["areas"], index=False, lineterminator="\n")
    curves = curves_by_class(labels, scores, classes)
    curves.to_csv(outputs["curves"], index=False, lineterminator="\n")


def over_orders(values: ArrayLike) -> dict[str, Any]:
    """Mark numbers as measured once in each order of the roles; the parts of the orders overlap."""
    return repeated(values, "order", TEST_OVER_TRAIN)


def pairs_of_orders(n_orders: int) -> list[tuple[int, int]]:
    """Return the pairs of orders whose trees are learned from different training images."""
    train = [order[1] for order in permutations_of(range(N_PARTS))][:n_orders]
    return [(i, j) for i, j in combinations(range(n_orders), 2) if train[i] != train[j]]


def topology_distances(
    runs: Sequence[Mapping], permutations: int, rng: np.random.Generator
) -> dict[str, dict[str, list[float]]]:
    """Return the Robinson-Foulds distance between semantic and learned tree for each fit and order.

    With it come the mean distance of learned trees with permuted classes (``permuted``), and the share of
    these that are at least as close as the learned tree itself (``permuted_as_close``).
    """
    semantic = [Taxonomy.from_newick(run["trees"]["semantic"]) for run in runs]
    distances = {}
    for fit in runs[0]["fits"]:
        learned = [Taxonomy.from_newick(run["fits"][fit]) for run in runs]
        compared = [
            compare_with_permuted(*trees, permutations, rng) for trees in zip(semantic, learned, strict=True)
        ]
        distances[fit] = {
            "distance": [distance for distance, _ in compared],
            "permuted": [float(permuted.mean()) for _, permuted in compared],
            "permuted_as_close": [float((permuted <= distance).mean()) for distance, permuted in compared],
        }
    return distances


def compare_with_permuted(
    semantic: Taxonomy, learned: Taxonomy, permutations: int, rng: np.random.Generator
) -> tuple[float, NDArray[np.float64]]:
    """Return the distance between two trees, and the distances after permuting the classes of the second."""
    if permutations < 1:
        raise ValueError(f"permutations is {permutations}: expected at least 1")
    permuted = (learned.permuted(rng.permutation(learned.n_leaves)) for _ in range(permutations))
    return robinson_foulds(semantic, learned), np.array(
        [robinson_foulds(semantic, tree) for tree in permuted]
    )


def areas_by_class(areas: Mapping[str, NDArray], classes: Sequence[str]) -> pd.DataFrame:
    """Return the areas ``(orders, classes)`` of each method in long form."""
    return pd.DataFrame(
        {"method": method, "order": order, "class": name, "auc": value}
        for method, area in areas.items()
        for order, row in enumerate(area)
        for name, value in zip(classes, row, strict=True)
    )


def curves_by_class(
    labels: Sequence[NDArray], scores: Mapping[str, Sequence[NDArray]], classes: Sequence[str]
) -> pd.DataFrame:
    """Return the mean ROC curve of each method and class, and the mean over the classes, in long form."""
    parts = []
    for method, of_method in scores.items():
        curves = [
            mean_roc_curve([Y[:, c] for Y in labels], [S[:, c] for S in of_method])
            for c in range(len(classes))
        ]
        mean = pd.concat(curves).groupby("false_positives", as_index=False).mean()
        for name, curve in zip([*classes, ALL], [*curves, mean], strict=True):
            parts.append(curve.assign(**{"method": method, "class": name}))
    return pd.concat(parts)[["method", "class", "false_positives", "true_positives"]]


def mean_roc_curve(labels: Sequence[ArrayLike], scores: Sequence[ArrayLike]) -> pd.DataFrame:
    """Return the true positive rate for each false positive rate, averaged over several tests.

    Scores of different tests come from different models and are not compared with each other.
    """
    curves = []
    for y, score in zip(labels, scores, strict=True):
        y = np.asarray(y, dtype=bool)
        if y.all() or not y.any():
            raise ValueError(f"{int(y.sum())} of {len(y)} labels are true: expected some of both kinds")
        false, true, _ = roc_curve(y, score, drop_intermediate=False)
        curves.append(_at_grid(false, true))
    return pd.DataFrame({"false_positives": _GRID, "true_positives": np.mean(curves, axis=0)})


def _at_grid(false: NDArray[np.float64], true: NDArray[np.float64]) -> NDArray[np.float64]:
    """Interpolate between the highest points of the vertical parts of a curve, which begins at 0."""
    places, last = np.unique(false[::-1], return_index=True)
    values = np.interp(_GRID, places, true[::-1][last])
    return np.append(0.0, values[1:])


def area_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the mean area over the classes of each method, and its range over the orders of the roles."""
    rows = []
    learned = np.array(values["mean_auc"]["learned"]["repeats"])
    for method, title in METHOD_TITLES.items():
        areas = np.array(values["mean_auc"][method]["repeats"])
        better = "" if method == "learned" else f"{(learned > areas).sum()} of {len(areas)}"
        rows.append(
            {
                "classifier": title,
                "mean area": areas.mean(),
                "least": areas.min(),
                "largest": areas.max(),
                "orders in which the learned taxonomy is better": better,
                "C": ", ".join(f"{C:g}" for C in values["C"][method]),
            }
        )
    return pd.DataFrame(rows)


def topology_table(by_fit: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Return the distances of the learned trees, as they are and permuted, from the semantic tree."""
    return pd.DataFrame(
        {
            "fitted by": FIT_TITLES[fit],
            "distance": row["distance"],
            "distance, classes shuffled": row["permuted"],
            "shuffled trees at least as close (%)": 100 * row["permuted_as_close"],
        }
        for fit, row in by_fit.items()
    )


if "snakemake" in globals():
    run_stage(main, snakemake)
