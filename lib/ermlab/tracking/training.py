"""Training of trackers on annotated pairs of frames, and the share of events that they miss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.parallel import map_in_threads
from ermlab.optimize import L1, L2, CCCPResult, MeanInParts, Planes, Result, cccp, minimize
from ermlab.structured.risk import StructuredRisk
from ermlab.tracking.assignment import Assignment, check_events
from ermlab.tracking.events import guessed_weights
from ermlab.tracking.films import FramePair
from ermlab.tracking.task import PartialTrackingRisk, TrackingTask

Vector = NDArray[np.float64]
#: Relative gap of the first inner minimization of CCCP (cheap-data, Algorithm 1.1).
_FIRST_PRECISION = 0.5
#: Factor of the guessed weights to start from: the learned score of an event is about its share of the loss.
_START = 0.1
#: Number of planes per call with L2, each a bound of the loss of some pairs: they save most of the calls.
_PARTS = 20


def train_tracker(
    pairs: Sequence[FramePair],
    regularizer: L1 | L2,
    *,
    annotations: Sequence[ArrayLike] | None = None,
    tol: float = 1e-2,
    w0: ArrayLike | None = None,
    planes: Planes | None = None,
    n_jobs: int | None = None,
    max_time: float | None = None,
) -> Result | CCCPResult:
    """Learn the weights of the features of events.

    If all events of all pairs are known, the mean hinge loss is minimized (cheap-data, eq. 1.4); otherwise
    the mean bridge loss of the known events (eq. 1.5), without the pairs that have none.

    Parameters
    ----------
    pairs : sequence of FramePair
        Pairs of frames, at least one.
    regularizer : L1 or L2
        The norm and its strength.
    annotations : sequence of array-like of int, optional
        Indices of the known events of each pair, by default all true ones.
    tol : float, default=1e-2
        Relative gap of the minimization, for the bridge loss that of the last steps; also the relative
        progress below which CCCP ends.
    w0 : array-like, optional
        Initial weights, by default `initial_weights`. With zeros the first searches would prefer merges and
        splits, which takes a hundred times as long.
    planes : Planes, optional
        Planes of an earlier result for the same pairs, annotations and norm with another strength; they save
        most of the work.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    max_time : float, optional
        Limit in seconds, checked before each pass over the pairs; ``converged`` is false if it was reached.

    Returns
    -------
    Result or CCCPResult
        The weights ``w`` and the certificate of the solver.
    """
    if not len(pairs):
        raise ValueError("no pairs of frames: expected at least 1")
    w0 = initial_weights() if w0 is None else w0
    in_parts = isinstance(regularizer, L2)
    if all(_is_complete(pair, events) for pair, events in _annotated(pairs, annotations)):
        hinge = full_risk(pairs, n_jobs, annotations)
        hinge = _in_parts(hinge, n_jobs) if in_parts else hinge
        return minimize(hinge, regularizer, tol=tol, w0=w0, planes=planes, max_time=max_time)
    risk = partial_risk(pairs, annotations, n_jobs)
    convex, reward = risk.in_parts(_PARTS) if in_parts else (risk.convex_part, risk.reward)
    return cccp(
        convex,
        reward,
        regularizer,
        w0=w0,
        planes=planes,
        eps=max(_FIRST_PRECISION, tol),
        eps_min=tol,
        eta=tol,
        max_time=max_time,
    )


def full_risk(
    pairs: Sequence[FramePair], n_jobs: int | None = None, annotations: Sequence[ArrayLike] | None = None
) -> StructuredRisk:
    """Return the mean hinge loss of completely annotated pairs."""
    task = TrackingTask(pairs[0].hypotheses.dimension, n_jobs)
    truths = [_chosen(pair, events) for pair, events in _annotated(pairs, annotations)]
    return StructuredRisk(task, [pair.assigner for pair in pairs], truths)


def partial_risk(
    pairs: Sequence[FramePair], annotations: Sequence[ArrayLike] | None = None, n_jobs: int | None = None
) -> PartialTrackingRisk:
    """Return the mean bridge loss of the pairs with a known event."""
    known = [(pair.assigner, events) for pair, events in _annotated(pairs, annotations) if len(events)]
    if not known:
        raise ValueError(f"no event of {len(pairs)} pairs of frames is annotated: expected at least 1")
    return PartialTrackingRisk(*zip(*known, strict=True), n_jobs)


def _annotated(
    pairs: Sequence[FramePair], annotations: Sequence[ArrayLike] | None
) -> list[tuple[FramePair, NDArray[np.int64]]]:
    """Return each pair with its known events."""
    if annotations is None:
        annotations = [pair.annotation.events for pair in pairs]
    return [
        (pair, check_events(events, len(pair.hypotheses)))
        for pair, events in zip(pairs, annotations, strict=True)
    ]


def _is_complete(pair: FramePair, events: ArrayLike) -> bool:
    return pair.hypotheses.is_assignment(_chosen(pair, events))


def _chosen(pair: FramePair, events: ArrayLike) -> Assignment:
    return np.isin(np.arange(len(pair.hypotheses)), events)


def _in_parts(risk: StructuredRisk, n_jobs: int | None) -> MeanInParts:
    def hinge(i: int, w: Vector) -> tuple[float, Vector]:
        a, b = risk.plane(i, w)
        return b + float(np.sum(a * w)), a

    return MeanInParts(hinge, len(risk), risk.dimension, _PARTS, n_jobs)


def average_loss(w: Vector, pairs: Sequence[FramePair], n_jobs: int | None = None) -> float:
    """Return the share of the known true events of all pairs that the best assignments miss.

    True events that are no candidate count as missed.
    """
    missed = map_in_threads(lambda pair: _missed(w, pair), list(pairs), n_jobs)
    events = sum(len(pair.annotation.events) + len(pair.annotation.lost) for pair in pairs)
    if not events:
        raise ValueError(f"no event of {len(pairs)} pairs of frames is known: expected at least 1")
    return sum(missed) / events


def _missed(w: Vector, pair: FramePair) -> int:
    found = pair.assigner.best(pair.hypotheses.scores(w))
    return int((~found[pair.annotation.events]).sum()) + len(pair.annotation.lost)


def initial_weights() -> Vector:
    """Return the default start of training, a tenth of `guessed_weights`."""
    return _START * guessed_weights()
