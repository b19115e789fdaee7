"""Groups of near-identical samples, whose members are natural transformations of one another.

Equivariant SVM, section 3.2: crops from a video track come in clusters. Agglomerative clustering finds them;
a group then counts as one sample, and its members as that sample transformed.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import linkage


def natural_groups(X: ArrayLike, counts: Sequence[int]) -> tuple[list[NDArray[np.int64]], list[float]]:
    """Group the (n, d) samples into each number of groups: one tree of clusters, cut at several heights.

    Two clusters are as far apart as their members are on average (average linkage, Euclidean).

    Returns
    -------
    groups
        For each count, the group of each sample; groups are numbered in the order of their first member.
    thresholds
        The distance up to which clusters have been merged, 0 for none.
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or not len(X):
        raise ValueError(f"samples of shape {X.shape}: expected (n, d)")
    for count in counts:
        if not 1 <= count <= len(X):
            raise ValueError(f"count is {count}: expected 1 to {len(X)} groups of {len(X)} samples")
    merges = linkage(X, "average") if len(X) > 1 else np.empty((0, 4))
    groups = [_cut(merges, len(X), len(X) - count) for count in counts]
    return groups, [float(merges[len(X) - count - 1, 2]) if count < len(X) else 0.0 for count in counts]


def _cut(merges: NDArray, n: int, steps: int) -> NDArray[np.int64]:
    """Return the groups after the first merges; equal distances are taken in the order of the tree."""
    cluster = np.arange(n)
    for step in range(steps):
        cluster[np.isin(cluster, merges[step, :2].astype(np.int64))] = n + step
    _, first, groups = np.unique(cluster, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[groups]


def first_members(groups: ArrayLike) -> NDArray[np.int64]:
    """Return the first sample of each group: its representative."""
    return np.unique(np.asarray(groups), return_index=True)[1]
