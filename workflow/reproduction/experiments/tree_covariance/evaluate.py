"""Theorem 5.2.5 on the tree of figure 5.5 and on random trees (rule evaluate_tree_covariance)."""

from pathlib import Path

import numpy as np
import pandas as pd

from ermlab.taxonomy.tree import Taxonomy, four_point_violation, tree_metric
from reproduction.claims.results import write_results
from reproduction.experiments.tree_covariance.cases import FIGURE_5_5, random_taxonomy, rerooting_changes
from reproduction.pipeline.job import job

#: As many leaves as figure 5.5 has, up to as many as PASCAL VOC has classes.
LEAVES = (4, 20)


def main(folder: str | Path, seed: int, trees: int) -> None:
    """Put the root of each tree at every node and at a random place of every edge."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(trees):
        n_leaves = int(rng.integers(LEAVES[0], LEAVES[1] + 1))
        tree = random_taxonomy(rng, n_leaves, binary=number % 2 == 0)
        M = tree_metric(tree.covariance())
        violation = four_point_violation(M) / M.max()
        for node in np.delete(np.arange(len(tree.parents)), tree.root):
            for above in (0.0, float(rng.random())):
                changes = rerooting_changes(tree, tree.rerooted(int(node), above))
                rows.append({"tree": number, "leaves": n_leaves, "four_point": violation, **changes})
    table = pd.DataFrame(rows)
    figure = Taxonomy.from_newick(FIGURE_5_5)
    write_results(
        folder,
        {
            "trees": trees,
            "roots": len(table),
            "metric_change_max": table["metric"].max(),
            "centred_change_max": table["centred"].max(),
            # What is not centred does change: the two zeros above are no triviality.
            "covariance_change_median": table["covariance"].median(),
            "four_point_violation_max": table["four_point"].max(),
            "figure": {"newick": figure.to_newick(), "rerooted": figure.rerooted(3, above=0.5).to_newick()},
        },
    )
    table.to_csv(Path(folder) / "changes.csv", index=False, lineterminator="\n")


if "snakemake" in globals():
    with job(snakemake):
        main(Path(snakemake.output.values).parent, snakemake.params.seed, snakemake.params.trees)
