"""Algorithms 1 and 2 of the thesis as printed, with their errors corrected.

`ermlab.ranking.most_violated` computes the same several times faster, for both rescalings and for groups. The
printed algorithms are an independent check of it, and show the cost of each level of the recursion.
"""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab.ranking.oracle import check_losses, check_scores
from reproduction.experiments.ranking_oracle import _algorithms_numba


@dataclass(frozen=True)
class Level:
    """Unfinished nodes of one level of the recursion, their samples, and the processor seconds they took."""

    nodes: int
    samples: int
    seconds: float


def bipartite_constraint(
    losses: ArrayLike, scores: ArrayLike, order: ArrayLike, t: int
) -> tuple[NDArray[np.float64], float]:
    """Return the most violated slack-rescaled constraint of a bipartite graph in linear time (Algorithm 1).

    Parameters
    ----------
    losses, scores : array-like of shape (n_samples,)
        Losses and scores of the samples, sorted by loss.
    order : array-like of shape (n_samples,)
        Indices that sort the scores.
    t : int
        The first ``t`` samples are to be ranked above all others.

    Returns
    -------
    alpha : ndarray of shape (n_samples,)
    delta : float
    """
    losses = check_losses(losses)
    scores = check_scores(scores, losses.shape)
    order = _check_order(order, losses.size)
    if not 0 <= t <= losses.size:
        raise ValueError(f"t is {t}: expected 0 to {losses.size}, the number of samples")
    alpha = np.zeros(losses.size)
    if _algorithms_numba.split_order(order, t, np.empty_like(order)) != t:
        raise ValueError(f"order repeats or lacks an index below t = {t}: expected a permutation")
    return alpha, _algorithms_numba.bipartite_constraint(losses, scores, order[:t], order[t:], alpha)


def complete_constraint(
    losses: ArrayLike, scores: ArrayLike
) -> tuple[NDArray[np.float64], float, tuple[Level, ...]]:
    """Return the most violated slack-rescaled constraint of the complete graph, level by level (Algorithm 2).

    The times of the levels do not include sorting. A node is split at the change of loss that is nearest to
    its middle, and is finished when all its losses are equal.

    Returns
    -------
    alpha : ndarray of shape (n_samples,)
    delta : float
    levels : tuple of Level
    """
    problem = sort_problem(losses, scores)
    alpha, delta, levels = process_levels(problem)
    result = np.empty_like(alpha)
    result[problem.by_loss] = alpha
    return result, delta, levels


@dataclass(frozen=True)
class SortedProblem:
    """What Algorithms 1 and 2 require: losses and scores sorted by loss, and the order of the scores.

    ``by_loss`` are the indices that sort the losses, and ``seconds`` the processor time of this sort and of
    that of the scores.
    """

    losses: NDArray[np.float64]
    scores: NDArray[np.float64]
    order: NDArray[np.int64]
    by_loss: NDArray[np.int64]
    seconds: tuple[float, float]


def sort_problem(losses: ArrayLike, scores: ArrayLike) -> SortedProblem:
    """Sort samples by their losses, and find the order of their scores."""
    losses = check_losses(losses)
    scores = check_scores(scores, losses.shape)
    began = time.thread_time()
    by_loss = np.argsort(losses, kind="stable")
    losses, scores = losses[by_loss], scores[by_loss]
    sorted_by_loss = time.thread_time()
    order = np.argsort(scores, kind="stable")
    seconds = sorted_by_loss - began, time.thread_time() - sorted_by_loss
    return SortedProblem(losses, scores, order, by_loss, seconds)


def process_levels(problem: SortedProblem) -> tuple[NDArray[np.float64], float, tuple[Level, ...]]:
    """Return ``alpha``, in the order of the losses, ``delta`` and the levels of `complete_constraint`."""
    alpha, delta, levels = np.zeros(problem.losses.size), 0.0, []
    order = problem.order.copy()  # the kernel sorts it anew, node by node
    nodes, spare = np.array([[0, order.size]]), np.empty_like(order)
    while nodes.size > 0:
        began = time.thread_time()
        nodes, halves, gain = _algorithms_numba.process_level(
            problem.losses, problem.scores, order, nodes, alpha, spare
        )
        delta += gain
        if nodes.size > 0:
            levels.append(Level(len(nodes), int(np.diff(nodes).sum()), time.thread_time() - began))
        nodes = halves
    return alpha, delta, tuple(levels)


def constraint_by_passes(problem: SortedProblem) -> tuple[NDArray[np.float64], float]:
    """Return ``alpha``, in the order of the losses, and ``delta`` of the complete graph, in O(nR).

    Algorithm 1 is applied R - 1 times, to the samples of one of the R loss values and those of larger losses.
    """
    alpha, delta = np.zeros(problem.losses.size), 0.0
    ordered = problem.losses[problem.order]
    for loss in np.unique(problem.losses)[:-1]:
        positive, negative = problem.order[ordered == loss], problem.order[ordered > loss]
        delta += _algorithms_numba.bipartite_constraint(
            problem.losses, problem.scores, positive, negative, alpha
        )
    return alpha, delta


def _check_order(order: ArrayLike, n: int) -> NDArray[np.int64]:
    """Return a copy of indices of ``n`` samples, or raise a ValueError."""
    order = np.asarray(order)
    if order.shape != (n,) or not np.issubdtype(order.dtype, np.integer):
        raise ValueError(f"order of type {order.dtype}, shape {order.shape}: expected {n} integers")
    if order.min() < 0 or order.max() >= n:
        raise ValueError(f"order has indices from {order.min()} to {order.max()}: expected 0 to {n - 1}")
    return order.astype(np.int64)
