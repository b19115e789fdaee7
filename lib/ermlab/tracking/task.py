"""Structured learning of cell tracking from full and partial annotations (cheap-data, sections 1.2 and 1.3).

A sample is the `Assigner` of a pair of frames; its output is an assignment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.parallel import map_in_threads
from ermlab.optimize.parts import MeanInParts
from ermlab.tracking.assignment import Assigner, Assignment, check_events

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]


class TrackingTask:
    """Tracking by assignment as an `ermlab.structured.Task`.

    The loss is the share of the true events that an assignment misses. It is linear in the assignment, so
    that the most violated assignment is found in the same way as the best one.

    Parameters
    ----------
    dimension : int
        Length of the weight vector, `Hypotheses.dimension`.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    """

    def __init__(self, dimension: int, n_jobs: int | None = None):
        self.dimension, self.n_jobs = dimension, n_jobs

    def joint_feature(self, x: Assigner, y: Assignment) -> Vector:
        """Return the sum of the features of the events."""
        return x.hypotheses.joint_feature(y)

    def loss(self, y: Assignment, z: Assignment) -> float:
        """Return the share of the events of ``y`` that ``z`` lacks; 0 if ``y`` has none."""
        return missed_share(np.flatnonzero(y), z)

    def predict(self, w: Vector, x: Assigner) -> Assignment:
        """Return the best assignment (cheap-data, eq. 1.1)."""
        return x.best(x.hypotheses.scores(w))

    def most_violated(self, w: Vector, x: Assigner, y: Assignment, rescaling: str) -> Assignment:
        """Return the assignment with the largest sum of loss and score."""
        if rescaling != "margin":
            raise ValueError(f"rescaling is {rescaling!r}: expected 'margin', which keeps the problem linear")
        return x.best(augmented(x.hypotheses.scores(w), np.flatnonzero(y))[0])

    def prepare_batch(
        self, X: Sequence[Assigner], Y: Sequence[ArrayLike]
    ) -> tuple[list[Assigner], list[Assignment]]:
        """Return the samples and outputs as lists, after a check that each output is an assignment."""
        X, Y = list(X), [np.asarray(y, dtype=bool) for y in Y]
        for i, (x, y) in enumerate(zip(X, Y, strict=True)):
            if y.shape != (len(x.hypotheses),) or not x.hypotheses.is_assignment(y):
                raise ValueError(f"output {i} is no assignment: expected one fate or past for each cell")
        return X, Y

    def batch_risk(
        self, w: Vector, X: list[Assigner], Y: list[Assignment], rescaling: str
    ) -> tuple[float, Vector]:
        """Return the mean hinge loss and a subgradient."""

        def hinge(i: int) -> tuple[float, Vector]:
            z = self.most_violated(w, X[i], Y[i], rescaling)
            slope = self.joint_feature(X[i], z) - self.joint_feature(X[i], Y[i])
            value = self.loss(Y[i], z) + float(np.sum(slope * w))
            return (value, slope) if value > 0 else (0.0, np.zeros(self.dimension))

        values, slopes = zip(*map_in_threads(hinge, range(len(X)), self.n_jobs), strict=True)
        return float(np.mean(values)), np.mean(slopes, axis=0)

    def batch_predict(self, w: Vector, X: Sequence[Assigner]) -> list[Assignment]:
        """Return the best assignment of each pair of frames."""
        return map_in_threads(lambda x: self.predict(w, x), list(X), self.n_jobs)


def check_annotations(samples: Sequence[Assigner], annotations: Sequence[ArrayLike]) -> list[Numbers]:
    """Return the indices of the known events of each sample, or raise a ValueError."""
    if len(samples) != len(annotations) or not len(samples):
        raise ValueError(
            f"{len(samples)} samples and {len(annotations)} annotations: expected the same number, at least 1"
        )
    return [check_events(events, len(x.hypotheses)) for x, events in zip(samples, annotations, strict=True)]


def missed_share(events: Numbers, z: Assignment) -> float:
    """Return the share of the events that an assignment lacks; 0 if there are none."""
    return float(np.mean(~np.asarray(z)[events])) if len(events) else 0.0


def augmented(scores: Vector, events: Numbers) -> tuple[Vector, float]:
    """Return scores and a constant that sum to the score of an assignment plus the share that it misses."""
    if not len(events):
        return scores, 0.0
    scores = scores.copy()
    scores[events] -= 1.0 / len(events)
    return scores, 1.0


class PartialTrackingRisk:
    """The mean bridge loss of partially annotated pairs of frames, ``P - R`` (cheap-data, eq. 1.5).

    For each pair, ``p`` is the best score of an assignment that contradicts the annotation, plus the share of
    annotated events that it misses, and ``r`` the best score of one that agrees. With
    ``|p - r|_+ = max(p, r) - r``, ``P`` is the mean of ``max(p, r)``, which is convex.

    Parameters
    ----------
    samples : sequence of Assigner
        Assigners of the pairs.
    annotations : sequence of array-like of int
        Indices of the known events of each pair, at least one.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    """

    def __init__(
        self, samples: Sequence[Assigner], annotations: Sequence[ArrayLike], n_jobs: int | None = None
    ):
        self._samples, self._events = list(samples), check_annotations(samples, annotations)
        if empty := [i for i, events in enumerate(self._events) if not len(events)]:
            raise ValueError(f"sample {empty[0]} has no annotated event: expected at least one")
        self._n_jobs = n_jobs
        self.dimension = self._samples[0].hypotheses.dimension

    def __len__(self) -> int:
        return len(self._samples)

    def __call__(self, w: Vector) -> float:
        """Return the risk at ``w``."""
        return self.convex_part(w)[0] - self.reward(w)[0]

    def convex_part(self, w: Vector) -> tuple[float, Vector]:
        """Return the mean of ``max(p, r)`` at ``w`` and a subgradient."""
        return self._mean(self._larger, w)

    def reward(self, w: Vector) -> tuple[float, Vector]:
        """Return the mean of ``r`` at ``w``, which is subtracted, and a subgradient."""
        return self._mean(self._agreeing, w)

    def in_parts(self, n_parts: int) -> tuple[MeanInParts, MeanInParts]:
        """Return both functions as sums of parts, with which `ermlab.optimize.cccp` needs fewer calls."""
        return tuple(
            MeanInParts(part, len(self), self.dimension, n_parts, self._n_jobs)
            for part in (self._larger, self._agreeing)
        )

    def _mean(self, part: Callable[[int, Vector], tuple[float, Vector]], w: Vector) -> tuple[float, Vector]:
        w = np.asarray(w, dtype=np.float64)
        found = map_in_threads(lambda i: part(i, w), range(len(self)), self._n_jobs)
        values, slopes = zip(*found, strict=True)
        return float(np.mean(values)), np.mean(slopes, axis=0)

    def _agreeing(self, i: int, w: Vector) -> tuple[float, Vector]:
        sample, events = self._samples[i], self._events[i]
        scores = sample.hypotheses.scores(w)
        y = sample.best(scores, including=events)
        return float(scores[y].sum()), sample.hypotheses.joint_feature(y)

    def _larger(self, i: int, w: Vector) -> tuple[float, Vector]:
        # An assignment that agrees has no loss, so max(p, r) is the best augmented score of all.
        sample = self._samples[i]
        scores, constant = augmented(sample.hypotheses.scores(w), self._events[i])
        y = sample.best(scores)
        return float(scores[y].sum()) + constant, sample.hypotheses.joint_feature(y)
