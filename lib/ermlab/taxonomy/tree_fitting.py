"""Trees fitted to dissimilarities, the problem of numerical taxonomy.

Finding the nearest tree metric is NP-hard. `nearest_tree` has the guarantee of Agarwala, Bafna, Farach,
Paterson and Thorup (1999): its largest error is at most three times the smallest possible one. Neighbor
joining and average linkage, the usual heuristics, have no guarantee.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from ermlab.taxonomy.tree import Taxonomy
from ermlab.taxonomy.tree_matrices import Matrix, checked_symmetric

#: Inner edges shorter than this share of the largest distance are due to rounding.
_ROUNDING = 1e-12


def nearest_tree(M: ArrayLike, names: Sequence[str]) -> Taxonomy:
    """Fit a tree with a largest error of at most three times that of the nearest tree metric.

    For each leaf a, the best tree that keeps all distances to a is computed: plus the *centroid metric* ``l_i
    + l_j`` with ``l_i = max M(a, .) - M(a, i)``, the metrics of such trees are the ultrametrics between two
    bounds, and the best of these is the subdominant ultrametric, raised and clipped. The best a is chosen.

    Parameters
    ----------
    M : array-like of shape (n_leaves, n_leaves)
        Non-negative dissimilarities, 0 on the diagonal; they need not be a metric.
    names : sequence of str
        Names of the leaves.

    Returns
    -------
    Taxonomy
        Its root is in the middle of the longest path.
    """
    M = _dissimilarities(M)
    trees = [_tree_seen_from(M, a, names) for a in range(len(M))]
    return trees[int(np.argmin([np.abs(tree.metric() - M).max() for tree in trees]))]


def neighbor_joining(M: ArrayLike, names: Sequence[str]) -> Taxonomy:
    """Fit a tree by neighbor joining (Saitou and Nei, 1987), which recovers the tree of a tree metric.

    Negative lengths are set to 0. Parameters are those of `nearest_tree`.
    """
    M = _dissimilarities(M)
    D, nodes = M.copy(), list(range(len(M)))
    parents, lengths = [-1] * len(M), [0.0] * len(M)
    while len(nodes) > 2:
        n, sums = len(nodes), D.sum(axis=1)
        Q = (n - 2) * D - sums[:, None] - sums[None, :]
        np.fill_diagonal(Q, np.inf)
        i, j = sorted(np.unravel_index(Q.argmin(), Q.shape))
        difference = (sums[i] - sums[j]) / (n - 2)
        lengths[nodes[i]], lengths[nodes[j]] = (D[i, j] + difference) / 2, (D[i, j] - difference) / 2
        parents[nodes[i]] = parents[nodes[j]] = len(parents)
        joined = (D[i] + D[j] - D[i, j]) / 2
        D[i], D[:, i], D[i, i] = joined, joined, 0
        nodes[i] = len(parents)
        parents.append(-1)
        lengths.append(0.0)
        D, nodes = np.delete(np.delete(D, j, axis=0), j, axis=1), nodes[:j] + nodes[j + 1 :]
    top, other = max(nodes), min(nodes)
    if top < len(M):  # two leaves alone
        return Taxonomy(np.array([2, 2, -1]), np.array([M[0, 1] / 2, M[0, 1] / 2, 0]), tuple(names))
    parents[other], lengths[other] = top, float(D[0, 1])
    return _finished(parents, np.maximum(lengths, 0), names, M)


def average_linkage(M: ArrayLike, names: Sequence[str]) -> Taxonomy:
    """Fit a tree by average linkage (UPGMA), with all leaves at the same distance from the root."""
    M = _dissimilarities(M)
    merges = linkage(squareform(M, checks=False), "average")
    return _dendrogram(merges, merges[:, 2], np.zeros(len(M)), names, M)


def _tree_seen_from(M: Matrix, a: int, names: Sequence[str]) -> Taxonomy:
    """Return the best tree that keeps the distances to leaf a."""
    depth = M[a].max() - M[a]
    wanted = M + depth[:, None] + depth[None, :]
    highest, lowest = 2 * M[a].max(), 2 * np.maximum(depth[:, None], depth[None, :])
    pairs = ~np.eye(len(M), dtype=bool)
    merges = linkage(wanted[np.triu_indices(len(M), k=1)], "single")
    below = squareform(cophenet(merges))
    misfit = np.maximum.reduce([(wanted - below) / 2, wanted - highest, lowest - below])
    raised = max(misfit[pairs].max(), 0.0)
    return _dendrogram(merges, np.minimum(merges[:, 2] + raised, highest), depth, names, M)


def _dendrogram(
    merges: NDArray[np.float64], heights: NDArray[np.float64], depth: Matrix, names: Sequence[str], M: Matrix
) -> Taxonomy:
    """Return the tree of an ultrametric with the edges of its leaves shortened by their depths."""
    k = len(merges) + 1
    parents = np.full(2 * k - 1, -1)
    for number, pair in enumerate(merges[:, :2].astype(int)):
        parents[pair] = k + number
    levels = np.append(depth, heights / 2)
    lengths = np.append(levels[parents[:-1]] - levels[:-1], 0.0)
    return _finished(parents, np.maximum(lengths, 0), names, M)


def _finished(parents: ArrayLike, lengths: ArrayLike, names: Sequence[str], M: Matrix) -> Taxonomy:
    """Return the tree without edges of length 0, with its root in the middle of the longest path."""
    tree = Taxonomy(np.asarray(parents), np.asarray(lengths), tuple(names))
    return tree.collapsed(_ROUNDING * M.max()).rooted_in_the_middle()


def _dissimilarities(M: ArrayLike) -> Matrix:
    M = checked_symmetric(M, "M")
    if len(M) < 2:
        raise ValueError(f"M has shape {M.shape}: expected at least 2 leaves")
    M = (M + M.T) / 2
    if (M < 0).any() or np.diag(M).any():
        raise ValueError(
            f"M goes from {M.min()}, diagonal up to {np.diag(M).max()}: expected M >= 0, diagonal 0"
        )
    return M
