"""One-vs-rest and taxonomic SVMs on one split of the flowers (rule train_flower_taxonomies)."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ermlab.taxonomy.tree import Taxonomy, shuffled
from reproduction.claims.results import write_json
from reproduction.datasets.flowers17 import CLASSES
from reproduction.experiments.flowers_taxonomy.descriptors import FlowerBags, mean_kernel
from reproduction.experiments.flowers_taxonomy.protocol import (
    METHODS,
    ONE_VS_REST,
    class_taxonomies,
    covariance_of,
    draw_splits,
    train_once,
)
from reproduction.experiments.taxonomic_search import search_price
from reproduction.pipeline.job import job


def main(
    bags: str,
    taxonomy: str,
    outputs: Mapping[str, str],
    *,
    split: int,
    splits: int,
    seed: int,
    permutations: int,
    prices: Sequence[float],
    limits: Sequence[float],
    tol: float,
) -> None:
    """Learn taxonomies, train all methods, and write trials, predictions of the test part, trees, seconds."""
    data = FlowerBags.read(bags)
    part = draw_splits(data.labels, splits, seed)[split]
    K = mean_kernel(data.channels(), part.train)
    training = np.ix_(part.train, part.train)
    semantic = Taxonomy.from_newick(Path(taxonomy).read_text(encoding="utf-8"))
    trees = class_taxonomies(K[training], data.labels[part.train], semantic, CLASSES)
    runs: list[tuple[str, Taxonomy | None]] = [
        *((method, trees.get(method)) for method in METHODS if method != "permuted"),
        *(("permuted", tree) for tree in shuffled(trees["learned"], permutations, [seed, split])),
    ]
    trials, predictions, seconds = [], [], dict.fromkeys(METHODS, 0.0)
    for number, (method, tree) in enumerate(runs):
        B = None if method == ONE_VS_REST else covariance_of(tree, len(CLASSES))
        begin = time.perf_counter()
        best, tried = search_price(
            lambda C, B=B: train_once(B, C, K, data.labels, part, tol), prices, tuple(limits)
        )
        seconds[method] += time.perf_counter() - begin
        trials += [
            {
                "split": split,
                "run": number,
                "method": method,
                "C": trial.C,
                "validation": trial.validation,
                "gap": trial.gap,
                "iterations": trial.iterations,
                "chosen": trial is best,
            }
            for trial in tried
        ]
        predicted = best.classifier.predict(K[np.ix_(part.test, part.train)])
        rows = {"image": data.images[part.test], "label": data.labels[part.test], "predicted": predicted}
        predictions.append(pd.DataFrame({"split": split, "run": number, "method": method, **rows}))
    pd.DataFrame(trials).to_csv(outputs["trials"], index=False, lineterminator="\n")
    pd.concat(predictions).to_csv(outputs["predictions"], index=False, lineterminator="\n")
    write_json(outputs["trees"], {name: tree.to_newick() for name, tree in trees.items()})
    write_json(outputs["timings"], seconds)


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.bags,
            snakemake.input.taxonomy,
            dict(snakemake.output.items()),
            split=int(snakemake.wildcards.split),
            **snakemake.params.arguments,
        )
