"""How strongly to regularise a tracker, decided on the pairs of frames that it is trained on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ermlab.optimize import L2
from ermlab.tracking.films import FramePair
from ermlab.tracking.training import average_loss, train_tracker


@dataclass(frozen=True)
class AlphaChoice:
    """The strength with the least loss on held out pairs, and the loss of each."""

    alpha: float
    losses: dict[float, float]

    @property
    def inside(self) -> bool:
        """Whether both a weaker and a stronger one were tried."""
        return min(self.losses) < self.alpha < max(self.losses)


def hold_out(pairs: Sequence[FramePair], n_splits: int) -> Iterator[tuple[list[FramePair], list[FramePair]]]:
    """Yield pairs to learn from and a stretch of successive ones that is held out, for each stretch."""
    if not 2 <= n_splits <= len(pairs):
        raise ValueError(f"n_splits is {n_splits}: expected 2 to {len(pairs)}, the number of pairs")
    for stretch in np.array_split(np.arange(len(pairs)), n_splits):
        held_out = set(stretch.tolist())
        yield (
            [pair for i, pair in enumerate(pairs) if i not in held_out],
            [pairs[i] for i in stretch],
        )


def choose_alpha(
    pairs: Sequence[FramePair],
    alphas: Sequence[float],
    *,
    n_splits: int = 3,
    tol: float = 1e-2,
    n_threads: int | None = None,
) -> AlphaChoice:
    """Return the strength of the L2 regulariser that misses the fewest events of pairs left out of training.

    Of equally good ones the strongest.

    Parameters
    ----------
    pairs
        Pairs of frames, or patches of them; those without a known event are left out.
    alphas
        Values of lambda to try.
    n_splits
        Stretches of time, each of which is left out once.
    tol, n_threads
        As in `train_tracker`.
    """
    if not len(alphas):
        raise ValueError("no alphas: expected at least 1")
    known = sorted((pair for pair in pairs if len(pair.annotation.events)), key=lambda pair: pair.frame)
    alphas = sorted(map(float, alphas), reverse=True)
    missed = dict.fromkeys(alphas, 0.0)
    for rest, held_out in hold_out(known, n_splits):
        planes = None
        for alpha in alphas:
            trained = train_tracker(rest, L2(alpha), tol=tol, planes=planes, n_threads=n_threads)
            planes = trained.planes
            missed[alpha] += average_loss(trained.w, held_out, n_threads) * _n_events(held_out)
    losses = {alpha: missed_here / _n_events(known) for alpha, missed_here in missed.items()}
    return AlphaChoice(min(losses, key=losses.__getitem__), losses)


def _n_events(pairs: Sequence[FramePair]) -> int:
    return sum(len(pair.annotation.events) + len(pair.annotation.lost) for pair in pairs)
