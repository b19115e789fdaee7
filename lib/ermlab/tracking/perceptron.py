"""The structured perceptron for tracking with full or partial annotations (cheap-data, 1.3.5 and 1.4.2).

If the best assignment contradicts the annotation, the weights move from its features to those of the best
assignment that agrees (Collins 2002; Fernandes and Brefeld 2011), with a full annotation the true one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.parallel import map_in_threads
from ermlab.tracking.assignment import EVENTS, Assigner, check_events
from ermlab.tracking.task import check_annotations, missed_share

Vector = NDArray[np.float64]
#: Kinds of events that take a single cell.
_ALONE = [number for number, taken in enumerate(EVENTS.values()) if sum(taken) == 1]


@dataclass
class PerceptronHistory:
    """One entry per pass; ``loss`` has the initial loss first."""

    loss: list[float] = field(default_factory=list)
    updates: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class PerceptronResult:
    """Result of `train_perceptron`: the weights with the smallest ``loss``, ``converged`` if that is 0."""

    w: Vector
    loss: float
    converged: bool
    n_iter: int
    history: PerceptronHistory


def perceptron_step(w: Vector, sample: Assigner, events: ArrayLike) -> Vector:
    """Return ``Phi(x, y*) - Phi(x, y)``: ``y`` is the best assignment, ``y*`` the best that has the events.

    The step is zero if ``y`` has the events.
    """
    scores, events = _scores(w, sample), check_events(events, len(sample.hypotheses))
    y = sample.best(scores)
    if y[events].all():
        return np.zeros(sample.hypotheses.dimension)
    agreeing = sample.best(scores, including=events)
    return sample.hypotheses.joint_feature(agreeing) - sample.hypotheses.joint_feature(y)


def perceptron_pass(
    w: ArrayLike, samples: Sequence[Assigner], annotations: Sequence[ArrayLike]
) -> tuple[Vector, Vector, int]:
    """Update the weights with one sample after the other (cheap-data, Algorithm 1.2, lines 8 to 11).

    Return the weights after the last sample, their sum over all samples, and the number of samples that
    changed them.
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
    n_jobs: int | None = None,
) -> PerceptronResult:
    """Train until the loss on the samples is zero or no longer decreases; return the best weights.

    Parameters
    ----------
    samples : sequence of Assigner
        Assigners of pairs of frames.
    annotations : sequence of array-like of int
        Indices of the known events of each pair.
    w0 : array-like, optional
        Initial weights, by default 0.
    averaged : bool, default=False
        Whether to use the mean of the weights after each sample, which varies less.
    patience : int, default=5
        Number of passes without a smaller loss after which to stop.
    max_iter : int, default=100
        Largest number of passes.
    n_jobs : int, optional
        Number of threads for the loss; the result does not depend on it.
    """
    annotations = check_annotations(samples, annotations)
    if min(patience, max_iter) < 1:
        raise ValueError(f"patience is {patience} and max_iter {max_iter}: expected at least 1")
    dimension = samples[0].hypotheses.dimension
    w = np.zeros(dimension) if w0 is None else np.array(w0, dtype=np.float64)
    best, total = w, np.zeros(dimension)
    history = PerceptronHistory(loss=[annotated_loss(w, samples, annotations, n_jobs)])
    while min(history.loss) > 0 and len(history.updates) < max_iter and _improves(history.loss, patience):
        w, summed, updates = perceptron_pass(w, samples, annotations)
        total += summed
        passes = len(history.updates) + 1
        judged = total / (passes * len(samples)) if averaged else w
        loss = annotated_loss(judged, samples, annotations, n_jobs)
        if loss < min(history.loss):
            best = judged
        history.loss.append(loss)
        history.updates.append(updates)
    return PerceptronResult(best, min(history.loss), min(history.loss) == 0, len(history.updates), history)


def annotated_loss(
    w: ArrayLike, samples: Sequence[Assigner], annotations: Sequence[ArrayLike], n_jobs: int | None = None
) -> float:
    """Return the share of annotated events that the best assignment misses, averaged over the samples."""

    def loss(i: int) -> float:
        y = samples[i].best(_scores(w, samples[i]))
        return missed_share(check_events(annotations[i], len(samples[i].hypotheses)), y)

    return float(np.mean(map_in_threads(loss, range(len(samples)), n_jobs)))


def _scores(w: ArrayLike, sample: Assigner) -> Vector:
    """Return the scores of the events; with zero weights, those that prefer appearances and disappearances.

    If all scores were 0, any assignment would be best, and the search might happen to return the true one.
    """
    w = np.asarray(w, dtype=np.float64)
    return sample.hypotheses.scores(w) if w.any() else np.isin(sample.hypotheses.kind, _ALONE).astype(float)


def _improves(losses: list[float], patience: int) -> bool:
    """Return whether the smallest loss is less than ``patience`` passes old."""
    return len(losses) - 1 - int(np.argmin(losses)) < patience
