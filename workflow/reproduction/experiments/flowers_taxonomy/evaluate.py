"""Evaluate accuracies and taxonomies of the flowers (rule evaluate_flowers_taxonomy)."""

import shutil
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ermlab.taxonomy import Taxonomy, robinson_foulds, shuffled
from reproduction.claims.results import read_json, repeated, write_json, write_results
from reproduction.datasets.flowers17 import CLASSES
from reproduction.experiments.flowers_taxonomy.protocol import METHODS, TEST_OVER_TRAIN
from reproduction.experiments.taxonomies import distances_between, share_inside_grid
from reproduction.pipeline.job import Paths, run_stage

TITLES = {
    "one_vs_rest": "one-vs-rest SVM",
    "identity": "no taxonomy, B = I",
    "semantic": "Linnaean taxonomy",
    "learned": "learned taxonomy",
    "learned_topology": "learned topology, lengths by 5.34",
    "permuted": "learned taxonomy, classes shuffled",
}
#: Trees with permuted classes per split.
N_PERMUTED = 100


def main(inputs: Paths, outputs: Paths, *, seed: int) -> None:
    """Combine the splits; the files of the training rule are listed split by split."""
    trials, predictions = (pd.concat(map(pd.read_csv, inputs[name])) for name in ("trials", "predictions"))
    trees = [read_json(path) for path in inputs["trees"]]
    semantic, learned = (
        [Taxonomy.from_newick(of_split[name]) for of_split in trees] for name in ("semantic", "learned")
    )
    write_results(
        Path(outputs["values"]).parent,
        {
            **accuracies(predictions),
            **validation_values(trials),
            **topology_values(semantic, learned, seed),
            "test_images": int(len(predictions[predictions["run"] == 0]) / len(trees)),
            "splits": len(trees),
        },
        datasets={"flowers17": read_json(inputs["receipt"])["kind"]},
    )
    trials.to_csv(outputs["prices"], index=False, lineterminator="\n")
    accuracy_by_class(predictions).to_csv(outputs["classes"], index=False, lineterminator="\n")
    write_json(outputs["trees"], trees)
    shutil.copyfile(inputs["examples"], outputs["examples"])


def over_splits(values: Iterable[float]) -> dict[str, Any]:
    """Mark numbers as measured once on each split; the splits overlap."""
    return repeated(values, "split", TEST_OVER_TRAIN)


def accuracies(predictions: pd.DataFrame) -> dict[str, Any]:
    """Return the accuracy of each method and split in percent, averaged over the runs of the method."""
    correct = (predictions["label"] == predictions["predicted"]).groupby(
        [predictions["method"], predictions["split"]]
    )
    percent = 100 * correct.mean()
    return {"accuracy": {method: over_splits(percent[method]) for method in METHODS}}


def validation_values(trials: pd.DataFrame) -> dict[str, Any]:
    """Return validation accuracies in percent and the chosen C of each method and split."""
    chosen = trials[trials["chosen"]]
    by_method = {method: chosen[chosen["method"] == method].groupby("split") for method in METHODS}
    return {
        "validation": {
            method: over_splits(100 * rows["validation"].mean()) for method, rows in by_method.items()
        },
        "price": {method: rows["C"].median().tolist() for method, rows in by_method.items()},
        "price_inside": share_inside_grid(trials, ["split", "run"]),
        "largest_gap": float(chosen["gap"].max()),
    }


def topology_values(semantic: Sequence[Taxonomy], learned: Sequence[Taxonomy], seed: int) -> dict[str, Any]:
    """Return Robinson-Foulds distances of the trees of each split.

    Of the semantic and the learned tree, of the semantic tree and the learned tree with permuted classes
    (mean), and, as a control, of the learned trees of two splits.
    """
    pairs = list(zip(semantic, learned, strict=True))
    permuted = [
        np.mean([robinson_foulds(given, tree) for tree in shuffled(found, N_PERMUTED, [seed, split])])
        for split, (given, found) in enumerate(pairs)
    ]
    return {
        "topology_distance": over_splits(robinson_foulds(given, found) for given, found in pairs),
        "topology_distance_permuted": over_splits(permuted),
        "learned_trees": distances_between(
            learned, list(combinations(range(len(learned)), 2)), N_PERMUTED, seed
        ),
    }


def accuracy_by_class(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the recall of each class over all splits, for each method."""
    correct = (predictions["label"] == predictions["predicted"]).groupby(
        [predictions["method"], predictions["label"]]
    )
    table = correct.mean().rename("accuracy").reset_index()
    return table.assign(flower=table["label"].map(dict(enumerate(CLASSES))))


def accuracy_table(
    values: Mapping, published: Mapping[str, float], published_spread: Mapping[str, float]
) -> pd.DataFrame:
    """Return table 5.3 with the controls: accuracies in percent, and standard deviations over the splits."""
    rows = []
    one_vs_rest = np.mean(values["accuracy"]["one_vs_rest"]["repeats"])
    for method, title in TITLES.items():
        of_splits = values["accuracy"][method]["repeats"]
        rows.append(
            {
                "method": title,
                "accuracy": np.mean(of_splits),
                "spread": np.std(of_splits, ddof=1) if len(of_splits) > 1 else 0.0,
                "over one-vs-rest": np.mean(of_splits) - one_vs_rest,
                "published": published.get(method, np.nan),
                "published spread": published_spread.get(method, np.nan),
                "validation": np.mean(values["validation"][method]["repeats"]),
                "C chosen": ", ".join(f"{C:.3g}" for C in values["price"][method]),
            }
        )
    return pd.DataFrame(rows)


def class_table(classes: pd.DataFrame, rows: int) -> pd.DataFrame:
    """Return the recall in percent of the classes that lose most by the Linnaean taxonomy."""
    shares = classes.pivot_table(index="flower", columns="method", values="accuracy").mul(100)
    order = (shares["semantic"] - shares["identity"]).sort_values(kind="stable").index[:rows]
    return shares.loc[order, list(TITLES)].rename(columns=TITLES).rename_axis(columns=None)


def validation_curves(trials: pd.DataFrame) -> pd.DataFrame:
    """Return the mean validation accuracy in percent at the values of C that all runs of a method tried."""
    runs = trials.assign(run=trials["split"].astype(str) + "/" + trials["run"].astype(str))
    n_runs = runs.groupby("method")["run"].nunique()
    curves = runs.groupby(["method", "C"])["validation"].agg(["mean", "count"]).reset_index()
    complete = curves[curves["count"] == curves["method"].map(n_runs)]
    return complete.assign(validation=100 * complete["mean"])[["method", "C", "validation"]]


def node_table(trees: Mapping[str, Taxonomy]) -> pd.DataFrame:
    """Return one row per node of the trees, with the flowers below it."""
    rows = []
    for title, tree in trees.items():
        V = tree.partition_matrix() > 0
        for node, (parent, length) in enumerate(zip(tree.parents, tree.lengths, strict=True)):
            below = ", ".join(np.array(tree.names)[V[:, node]])
            rows.append({"tree": title, "node": node, "parent": parent, "length": length, "flowers": below})
    return pd.DataFrame(rows)


def topology_table(trees: Mapping[str, Taxonomy], reference: str) -> pd.DataFrame:
    """Return the share of each tree's length at its leaves, and its distance from the reference tree."""
    return pd.DataFrame(
        {
            "taxonomy": title,
            "share of length at single flowers": tree.lengths[tree.leaves].sum() / tree.lengths.sum(),
            f"splits not shared with {reference}": robinson_foulds(tree, trees[reference]),
        }
        for title, tree in trees.items()
    )


if "snakemake" in globals():
    run_stage(main, snakemake)
