"""Taxonomic SVMs on one split of the newsgroups (rule train_text_taxonomies)."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from ermlab.taxonomy.tree import Taxonomy, robinson_foulds
from reproduction.claims.results import read_json, write_json
from reproduction.datasets.newsgroups20 import read_groups
from reproduction.experiments.taxonomic_search import search_price
from reproduction.experiments.text_taxonomy.protocol import (
    TextBags,
    class_covariances,
    class_losses,
    class_trees,
    kernels_of,
    mean_loss,
    train_once,
)
from reproduction.pipeline.job import job


def main(
    bags: str,
    receipt: str,
    taxonomy: str,
    outputs: Mapping[str, str],
    *,
    split: int,
    seed: int,
    prices: Sequence[float],
    limits: Sequence[float],
    tol: float,
) -> None:
    """Choose C for each covariance and loss, judge the test part, write trials, trees and seconds."""
    data = TextBags.read(bags)
    groups = read_groups(read_json(receipt)["folder"])
    semantic = Taxonomy.from_newick(Path(taxonomy).read_text(encoding="utf-8")).ordered(groups)
    began = time.perf_counter()
    kernels = kernels_of(data)
    seconds = {"kernels": time.perf_counter() - began, "training": 0.0}
    trees = class_trees(kernels["train"], data.part("train")[1], semantic, [seed, split])
    test_labels = data.part("test")[1]
    rows = []
    for loss_name, loss in class_losses(semantic).items():
        for name, B in class_covariances(trees).items():
            began = time.perf_counter()
            best, tried = search_price(
                lambda C, B=B, loss=loss: train_once(B, loss, C, kernels, data, tol), prices, tuple(limits)
            )
            seconds["training"] += time.perf_counter() - began
            rows += [
                {
                    "split": split,
                    "loss": loss_name,
                    "covariance": name,
                    "C": trial.C,
                    "validation": -trial.validation,
                    "gap": trial.gap,
                    "iterations": trial.iterations,
                    "zero": not trial.classifier.dual_coef_.any(),
                    "chosen": trial is best,
                    "test": mean_loss(best.classifier, loss, kernels["test"], test_labels)
                    if trial is best
                    else np.nan,
                }
                for trial in tried
            ]
    pd.DataFrame(rows).to_csv(outputs["trials"], index=False, lineterminator="\n")
    write_json(
        outputs["trees"],
        {
            "semantic": trees["semantic"].to_newick(),
            "learned": trees["learned"].to_newick(),
            "topology_distance": robinson_foulds(trees["learned"], trees["semantic"]),
            "words": len(data.words),
            "posts": data.counts.tolist(),
        },
    )
    write_json(outputs["timings"], seconds)


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.bags,
            snakemake.input.receipt,
            snakemake.input.taxonomy,
            dict(snakemake.output.items()),
            split=int(snakemake.wildcards.split),
            **snakemake.params.arguments,
        )
