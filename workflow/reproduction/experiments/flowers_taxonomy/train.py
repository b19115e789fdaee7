"""Train one-vs-rest and taxonomic SVMs on one split of the flowers (rule train_flower_taxonomies)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ermlab.taxonomy import Taxonomy, shuffled
from reproduction.claims.results import write_json
from reproduction.datasets.flowers17 import CLASSES
from reproduction.experiments.flowers_taxonomy.descriptors import FlowerBags, mean_kernel
from reproduction.experiments.flowers_taxonomy.protocol import (
    METHODS,
    ONE_VS_REST,
    draw_splits,
    train_once,
)
from reproduction.experiments.taxonomies import class_taxonomies, comparable, read_taxonomy, search_C
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    split: int,
    splits: int,
    seed: int,
    permutations: int,
    C: Sequence[float],
    C_limits: Sequence[float],
    tol: float,
) -> None:
    """Learn taxonomies, train all methods, and predict the test part."""
    data = FlowerBags.read(inputs["bags"])
    part = draw_splits(data.labels, splits, seed)[split]
    K = mean_kernel(data.channels(), part.train)
    semantic = read_taxonomy(inputs["taxonomy"]).ordered(CLASSES)
    trees = class_taxonomies(K[np.ix_(part.train, part.train)], data.labels[part.train], semantic)
    runs: list[tuple[str, Taxonomy | None]] = [
        *((method, trees.get(method)) for method in METHODS if method != "permuted"),
        *(("permuted", tree) for tree in shuffled(trees["learned"], permutations, [seed, split])),
    ]
    trials, predictions = [], []
    for number, (method, tree) in enumerate(runs):
        covariance = np.eye(len(CLASSES)) if tree is None else tree.covariance()
        B = None if method == ONE_VS_REST else comparable(covariance)
        best, searched = search_C(
            lambda value, B=B: train_once(B, value, K, data.labels, part, tol), C, C_limits
        )
        run = {"split": split, "run": number, "method": method}
        trials += [
            {
                **run,
                "C": trial.C,
                "validation": trial.validation,
                "gap": trial.gap,
                "iterations": trial.n_iter,
                "chosen": trial is best,
            }
            for trial in searched
        ]
        predicted = best.classifier.predict(K[np.ix_(part.test, part.train)])
        rows = {"image": data.images[part.test], "label": data.labels[part.test], "predicted": predicted}
        predictions.append(pd.DataFrame({**run, **rows}))
    pd.DataFrame(trials).to_csv(outputs["trials"], index=False, lineterminator="\n")
    pd.concat(predictions).to_csv(outputs["predictions"], index=False, lineterminator="\n")
    write_json(outputs["trees"], {name: tree.to_newick() for name, tree in trees.items()})


if "snakemake" in globals():
    run_stage(main, snakemake)
