"""Train taxonomic SVMs on one split of the newsgroups (rule train_text_taxonomies)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from ermlab.taxonomy import robinson_foulds
from reproduction.claims.results import write_json
from reproduction.experiments.taxonomies import read_taxonomy, search_C
from reproduction.experiments.text_taxonomy.protocol import (
    TextBags,
    class_covariances,
    class_losses,
    class_trees,
    kernels_of,
    mean_loss,
    train_once,
)
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    split: int,
    seed: int,
    C: Sequence[float],
    C_limits: Sequence[float],
    tol: float,
) -> None:
    """Select C for each covariance and loss on the validation part, and measure the loss on the test part."""
    bags = TextBags.read(inputs["bags"])
    semantic = read_taxonomy(inputs["taxonomy"]).ordered(bags.groups.tolist())
    kernels = kernels_of(bags)
    trees = class_trees(kernels["train"], bags.part("train")[1], semantic, [seed, split])
    test_labels = bags.part("test")[1]
    rows = []
    for loss_name, loss in class_losses(semantic).items():
        for covariance, B in class_covariances(trees).items():
            best, trials = search_C(
                lambda value, B=B, loss=loss: train_once(B, loss, value, kernels, bags, tol), C, C_limits
            )
            test_loss = mean_loss(best.classifier, loss, kernels["test"], test_labels)
            rows += [
                {
                    "split": split,
                    "loss": loss_name,
                    "covariance": covariance,
                    "C": trial.C,
                    "validation": -trial.validation,
                    "gap": trial.gap,
                    "iterations": trial.n_iter,
                    "zero": not trial.classifier.dual_coef_.any(),
                    "chosen": trial is best,
                    "test": test_loss if trial is best else np.nan,
                }
                for trial in trials
            ]
    pd.DataFrame(rows).to_csv(outputs["trials"], index=False, lineterminator="\n")
    write_json(
        outputs["trees"],
        {
            "semantic": trees["semantic"].to_newick(),
            "learned": trees["learned"].to_newick(),
            "topology_distance": robinson_foulds(trees["learned"], trees["semantic"]),
            "words": len(bags.words),
            "posts": bags.counts.tolist(),
            "late_posts": int(bags.n_late[0]),
        },
    )


if "snakemake" in globals():
    run_stage(main, snakemake)
