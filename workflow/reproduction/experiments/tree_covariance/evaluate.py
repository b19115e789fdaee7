"""Check the statements of section 5.2 about trees on random trees (rule evaluate_tree_covariance)."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.taxonomy import Taxonomy, centered, hsic, tree_metric
from reproduction.claims.results import write_results
from reproduction.experiments.tree_covariance.theorems import (
    ancestor_loss_difference,
    combination_changes,
    metric_changes,
    random_taxonomy,
    relative_change,
)
from reproduction.pipeline.job import Paths, run_stage

#: The tree of figure 5.5(a). The thesis gives no lengths; these make all distances different.
FIGURE_5_5 = "((d:2,e:3)b:1,(f:1.5,g:4)c:2.5)a;"
#: Numbers of leaves of the random trees: from that of figure 5.5 to the number of PASCAL VOC classes.
LEAVES = (4, 20)
#: Samples of each class for HSIC.
SAMPLES_PER_CLASS = 3


def main(inputs: Paths, outputs: Paths, *, seed: int, trees: int) -> None:
    """Measure each random tree, and place its root at every node and at a random point of every edge."""
    rng = np.random.default_rng(seed)
    rows, of_trees = [], []
    for number in range(trees):
        n_leaves = int(rng.integers(LEAVES[0], LEAVES[1] + 1))
        tree = random_taxonomy(rng, n_leaves, binary=number % 2 == 0)
        of_trees.append(
            {
                **metric_changes(tree, rng),
                **combination_changes(tree, rng),
                "ancestor": ancestor_loss_difference(tree),
            }
        )
        X = rng.normal(size=(SAMPLES_PER_CLASS * n_leaves, 3))
        for node in np.delete(np.arange(len(tree.parents)), tree.root):
            for above in (0.0, float(rng.random())):
                changes = rerooting_changes(tree, tree.rerooted(int(node), above), X @ X.T)
                rows.append({"tree": number, "leaves": n_leaves, **changes})
    changes = pd.DataFrame(rows)
    figure = Taxonomy.from_newick(FIGURE_5_5)
    write_results(
        Path(outputs["values"]).parent,
        {
            **summarize_roots(changes),
            **summarize_trees(pd.DataFrame(of_trees)),
            "figure": {"newick": figure.to_newick(), "rerooted": figure.rerooted(3, above=0.5).to_newick()},
        },
    )
    changes.to_csv(outputs["changes"], index=False, lineterminator="\n")


def rerooting_changes(tree: Taxonomy, rerooted: Taxonomy, K: NDArray[np.float64]) -> dict[str, float]:
    """Return the largest change of each matrix of a tree, relative to its largest entry, and that of HSIC.

    Distances are computed from the covariance (theorem 5.2.4), not from the paths. ``K`` is the kernel matrix
    of samples whose classes are the leaves in turn.
    """
    B, B_rerooted = tree.covariance(), rerooted.covariance()
    labels = np.arange(len(K)) % tree.n_leaves
    hsic_before, hsic_after = (hsic(K, C[np.ix_(labels, labels)]) for C in (B, B_rerooted))
    return {
        "covariance": relative_change(B, B_rerooted),
        "metric": relative_change(tree_metric(B), tree_metric(B_rerooted)),
        "centred": relative_change(centered(B), centered(B_rerooted)),
        "hsic": abs(hsic_after / hsic_before - 1),
    }


def summarize_roots(changes: pd.DataFrame) -> dict[str, float]:
    """Summarize the changes, one row per root: the largest of what the theorem says is 0.

    The covariance itself is not centered and does change: the median shows that the theorem is not trivial.
    """
    return {
        "trees": changes["tree"].nunique(),
        "roots": len(changes),
        "metric_change_max": changes["metric"].max(),
        "centred_change_max": changes["centred"].max(),
        "hsic_change_max": changes["hsic"].max(),
        "covariance_change_median": changes["covariance"].median(),
    }


def summarize_trees(measured: pd.DataFrame) -> dict[str, float]:
    """Summarize the measurements, one row per tree: the largest, and for controls the smallest."""
    return {
        "four_point_violation_max": measured["four_point"].max(),
        "recovered_change_max": measured["recovered"].max(),
        "noisy_four_point_min": measured["noisy_four_point"].min(),
        "noisy_recovered_min": measured["noisy_recovered"].min(),
        "combined_four_point_max": measured["combined_four_point"].max(),
        "combined_topology_max": measured["combined_topology"].max(),
        "other_four_point_median": measured["other_four_point"].median(),
        "ancestor_loss_difference_max": measured["ancestor"].max(),
    }


if "snakemake" in globals():
    run_stage(main, snakemake)
