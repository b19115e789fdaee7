"""Choice of the regularization strength of a tracker by cross-validation over stretches of time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ermlab.optimize import L2, Planes
from ermlab.tracking.films import FramePair
from ermlab.tracking.training import average_loss, train_tracker


@dataclass(frozen=True)
class AlphaChoice:
    """The strength ``alpha`` with the smallest loss on held-out pairs, and the ``losses`` of all."""

    alpha: float
    losses: dict[float, float]

    @property
    def inside(self) -> bool:
        """Whether a smaller and a larger value were tried, too."""
        return min(self.losses) < self.alpha < max(self.losses)


def hold_out(pairs: Sequence[FramePair], n_splits: int) -> Iterator[tuple[list[FramePair], list[FramePair]]]:
    """Yield training pairs and held-out pairs, a stretch of successive frames, for each of the stretches."""
    if not 2 <= n_splits <= len(pairs):
        raise ValueError(f"n_splits is {n_splits}: expected 2 to {len(pairs)}, the number of pairs")
    for stretch in np.array_split(np.arange(len(pairs)), n_splits):
        held_out = set(stretch.tolist())
        yield [pair for i, pair in enumerate(pairs) if i not in held_out], [pairs[i] for i in stretch]


def choose_alpha(
    pairs: Sequence[FramePair],
    alphas: Sequence[float],
    *,
    n_splits: int = 3,
    max_extensions: int = 0,
    tol: float = 1e-2,
    n_jobs: int | None = None,
) -> AlphaChoice:
    """Choose the strength of L2 regularization that misses the fewest events of held-out pairs.

    Of equally good values the largest is chosen.

    Parameters
    ----------
    pairs : sequence of FramePair
        Pairs of frames, or patches of them; those without a known event are ignored.
    alphas : sequence of float
        Values to try.
    n_splits : int, default=3
        Number of stretches of time, each of which is held out once.
    max_extensions : int, default=0
        Number of values that may be added to ``alphas``, as in `search_alpha`.
    tol, n_jobs
        As in `train_tracker`.
    """
    known = sorted((pair for pair in pairs if len(pair.annotation.events)), key=lambda pair: pair.frame)
    folds = list(hold_out(known, n_splits))
    planes: list[Planes | None] = [None] * len(folds)

    def loss(alpha: float) -> float:
        missed = 0.0
        for fold, (rest, held_out) in enumerate(folds):
            trained = train_tracker(rest, L2(alpha), tol=tol, planes=planes[fold], n_jobs=n_jobs)
            planes[fold] = trained.planes
            missed += average_loss(trained.w, held_out, n_jobs) * _n_events(held_out)
        return missed / _n_events(known)

    return search_alpha(loss, alphas, max_extensions=max_extensions)


def search_alpha(
    loss: Callable[[float], float], alphas: Sequence[float], *, max_extensions: int = 0
) -> AlphaChoice:
    """Choose the strength with the smallest loss, the largest of equally good ones.

    While the choice is the smallest or the largest value, the next one beyond it is tried, too.

    Parameters
    ----------
    loss : callable
        Return the loss of a strength; called from the largest to the smallest value, then beyond the ends.
    alphas : sequence of float
        Values to try.
    max_extensions : int, default=0
        Number of values that may be added. The grid goes on as at that end, by decades if it has one value.
    """
    if not len(alphas):
        raise ValueError("alphas is empty: expected at least 1 value")
    grid = sorted(set(map(float, alphas)), reverse=True)
    losses = {alpha: loss(alpha) for alpha in grid}
    for _ in range(max_extensions):
        choice = _smallest(losses)
        if choice.inside:
            break
        beyond, inner = (grid[-1], grid[-2:][0]) if choice.alpha == grid[-1] else (grid[0], grid[:2][-1])
        ratio = beyond / inner if len(grid) > 1 else 0.1
        added = float(f"{beyond * ratio:.6g}")
        losses[added] = loss(added)
        grid = sorted(losses, reverse=True)
    return _smallest(losses)


def _smallest(losses: dict[float, float]) -> AlphaChoice:
    losses = dict(sorted(losses.items(), reverse=True))
    return AlphaChoice(min(losses, key=losses.__getitem__), losses)


def _n_events(pairs: Sequence[FramePair]) -> int:
    return sum(len(pair.annotation.events) + len(pair.annotation.lost) for pair in pairs)
