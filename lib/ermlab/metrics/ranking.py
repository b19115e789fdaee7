"""Normalized discounted cumulative gain with groups and ties."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import real_array


def ndcg(relevance: ArrayLike, scores: ArrayLike, groups: ArrayLike | None = None, k: int = 10) -> float:
    """Compute the normalized discounted cumulative gain of the first ``k``, averaged over groups.

    The gain of a sample of relevance ``r`` is ``2^r - 1`` and the discount at rank ``1, 2, ...`` is
    ``1 / log2(1 + rank)``; 1 is the best value. Samples with equal scores share their gains, which is the
    mean over all their orders. Groups without relevant samples are excluded.

    Parameters
    ----------
    relevance : array-like of shape (n,)
        Grade of each sample, 0 for irrelevant.
    scores : array-like of shape (n,)
        Samples with high scores are ranked first.
    groups : array-like of shape (n,), optional
        Group of each sample, such as its query; by default one group.
    k : int, default=10
        Number of ranks that count.
    """
    relevance, scores, group = _checked(relevance, scores, groups)
    if not (isinstance(k, Real) and k >= 1):
        raise ValueError(f"k is {k!r}: expected at least 1")
    if relevance.max() + np.log2(relevance.size) >= np.finfo(np.float64).maxexp:
        raise ValueError(f"a relevance is {relevance.max()}: expected a finite sum of the gains 2^r - 1")
    gains = np.exp2(relevance) - 1.0
    best = _discounted_gains(gains, relevance, group, k)
    relevant = best > 0
    if not relevant.any():
        raise ValueError("no sample has a relevance above 0: expected at least one")
    return float(np.mean(_discounted_gains(gains, scores, group, k)[relevant] / best[relevant]))


def _discounted_gains(
    gains: NDArray[np.float64], scores: NDArray[np.float64], group: NDArray[np.int64], k: int
) -> NDArray[np.float64]:
    """Return the sum of discounted gains of the first ``k`` samples of each group."""
    order = np.lexsort((-scores, group))
    scores, group, gains = scores[order], group[order], gains[order]
    new_group = np.diff(group, prepend=-1) != 0
    # Not by differences, which may overflow.
    tie = np.cumsum(new_group | np.append(True, scores[1:] != scores[:-1])) - 1
    shared = (np.bincount(tie, gains) / np.bincount(tie))[tie]
    rank = np.arange(1, len(order) + 1) - np.flatnonzero(new_group)[group]
    return np.bincount(group, np.where(rank <= k, shared / np.log2(1.0 + rank), 0.0))


def _checked(
    relevance: ArrayLike, scores: ArrayLike, groups: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return arrays, with groups numbered from 0, or raise a ValueError."""
    relevance, scores = real_array(relevance, "relevance"), real_array(scores, "scores")
    groups = np.zeros(relevance.shape) if groups is None else np.asarray(groups)
    if relevance.ndim != 1 or relevance.size == 0 or not relevance.shape == scores.shape == groups.shape:
        raise ValueError(
            f"relevance of shape {relevance.shape}, scores of {scores.shape} and groups of {groups.shape}: "
            "expected three vectors of the same length, at least 1"
        )
    if not (np.isfinite(relevance).all() and np.isfinite(scores).all() and relevance.min() >= 0):
        raise ValueError("expected finite scores and finite relevances of at least 0")
    return relevance, scores, np.unique(groups, return_inverse=True)[1]
