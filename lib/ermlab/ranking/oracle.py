"""The most violated constraint of structured output ranking in O(n log n) (thesis, Algorithms 1 and 2).

Samples of lower loss should be ranked higher. The coefficients of the constraint are sums over all pairs of
the preference graph that the scores violate; the pairs are never formed explicitly.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numba import get_num_threads
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import check_choice, real_array
from ermlab.ranking import _rows_numba
from ermlab.ranking.passes import count_gone, sum_pairs
from ermlab.ranking.sorting import argsort

Vector = NDArray[np.float64]
RESCALINGS = ("slack", "margin")
GRAPHS = ("complete", "bipartite")
# Indices are 32-bit.
MAX_SAMPLES = 2**31 - 1


def most_violated(
    losses: ArrayLike,
    scores: ArrayLike,
    *,
    rescaling: str = "slack",
    graph: str = "complete",
    threshold: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> tuple[Vector, float]:
    """Return ``alpha`` and ``delta`` of the constraint ``delta - sum_i alpha_i <w, phi_i> <= xi``.

    The sums run over the pairs (i, j) of the graph with ``losses[i] < losses[j]`` that are violated: for
    slack rescaling those with ``scores[i] < scores[j] + 1``, for margin rescaling those with
    ``scores[i] - scores[j] < losses[j] - losses[i]`` (thesis, eq. 3.11 and 3.12). Without a pair both are 0.

    Parameters
    ----------
    losses : array-like of shape (n,)
        Structured output loss of each sample, non-negative.
    scores : array-like of shape (n,)
        Compatibility ``<w, phi_i>`` of each sample.
    rescaling : {"slack", "margin"}, default="slack"
        With ``"slack"`` pairs are weighted by the difference of their losses.
    graph : {"complete", "bipartite"}, default="complete"
        With ``"bipartite"`` samples with a loss of at most ``threshold`` are ranked above all others.
        Threshold 0 gives the star graph, in which the truth is above all others.
    threshold : float or array-like, optional
        For bipartite graphs: one number, or one per group in the order of ``np.unique(groups)``.
    groups : array-like of shape (n,), optional
        Group of each sample (query, image); only samples of the same group form pairs. By default one group.

    Returns
    -------
    alpha : ndarray of shape (n,)
        Coefficients of the samples.
    delta : float
        Constant of the constraint.
    """
    return Oracle(losses, rescaling=rescaling, graph=graph, threshold=threshold, groups=groups)(scores)


class Oracle:
    """`most_violated` for fixed losses and many scores; the losses are sorted once."""

    def __init__(
        self,
        losses: ArrayLike,
        *,
        rescaling: str = "slack",
        graph: str = "complete",
        threshold: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ):
        check_choice("rescaling", rescaling, RESCALINGS)
        self.rescaling = rescaling
        self._losses = check_losses(losses)
        labels, self._group, sizes = _check_groups(groups, self._losses.size)
        thresholds = _check_threshold(graph, threshold, labels)
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        order, ordered = argsort(self._losses, get_num_threads())
        if self._group is not None:
            order, ordered = _rows_numba.sort_by_group(order, ordered, self._group, self._starts)
        self._rank, self._first, group_first = _rows_numba.rank_losses(
            order, ordered, self._starts, thresholds
        )
        self.edges = _count_edges(self._first, group_first)
        self._roots = _find_roots(group_first)

    @property
    def sum_of_losses(self) -> float:
        """The sum of all losses."""
        return float(np.sum(self._losses))

    @property
    def pairs(self) -> int:
        """Number of pairs of samples in the same group, ties in loss included."""
        sizes = np.diff(self._starts)
        return int(np.sum(sizes * (sizes - 1) // 2))

    def __call__(self, scores: ArrayLike) -> tuple[Vector, float]:
        """Return ``alpha``, in the order of the input, and ``delta``."""
        scores = check_scores(scores, self._losses.shape)
        if self.rescaling == "slack":
            return self._sum_pairs(scores, margin=1.0, weighted=True)
        # s_i - s_j < loss_j - loss_i is an order of the sums of score and loss.
        with np.errstate(over="ignore"):  # checked next
            sums = scores + self._losses
        _check_finite("scores + losses", sums)
        alpha, _ = self._sum_pairs(sums, margin=0.0, weighted=False)
        return alpha, -float(np.sum(alpha * self._losses))

    def discordance(self, scores: ArrayLike) -> float:
        """Return the sum of loss differences over wrongly ordered pairs; equal scores count half."""
        scores = check_scores(scores, self._losses.shape)
        strict, loose = (
            self._sum_pairs(scores, margin=0.0, weighted=True, closed=closed)[1] for closed in (False, True)
        )
        return (strict + loose) / 2

    def _sum_pairs(
        self, keys: Vector, *, margin: float, weighted: bool, closed: bool = False
    ) -> tuple[Vector, float]:
        """Sum over the pairs of the graph with ``keys[i] < keys[j] + margin`` (``<=`` if closed).

        Each adds the difference of its losses (or 1, if not weighted) to alpha of i and subtracts it from
        alpha of j. The second result is the sum over all pairs.
        """
        sample, ordered = argsort(keys, get_num_threads())
        if self._group is not None:
            sample, ordered = _rows_numba.sort_by_group(sample, ordered, self._group, self._starts)
        gone = count_gone(ordered, self._starts, margin, closed)
        del ordered  # free memory: 400 MB for 5e7 samples
        return sum_pairs(self._rank, self._losses, sample, gone, self._first, self._roots, weighted)


def pairwise_risk(losses: ArrayLike, scores: ArrayLike, *, groups: ArrayLike | None = None) -> float:
    """Return the mean loss of wrongly ordered pairs (thesis, eq. 3.9), in O(n log n).

    The loss of a pair in the wrong order is the difference of its losses, and half of that for equal scores.

    Parameters
    ----------
    losses, scores : array-like of shape (n,)
        Loss and score of each sample.
    groups : array-like of shape (n,), optional
        Only samples of the same group form pairs.
    """
    oracle = Oracle(losses, groups=groups)
    if oracle.pairs == 0:
        raise ValueError("no group has two samples: expected a pair to rank")
    return oracle.discordance(scores) / oracle.pairs


def check_losses(losses: ArrayLike) -> Vector:
    """Return the losses as a contiguous vector, or raise a ValueError."""
    losses = np.ascontiguousarray(real_array(losses, "losses"))
    if losses.ndim != 1 or not 0 < losses.size <= MAX_SAMPLES:
        raise ValueError(f"losses have shape {losses.shape}: expected a vector of 1 to 2^31 - 1 numbers")
    _check_finite("losses", losses)
    if losses.min() < 0:
        i = int(losses.argmin())
        raise ValueError(f"losses[{i}] is {losses[i]}: expected a number of at least 0")
    # No sum of losses over pairs may overflow.
    largest = np.finfo(np.float64).max / float(losses.size) ** 2
    if losses.max() > largest:
        i = int(losses.argmax())
        raise ValueError(
            f"losses[{i}] is {losses[i]}: expected at most {largest:.3g} for {losses.size} samples"
        )
    return losses


def check_scores(scores: ArrayLike, shape: tuple[int, ...]) -> Vector:
    """Return the scores as a contiguous vector of the shape of the losses, or raise a ValueError."""
    scores = np.ascontiguousarray(real_array(scores, "scores"))
    if scores.shape != shape:
        raise ValueError(f"scores have shape {scores.shape}: expected {shape}, as the losses")
    _check_finite("scores", scores)
    return scores


def _check_finite(name: str, values: Vector) -> None:
    if not np.isfinite(values).all():
        i = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"{name}[{i}] is {values[i]}: expected a finite number")


def _check_groups(
    groups: ArrayLike | None, n: int
) -> tuple[NDArray, NDArray[np.int32] | None, NDArray[np.int64]]:
    """Return labels, the group number of each sample (None for one group), and sizes of the groups."""
    if groups is None:
        return np.zeros(1), None, np.array([n])
    groups = np.asarray(groups)
    if groups.shape != (n,):
        raise ValueError(f"groups have shape {groups.shape}: expected ({n},), one per loss")
    if groups.dtype.kind == "f":
        _check_finite("groups", groups)
    labels, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    return labels, None if labels.size == 1 else group.astype(np.int32), sizes


def _check_threshold(graph: str, threshold: ArrayLike | None, labels: NDArray) -> Vector:
    """Return one threshold per group, none for the complete graph."""
    check_choice("graph", graph, GRAPHS)
    if graph == "complete":
        if threshold is not None:
            raise ValueError(f"threshold is {threshold!r}: expected None with the complete graph")
        return np.empty(0)
    if threshold is None:
        raise ValueError("threshold is None: expected a loss that divides the bipartite graph")
    thresholds = real_array(threshold, "threshold")
    if thresholds.shape not in ((), labels.shape) or np.isnan(thresholds).any():
        raise ValueError(f"threshold is {threshold!r}: expected a number, or one per group, {labels.size}")
    return np.broadcast_to(thresholds, labels.shape).copy()


def _count_edges(first: NDArray[np.int32], group_first: NDArray[np.int64]) -> int:
    """Return the number of pairs of samples of different rank within a group."""
    edges = 0
    for low, high in pairwise(group_first):
        sizes = np.diff(first[low : high + 1].astype(np.int64))
        edges += (int(sizes.sum()) ** 2 - int(np.sum(sizes**2))) // 2
    return edges


def _find_roots(group_first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return base, number of ranks and depth of the node of each group with a pair."""
    ranks = np.diff(group_first)
    chosen = ranks > 1
    depths = [int(count - 1).bit_length() for count in ranks[chosen]]
    return np.array([group_first[:-1][chosen], ranks[chosen], depths], dtype=np.int64).reshape(3, -1)
