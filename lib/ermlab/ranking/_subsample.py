"""Subsamples of a ranking problem whose risk resembles that of all samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

# Whole groups are drawn if a fraction of each would have fewer samples than this.
ROWS_OF_A_GROUP = 50


@dataclass(frozen=True)
class Subsample:
    """Rows of a ranking problem, with their losses, groups and thresholds."""

    rows: NDArray[np.int64]
    losses: NDArray[np.float64]
    groups: NDArray | None
    threshold: ArrayLike | None


def draw_subsample(
    losses: NDArray[np.float64],
    size: int,
    rng: np.random.Generator,
    *,
    threshold: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> Subsample | None:
    """Draw about ``size`` of the samples; return None if there is no pair to rank among them.

    All pairs have the same probability, so that the expectation of their mean does not change. A few large
    groups are subsampled, both sides of a threshold to the same size; of many small groups a subset is drawn.
    """
    group, n_groups = np.zeros(1, dtype=np.int64), 1  # of all samples
    if groups is not None:
        group = np.unique(groups, return_inverse=True)[1]
        n_groups = int(group.max()) + 1
    side, limits = None, None
    if threshold is not None:
        limits = np.broadcast_to(np.asarray(threshold, dtype=np.float64), n_groups)
        side = (losses > limits[group]).astype(np.int8)
    elif _are_two(losses):
        side = (losses > losses.min()).astype(np.int8)
    if groups is not None and size < ROWS_OF_A_GROUP * n_groups:
        chosen = rng.random(n_groups) < size / len(losses)
        rows = np.flatnonzero(chosen[group])
    else:
        rows = _thin_out(len(losses), side, size, rng)
    ranked = losses[rows] if side is None else side[rows]
    if groups is None:
        return Subsample(rows, losses[rows], None, threshold) if _any_differ(ranked) else None
    if not _any_differ(ranked, group[rows]):
        return None
    limits = None if limits is None else limits[np.unique(group[rows])]
    return Subsample(rows, losses[rows], np.asarray(groups)[rows], limits)


def _thin_out(
    n: int, side: NDArray[np.int8] | None, size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return about ``size`` of ``n`` rows, half of them from each side."""
    draws = rng.random(n, dtype=np.float32)
    if side is None:
        return np.flatnonzero(draws < size / n)
    counts = np.bincount(side, minlength=2)
    rates = (size / (2 * np.maximum(counts, 1))).astype(np.float32)
    return np.flatnonzero(draws < rates[side])


def _are_two(values: NDArray[np.float64]) -> bool:
    """Whether there are at most two different values, whose pairs form a bipartite graph."""
    return bool(((values == values.min()) | (values == values.max())).all())


def _any_differ(values: NDArray, group: NDArray[np.int64] | None = None) -> bool:
    """Whether two values differ, within a group if there are groups."""
    if values.size == 0:
        return False
    if group is None:
        return bool(values.min() < values.max())
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    values = values[order]
    return bool((np.minimum.reduceat(values, starts) < np.maximum.reduceat(values, starts)).any())
