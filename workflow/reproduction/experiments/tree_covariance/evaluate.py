"""Check theorem 5.2.5 on the tree of figure 5.5 and on random trees (rule evaluate_tree_covariance)."""

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.taxonomy import Taxonomy, centered, four_point_violation, tree_metric
from reproduction.claims.results import write_results
from reproduction.pipeline.job import Paths, run_stage

#: The tree of figure 5.5(a). The thesis gives no lengths; these make all distances different.
FIGURE_5_5 = "((d:2,e:3)b:1,(f:1.5,g:4)c:2.5)a;"
#: Numbers of leaves of the random trees: from that of figure 5.5 to the number of PASCAL VOC classes.
LEAVES = (4, 20)


def main(inputs: Paths, outputs: Paths, *, seed: int, trees: int) -> None:
    """Place the root of each random tree at every node and at a random point of every edge."""
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
    changes = pd.DataFrame(rows)
    figure = Taxonomy.from_newick(FIGURE_5_5)
    write_results(
        Path(outputs["values"]).parent,
        {
            **summarize(changes),
            "figure": {"newick": figure.to_newick(), "rerooted": figure.rerooted(3, above=0.5).to_newick()},
        },
    )
    changes.to_csv(outputs["changes"], index=False, lineterminator="\n")


def random_taxonomy(rng: np.random.Generator, n_leaves: int, *, binary: bool = True) -> Taxonomy:
    """Return a tree with random edge lengths, built by joining two (or two to three) random nodes."""
    parents, free = [-1] * n_leaves, list(range(n_leaves))
    while len(free) > 1:
        rng.shuffle(free)
        joined = 2 if binary else int(rng.integers(2, 4))
        for node in free[:joined]:
            parents[node] = len(parents)
        free = [*free[joined:], len(parents)]
        parents.append(-1)
    names = tuple(f"class {i}" for i in range(n_leaves))
    return Taxonomy(np.array(parents), rng.exponential(size=len(parents)), names)


def rerooting_changes(tree: Taxonomy, rerooted: Taxonomy) -> dict[str, float]:
    """Return the largest change of each matrix of a tree, relative to its largest entry.

    Distances are computed from the covariance (theorem 5.2.4), not from the paths.
    """
    B, B_rerooted = tree.covariance(), rerooted.covariance()
    return {
        "covariance": _relative_change(B, B_rerooted),
        "metric": _relative_change(tree_metric(B), tree_metric(B_rerooted)),
        "centred": _relative_change(centered(B), centered(B_rerooted)),
    }


def summarize(changes: pd.DataFrame) -> dict[str, float]:
    """Summarize the changes, one row per root: the largest of what the theorem says is 0.

    The covariance itself is not centered and does change: the median shows that the theorem is not trivial.
    """
    return {
        "trees": changes["tree"].nunique(),
        "roots": len(changes),
        "metric_change_max": changes["metric"].max(),
        "centred_change_max": changes["centred"].max(),
        "covariance_change_median": changes["covariance"].median(),
        "four_point_violation_max": changes["four_point"].max(),
    }


def _relative_change(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    return float(np.abs(before - after).max() / np.abs(before).max())


if "snakemake" in globals():
    run_stage(main, snakemake)
