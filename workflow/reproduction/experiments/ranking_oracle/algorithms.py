"""Algorithms 1 and 2 of the thesis as they stand there, with their slips put right.

`most_violated` computes the same several times as fast, for both rescalings and for groups; these are its
independent check, and show what each level of the recursion costs.
"""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.ranking.oracle import check_losses, check_scores
from reproduction.experiments.ranking_oracle import _algorithms_numba


@dataclass(frozen=True)
class Level:
    """One level of the recursion: the nodes on it that were not yet finished, and what they cost."""

    nodes: int
    samples: int
    seconds: float


def bipartite_constraint(
    losses: ArrayLike, scores: ArrayLike, order: ArrayLike, t: int
) -> tuple[NDArray[np.float64], float]:
    """Return the most violated slack-rescaled constraint of a bipartite graph in linear time (Algorithm 1).

    Parameters
    ----------
    losses, scores
        Of each sample, sorted by loss.
    order
        Indices that sort the scores.
    t
        The first ``t`` samples are to be ranked above all others.
    """
    losses = check_losses(losses)
    scores = check_scores(scores, losses.shape)
    order = _check_order(order, losses.size)
    if not 0 <= t <= losses.size:
        raise ValueError(f"t is {t}: expected 0 to {losses.size}, the number of samples")
    alpha = np.zeros(losses.size)
    if _algorithms_numba.split_order(order, t, np.empty_like(order)) != t:
        raise ValueError(f"order has some index below t = {t} twice or not at all: expected a permutation")
    return alpha, _algorithms_numba.bipartite_constraint(losses, scores, order[:t], order[t:], alpha)


def complete_constraint(
    losses: ArrayLike, scores: ArrayLike
) -> tuple[NDArray[np.float64], float, tuple[Level, ...]]:
    """Return the most violated slack-rescaled constraint of the complete graph, level by level (Algorithm 2).

    Samples are sorted here; the levels' costs are without that. Nodes are halved at the change of loss that
    is nearest to the middle, and are finished when all their losses are equal.
    """
    losses = check_losses(losses)
    scores = check_scores(scores, losses.shape)
    by_loss = np.argsort(losses, kind="stable")
    losses, scores = losses[by_loss], scores[by_loss]
    order = np.argsort(scores, kind="stable")
    alpha, delta, levels = np.zeros(losses.size), 0.0, []
    nodes, spare = np.array([[0, losses.size]]), np.empty_like(order)
    while nodes.size > 0:
        began = time.perf_counter()
        nodes, halves, gain = _algorithms_numba.play_level(losses, scores, order, nodes, alpha, spare)
        delta += gain
        if nodes.size > 0:
            levels.append(Level(len(nodes), int(np.diff(nodes).sum()), time.perf_counter() - began))
        nodes = halves
    result = np.empty_like(alpha)
    result[by_loss] = alpha
    return result, delta, tuple(levels)


def _check_order(order: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return a copy of indices of ``n`` samples, or raise a ValueError."""
    order = np.asarray(order)
    if order.shape != (n,) or not np.issubdtype(order.dtype, np.integer):
        raise ValueError(f"order of type {order.dtype}, shape {order.shape}: expected {n} integers")
    if order.min() < 0 or order.max() >= n:
        raise ValueError(f"order has indices from {order.min()} to {order.max()}: expected 0 to {n - 1}")
    return order.astype(np.int64)
