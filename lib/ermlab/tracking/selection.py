"""How strongly to regularise a tracker, decided on the pairs of frames that it is trained on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ermlab.optimize import L2
from ermlab.tracking.films import FramePair
from ermlab.tracking.training import average_loss, train_tracker


@dataclass(frozen=True)
class StrengthChoice:
    """The strength with the least loss on held out pairs, and the loss of each."""

    strength: float
    losses: dict[float, float]

    @property
    def inside(self) -> bool:
        """Whether both a weaker and a stronger one were tried."""
        return min(self.losses) < self.strength < max(self.losses)


def hold_out(pairs: Sequence[FramePair], folds: int) -> Iterator[tuple[list[FramePair], list[FramePair]]]:
    """Yield pairs to learn from and a stretch of successive ones that is held out, for each stretch."""
    if not 2 <= folds <= len(pairs):
        raise ValueError(f"folds is {folds}: expected 2 to {len(pairs)}, the number of pairs")
    for stretch in np.array_split(np.arange(len(pairs)), folds):
        held_out = set(stretch.tolist())
        yield (
            [pair for i, pair in enumerate(pairs) if i not in held_out],
            [pairs[i] for i in stretch],
        )


def choose_strength(
    pairs: Sequence[FramePair],
    strengths: Sequence[float],
    *,
    folds: int = 3,
    tol: float = 1e-2,
    n_threads: int | None = None,
) -> StrengthChoice:
    """Return the strength of the L2 regulariser that misses the fewest events of pairs left out of training.

    Of equally good ones the strongest.

    Parameters
    ----------
    pairs
        Pairs of frames, or patches of them; those without a known event are left out.
    strengths
        Values of lambda to try.
    folds
        Stretches of time, each of which is left out once.
    tol, n_threads
        As in `train_tracker`.
    """
    if not len(strengths):
        raise ValueError("no strengths: expected at least 1")
    known = sorted((pair for pair in pairs if len(pair.annotation.events)), key=lambda pair: pair.frame)
    strengths = sorted(map(float, strengths), reverse=True)
    missed = dict.fromkeys(strengths, 0.0)
    for rest, held_out in hold_out(known, folds):
        planes = None
        for strength in strengths:
            trained = train_tracker(rest, L2(strength), tol=tol, planes=planes, n_threads=n_threads)
            planes = trained.planes
            missed[strength] += average_loss(trained.w, held_out, n_threads) * _n_events(held_out)
    losses = {strength: some / _n_events(known) for strength, some in missed.items()}
    return StrengthChoice(min(losses, key=losses.__getitem__), losses)


def _n_events(pairs: Sequence[FramePair]) -> int:
    return sum(len(pair.annotation.events) + len(pair.annotation.lost) for pair in pairs)
