"""Trees to try the theorems of taxonomies on: the one of figure 5.5, and random ones."""

import numpy as np

from ermlab.taxonomy.tree import Taxonomy, centred, tree_metric

#: The tree of figure 5.5(a). The thesis gives no lengths; these make all distances different.
FIGURE_5_5 = "((d:2,e:3)b:1,(f:1.5,g:4)c:2.5)a;"


def random_taxonomy(rng: np.random.Generator, n_leaves: int, *, binary: bool = True) -> Taxonomy:
    """Return a tree made by joining random nodes, two (or up to three) at a time, with random lengths."""
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


def rerooting_changes(tree: Taxonomy, other: Taxonomy) -> dict[str, float]:
    """Return how much two rootings of a tree differ at most, each matrix relative to its largest entry.

    Distances are taken from the covariance (Theorem 5.2.4), which has forgotten the paths.
    """
    one, two = tree.covariance(), other.covariance()
    return {
        "covariance": _change(one, two),
        "metric": _change(tree_metric(one), tree_metric(two)),
        "centred": _change(centred(one), centred(two)),
    }


def _change(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).max() / np.abs(one).max())
