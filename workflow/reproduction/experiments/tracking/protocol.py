"""Trackers of Table 1.1 of the cheap-data chapter: what each is trained on, how it is tuned, what it finds.

All of them see the same detections and candidate events. What is tuned is tuned on the training pairs.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ermlab.optimize import L1, L2
from ermlab.tracking.assignment import Assignment
from ermlab.tracking.events import Gates
from ermlab.tracking.films import CellFilm, FramePair, frame_pairs, halves
from ermlab.tracking.selection import hold_out
from ermlab.tracking.tracks import Links, events_of, links_of
from ermlab.tracking.training import average_loss, train_tracker
from reproduction.experiments.tracking.event_forest import EventForest
from reproduction.experiments.tracking.hand_tuned import hand_tuned
from reproduction.experiments.tracking.lap_tracker import choose_reaches, lap_links
from reproduction.experiments.tracking.unlearned_trackers import graph_matching, max_flow

Vector = NDArray[np.float64]
METHODS = ("graph_matching", "max_flow", "hand_tuned", "random_forest", "l1", "l2")
#: A tracker that others have published, beside the six of the table.
PEER = "laptrack"
_REGULARIZERS = {"l2": L2, "l1": L1}


@dataclass(frozen=True)
class Study:
    """Pairs of frames to learn from and to test on."""

    laboratory: str  #: whose weights set by hand are taken
    training_film: CellFilm
    training: list[FramePair]
    test_film: CellFilm
    test: list[FramePair]


def study_of(films: Sequence[CellFilm], laboratory: str, most: int | None = None) -> Study:
    """Return the study of two films, one to learn from and one to test on, or of one that is cut in two.

    Of one film the first half of the pairs is learned from and the second tested on; the pair between is left
    out.

    Parameters
    ----------
    most
        Pairs of either part at most: the last of the training part, the first of the test part.
    """
    if len(films) not in (1, 2):
        raise ValueError(f"{len(films)} films: expected one to cut in two, or two to learn from and test on")
    training, test = halves(films[0]) if len(films) == 1 else (range(len(film) - 1) for film in films)
    if most is not None:
        training, test = training[-most:], test[:most]
    if not training or not test:
        raise ValueError(f"{len(training)} training and {len(test)} test pairs: expected at least 1 of each")
    learned, tested = films[0], films[-1]
    return Study(
        laboratory,
        learned,
        frame_pairs(learned, Gates(), training),
        tested,
        frame_pairs(tested, Gates(), test),
    )


@dataclass(frozen=True)
class Settings:
    """What trackers are tuned over, and how exactly the learned ones are trained."""

    lams: Mapping[str, Sequence[float]]  #: strengths of the regularisers l1 and l2
    min_leaves: Sequence[int]  #: of forests
    priors: Sequence[float]  #: shares of the log-odds of the frequencies
    reaches: Sequence[float]  #: of LapTrack, in sizes of a cell
    trees: int
    folds: int  #: stretches of the training pairs, each of which is held out once
    tol: float  #: relative gap
    seed: int


@dataclass(frozen=True)
class Tuning:
    """What parameters were chosen by: rows of method, parameter, fold, events and missed ones."""

    rows: list[dict[str, Any]]

    def best(self, method: str) -> Any:
        """Return the parameter with which fewest held-out events are missed, of equal ones the first."""
        missed: dict[Any, int] = {}
        for row in self.rows:
            if row["method"] == method:
                missed[row["parameter"]] = missed.get(row["parameter"], 0) + row["missed"]
        return min(missed, key=missed.__getitem__)


def tune(study: Study, settings: Settings, n_threads: int | None = None) -> Tuning:
    """Try all parameters of the learned trackers on held-out training pairs.

    Parameters are tried from the most to the least regularised, so that of equal ones the former is chosen.
    """
    rows = []
    for fold, (pairs, held_out) in enumerate(hold_out(study.training, settings.folds)):
        events = sum(len(pair.annotation.events) + len(pair.annotation.lost) for pair in held_out)
        common = {"fold": fold, "events": events}
        for method, lam, w in _path(pairs, settings, n_threads):
            missed = round(average_loss(w, held_out, n_threads) * events)
            rows.append({"method": method, "parameter": lam, **common, "missed": missed})
        for min_leaf in sorted(settings.min_leaves, reverse=True):
            forest = _forest(settings, min_leaf).fit(pairs)
            for prior in sorted(settings.priors):
                missed = sum(count_missed(pair, forest.predict(pair, prior)) for pair in held_out)
                rows.append(
                    {"method": "random_forest", "parameter": (min_leaf, prior), **common, "missed": missed}
                )
    return Tuning(rows)


def _path(
    pairs: Sequence[FramePair], settings: Settings, n_threads: int | None
) -> Iterator[tuple[str, float, Vector]]:
    """Yield the weights for each strength of each regulariser; those of one share planes below the risk."""
    for method, regularizer in _REGULARIZERS.items():
        planes = None
        for lam in sorted(settings.lams[method], reverse=True):
            found = train_tracker(
                pairs, regularizer(lam), tol=settings.tol, planes=planes, n_threads=n_threads
            )
            planes = found.planes
            yield method, lam, found.w


def _forest(settings: Settings, min_leaf: int) -> EventForest:
    return EventForest(n_trees=settings.trees, min_leaf=min_leaf, seed=settings.seed)


def count_missed(pair: FramePair, y: Assignment) -> int:
    """Return how many known true events were not found; those that gating lost count."""
    return int((~y[pair.annotation.events]).sum()) + len(pair.annotation.lost)


@dataclass(frozen=True)
class Tracking:
    """What a method found between the frames of the test pairs."""

    events: list[Assignment]  #: candidate events; those of the peer need not be an assignment
    links: list[Links]
    training_seconds: float  #: of the processor
    seconds_per_pair: float


@dataclass(frozen=True)
class Trackings:
    """What each method found, and the weights of those that have some."""

    found: dict[str, Tracking]
    weights: dict[str, Vector]


def run_trackers(study: Study, settings: Settings, tuning: Tuning, n_threads: int | None = None) -> Trackings:
    """Train all trackers on all training pairs, with the parameters that were best, and test them."""
    weights, seconds = {"hand_tuned": hand_tuned(study.laboratory)}, dict.fromkeys(METHODS, 0.0)
    for method, regularizer in _REGULARIZERS.items():
        began = time.process_time()
        weights[method] = train_tracker(
            study.training, regularizer(tuning.best(method)), tol=settings.tol, n_threads=n_threads
        ).w
        seconds[method] = time.process_time() - began
    began = time.process_time()
    min_leaf, prior = tuning.best("random_forest")
    forest = _forest(settings, min_leaf).fit(study.training)
    seconds["random_forest"] = time.process_time() - began
    find = {
        "graph_matching": lambda pair: graph_matching(study.test_film, pair),
        "max_flow": lambda pair: max_flow(study.test_film, pair),
        "random_forest": lambda pair: forest.predict(pair, prior),
        **{name: _by_weights(w) for name, w in weights.items()},
    }
    found = {name: _track(study.test, find[name], seconds[name]) for name in METHODS}
    return Trackings({**found, PEER: _track_by_peer(study, settings)}, weights)


def _by_weights(w: Vector) -> Callable[[FramePair], Assignment]:
    return lambda pair: pair.assigner.best(pair.hypotheses.scores(w))


def _track(
    pairs: Sequence[FramePair], find: Callable[[FramePair], Assignment], training_seconds: float
) -> Tracking:
    began = time.process_time()
    events = [find(pair) for pair in pairs]
    seconds = (time.process_time() - began) / len(pairs)
    links = [links_of(pair.hypotheses, y) for pair, y in zip(pairs, events, strict=True)]
    return Tracking(events, links, training_seconds, seconds)


def _track_by_peer(study: Study, settings: Settings) -> Tracking:
    """Track with LapTrack, whose two reaches are chosen on the training pairs."""
    began = time.process_time()
    reaches = choose_reaches(study.training_film, study.training, settings.reaches)
    training_seconds = time.process_time() - began
    began = time.process_time()
    links = lap_links(study.test_film, range(study.test[0].frame, study.test[-1].frame + 1), *reaches)
    seconds = (time.process_time() - began) / len(links)
    events = [events_of(pair.hypotheses, rows) for pair, rows in zip(study.test, links, strict=True)]
    return Tracking(events, links, training_seconds, seconds)
