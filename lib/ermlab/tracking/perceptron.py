"""The structured perceptron for tracking, from full or partial annotations (cheap-data, 1.3.5 and 1.4.2).

Where the best assignment contradicts what is known, the weights move from it towards the best assignment that
agrees (Collins 2002; Fernandes and Brefeld 2011). A full annotation leaves one that agrees: the true one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.parallel import map_in_threads
from ermlab.tracking.assignment import EVENTS, Assigner
from ermlab.tracking.task import event_numbers, missed_share

Vector = NDArray[np.float64]
#: Kinds of events that take one cell.
_ALONE = [number for number, taken in enumerate(EVENTS.values()) if sum(taken) == 1]


@dataclass
class PerceptronHistory:
    """One entry a pass; ``loss`` begins with the start."""

    loss: list[float] = field(default_factory=list)
    updates: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class PerceptronResult:
    """What `train_perceptron` found: the weights with the least ``loss``, and whether that is zero."""

    w: Vector
    loss: float
    converged: bool
    n_iter: int
    history: PerceptronHistory


def perceptron_step(w: Vector, sample: Assigner, events: ArrayLike) -> Vector:
    """Return ``Phi(x, y*) - Phi(x, y)``: ``y`` the best assignment, ``y*`` the best that has the events.

    Zero if ``y`` has them itself.
    """
    scores, events = _scores(w, sample), event_numbers(events, len(sample.hypotheses))
    y = sample.best(scores)
    if y[events].all():
        return np.zeros(sample.hypotheses.dimension)
    agreeing = sample.best(scores, including=events)
    return sample.hypotheses.joint_feature(agreeing) - sample.hypotheses.joint_feature(y)


def perceptron_pass(
    w: ArrayLike, samples: Sequence[Assigner], annotations: Sequence[ArrayLike]
) -> tuple[Vector, Vector, int]:
    """Go once through the samples, one after the other (cheap-data, Algorithm 1.2, lines 8 to 11).

    Return the weights after the last sample, their sum over all samples, and how many samples changed them.

    Parameters
    ----------
    samples
        Assigners of pairs of frames.
    annotations
        The events that are known of each.
    """
    w = np.array(w, dtype=np.float64)
    total, updates = np.zeros_like(w), 0
    for sample, events in zip(samples, annotations, strict=True):
        step = perceptron_step(w, sample, events)
        w += step
        total += w
        updates += bool(step.any())
    return w, total, updates


def train_perceptron(
    samples: Sequence[Assigner],
    annotations: Sequence[ArrayLike],
    *,
    w0: ArrayLike | None = None,
    averaged: bool = False,
    patience: int = 5,
    max_iter: int = 100,
    n_threads: int | None = None,
) -> PerceptronResult:
    """Train until the task loss on the samples is zero or no longer falls; keep the best weights.

    Parameters
    ----------
    samples, annotations
        As in `perceptron_pass`.
    w0
        Where to start, by default 0.
    averaged
        Judge and return the mean of the weights after each sample so far, which varies less.
    patience
        Passes without a smaller loss after which to stop.
    max_iter
        Limit on the passes.
    n_threads
        Pairs that are assigned side by side when the loss is taken; the result does not depend on it.
    """
    if len(samples) != len(annotations) or not len(samples):
        raise ValueError(
            f"{len(samples)} samples and {len(annotations)} annotations: expected as many, at least 1"
        )
    if min(patience, max_iter) < 1:
        raise ValueError(f"patience is {patience} and max_iter {max_iter}: expected at least 1")
    dimension = samples[0].hypotheses.dimension
    w = np.zeros(dimension) if w0 is None else np.array(w0, dtype=np.float64)
    best, total = w, np.zeros(dimension)
    history = PerceptronHistory(loss=[annotated_loss(w, samples, annotations, n_threads)])
    while min(history.loss) > 0 and len(history.updates) < max_iter and _improves(history.loss, patience):
        w, summed, updates = perceptron_pass(w, samples, annotations)
        total += summed
        passes = len(history.updates) + 1
        judged = total / (passes * len(samples)) if averaged else w
        loss = annotated_loss(judged, samples, annotations, n_threads)
        if loss < min(history.loss):
            best = judged
        history.loss.append(loss)
        history.updates.append(updates)
    return PerceptronResult(best, min(history.loss), min(history.loss) == 0, len(history.updates), history)


def annotated_loss(
    w: ArrayLike, samples: Sequence[Assigner], annotations: Sequence[ArrayLike], n_threads: int | None = None
) -> float:
    """Return the share of the annotated events that the best assignment misses, averaged over the samples."""

    def loss(i: int) -> float:
        y = samples[i].best(_scores(w, samples[i]))
        return missed_share(event_numbers(annotations[i], len(samples[i].hypotheses)), y)

    return float(np.mean(map_in_threads(loss, range(len(samples)), n_threads)))


def _scores(w: ArrayLike, sample: Assigner) -> Vector:
    """Return the scores of the events; without weights, cells that come and go are best.

    Were all scores 0, any assignment would be best, and the one that is found might well be the truth.
    """
    w = np.asarray(w, dtype=np.float64)
    return sample.hypotheses.scores(w) if w.any() else np.isin(sample.hypotheses.kind, _ALONE).astype(float)


def _improves(losses: list[float], patience: int) -> bool:
    """Return whether the least loss so far is at most so many passes old."""
    return len(losses) - 1 - int(np.argmin(losses)) < patience
