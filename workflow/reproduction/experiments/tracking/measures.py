"""Errors of trackers: which events they miss and invent, and how sure a difference between two of them is."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.tracking.assignment import EVENTS, Assigner, Assignment
from ermlab.tracking.films import FramePair
from reproduction.experiments.tracking.enumeration import all_assignments, random_hypotheses
from reproduction.experiments.tracking.event_forest import judged_events

Vector = NDArray[np.float64]


def event_errors(pair: FramePair, y: Assignment) -> Iterator[dict[str, Any]]:
    """Yield for each kind of event how many are known, how many missed, how many wrong ones found.

    Wrong are those that contradict what is known. Events that gating lost count as known and missed.
    """
    true, false = judged_events(pair)
    for number, kind in enumerate(EVENTS):
        here = pair.hypotheses.kind == number
        lost = sum(event[0] == kind for event in pair.annotation.lost)
        yield {
            "frame": pair.frame,
            "kind": kind,
            "known": int((here & true).sum()) + lost,
            "missed": int((here & true & ~y).sum()) + lost,
            "false": int((here & false & y).sum()),
            "lost": lost,
        }


def average_losses(errors: pd.DataFrame) -> pd.Series:
    """Return the share of known events that each method misses, in percent."""
    sums = errors.groupby("method", sort=False)[["known", "missed"]].sum()
    return 100 * sums["missed"] / sums["known"]


def resampled_losses(errors: pd.DataFrame, n_blocks: int, draws: int, seed: int) -> pd.DataFrame:
    """Return losses in percent for draws of blocks of successive frames with replacement, (draws, methods).

    All methods are judged on the same draws, so that their differences are those of one film.

    Parameters
    ----------
    n_blocks
        Into how many blocks the film is cut, at most as many as there are pairs.
    """
    counts = {
        name: errors.pivot_table(index="frame", columns="method", values=name, aggfunc="sum", sort=False)
        for name in ("known", "missed")
    }
    frames = np.sort(counts["known"].index.to_numpy())
    blocks = np.array_split(frames, min(n_blocks, len(frames)))
    of_blocks = {
        name: np.array([table.loc[block].sum().to_numpy() for block in blocks])
        for name, table in counts.items()
    }
    chosen = np.random.default_rng(seed).integers(len(blocks), size=(draws, len(blocks)))
    known, missed = (of_blocks[name][chosen].sum(axis=1) for name in ("known", "missed"))
    return pd.DataFrame(100 * missed / np.maximum(known, 1), columns=counts["known"].columns)


def interval(values: Sequence[float] | Vector) -> list[float]:
    """Return the middle 95 % of some values."""
    return np.percentile(np.asarray(values, dtype=np.float64), [2.5, 97.5]).tolist()


def enumeration_difference(problems: int, largest: int, seed: int) -> dict[str, float]:
    """Compare the best assignments of small random pairs of frames with the enumeration of all of them.

    Parameters
    ----------
    problems
        Pairs of frames, with up to ``largest`` cells each.

    Returns
    -------
    dict
        The largest difference of scores, and how many assignments were enumerated.
    """
    rng = np.random.default_rng(seed)
    worst, total = 0.0, 0
    for _ in range(problems):
        m, n = rng.integers(largest + 1, size=2).tolist()
        hypotheses = random_hypotheses(rng, m, n, share=float(rng.choice([0.3, 1.0])))
        scores = rng.normal(size=len(hypotheses))
        every = all_assignments(hypotheses)
        found = Assigner(hypotheses).best(scores)
        difference = abs(float(scores[found].sum()) - max(float(scores[y].sum()) for y in every))
        worst = max(worst, difference if hypotheses.is_assignment(found) else np.inf)
        total += len(every)
    return {"enumeration_difference_max": worst, "enumerated_assignments": total}
