"""Choice of the regularization strength of a tracker by cross-validation over stretches of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ermlab.optimize import L2
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
    tol, n_jobs
        As in `train_tracker`.
    """
    if not len(alphas):
        raise ValueError("alphas is empty: expected at least 1 value")
    known = sorted((pair for pair in pairs if len(pair.annotation.events)), key=lambda pair: pair.frame)
    alphas = sorted(map(float, alphas), reverse=True)
    missed = dict.fromkeys(alphas, 0.0)
    for rest, held_out in hold_out(known, n_splits):
        planes = None
        for alpha in alphas:
            trained = train_tracker(rest, L2(alpha), tol=tol, planes=planes, n_jobs=n_jobs)
            planes = trained.planes
            missed[alpha] += average_loss(trained.w, held_out, n_jobs) * _n_events(held_out)
    losses = {alpha: missed_here / _n_events(known) for alpha, missed_here in missed.items()}
    return AlphaChoice(min(losses, key=losses.__getitem__), losses)


def _n_events(pairs: Sequence[FramePair]) -> int:
    return sum(len(pair.annotation.events) + len(pair.annotation.lost) for pair in pairs)
