"""Measure on random trees what lemma 1 and theorems 5.2.4 and 5.2.6 of the thesis state."""

import numpy as np
from numpy.typing import NDArray

from ermlab.taxonomy import Taxonomy, four_point_violation, neighbor_joining, robinson_foulds, tree_metric

#: Edges shorter than this share of the largest distance are due to rounding.
ROUNDING = 1e-9


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


def relative_change(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Return the largest change of an entry, relative to the largest entry."""
    return float(np.abs(before - after).max() / np.abs(before).max())


def relative_violation(M: NDArray[np.float64]) -> float:
    """Return the largest violation of the four-point condition, relative to the largest distance."""
    return four_point_violation(M) / M.max()


def fitted_tree(M: NDArray[np.float64], names: tuple[str, ...]) -> Taxonomy:
    """Return the tree of a tree metric, without edges that are due to rounding."""
    return neighbor_joining(M, names).collapsed(ROUNDING * M.max())


def metric_changes(tree: Taxonomy, rng: np.random.Generator) -> dict[str, float]:
    """Measure both directions of theorem 5.2.4 on the covariance of a tree.

    ``four_point`` is the violation of the condition by the distances of the covariance, ``recovered`` their
    difference from those of the tree that is fitted to them alone. The same distances with noise, which are
    those of no tree, are the control: ``noisy_four_point`` and ``noisy_recovered``.
    """
    M = tree_metric(tree.covariance())
    noise = np.triu(rng.uniform(0, 0.5, M.shape) * M.max(), 1)
    changes = {}
    for prefix, distances in (("", M), ("noisy_", M + noise + noise.T)):
        fitted = fitted_tree(distances, tree.names).ordered(tree.names)
        changes[f"{prefix}four_point"] = relative_violation(distances)
        changes[f"{prefix}recovered"] = relative_change(distances, fitted.metric())
    return changes


def combination_changes(tree: Taxonomy, rng: np.random.Generator) -> dict[str, float]:
    """Measure theorem 5.2.6: combine the covariances of two trees of one topology with random weights.

    ``combined_four_point`` is the violation of the four-point condition by the combination,
    ``combined_topology`` the share of splits that differ between the tree fitted to it and the given one. The
    combination with a tree of another topology is the control, ``other_four_point``.
    """
    share = rng.uniform(0.2, 0.8)
    same = tree.with_lengths(rng.exponential(size=len(tree.parents)))
    other = tree.permuted(_moving_permutation(tree, rng)).ordered(tree.names)
    combined, mixed = (
        tree_metric(share * tree.covariance() + (1 - share) * second.covariance()) for second in (same, other)
    )
    return {
        "combined_four_point": relative_violation(combined),
        "combined_topology": robinson_foulds(fitted_tree(combined, tree.names), tree),
        "other_four_point": relative_violation(mixed),
    }


def _moving_permutation(tree: Taxonomy, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return a permutation of the leaves that changes the topology, or the last of many tries."""
    for _ in range(100):
        order = rng.permutation(tree.n_leaves)
        if robinson_foulds(tree.permuted(order), tree) > 0:
            break
    return order


def ancestor_loss_difference(tree: Taxonomy) -> float:
    """Compare the loss ``B_zz - B_yz`` with the path from leaf z up to the nearest common ancestor with y.

    Returns
    -------
    float
        Largest difference, relative to the largest loss.
    """
    B = tree.covariance()
    walked = np.zeros_like(B)
    for row, y in enumerate(tree.leaves):
        above = set(tree.path_up(y))
        for column, z in enumerate(tree.leaves):
            below = [node for node in tree.path_up(z) if node not in above]
            walked[row, column] = tree.lengths[below].sum()
    return relative_change(walked, np.diag(B)[None, :] - B)
