"""Training, tuning and testing of the trackers of table 1.1 (cheap-data, section 1.2).

All trackers use the same detections and candidate events. Parameters are chosen on the training pairs.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ermlab.optimize import L1, L2
from ermlab.tracking.assignment import Assignment
from ermlab.tracking.events import Gates
from ermlab.tracking.films import CellFilm, FramePair, frame_pairs, halves
from ermlab.tracking.selection import hold_out, search_alpha
from ermlab.tracking.training import average_loss, train_tracker
from reproduction.experiments.tracking.baselines import (
    EventForest,
    choose_lap_distances,
    graph_matching,
    hand_tuned,
    lap_links,
    max_flow,
)
from reproduction.experiments.tracking.links import Links, events_of, links_of
from reproduction.experiments.tracking.measures import count_missed

Vector = NDArray[np.float64]
METHODS = ("graph_matching", "max_flow", "hand_tuned", "random_forest", "l1", "l2")
#: A tracker published by others, in addition to the six of the table.
PEER = "laptrack"
_REGULARIZERS = {"l2": L2, "l1": L1}


@dataclass(frozen=True)
class Study:
    """Pairs of frames to train and to test on."""

    training_film: CellFilm
    training: list[FramePair]
    test_film: CellFilm
    test: list[FramePair]


def study_of(films: Sequence[CellFilm], max_pairs: int | None = None) -> Study:
    """Return the study of a training and a test film, or of the two halves of one film.

    Of one film the first half of the pairs is the training part and the second the test part; the pair
    between them is left out.

    Parameters
    ----------
    films : sequence of CellFilm
        One or two films.
    max_pairs : int, default=None
        Maximum number of pairs of either part: the last of the training part, the first of the test part.
    """
    if len(films) not in (1, 2):
        raise ValueError(f"{len(films)} films: expected one to cut in two, or two to train and to test on")
    training, test = halves(films[0]) if len(films) == 1 else (range(len(film) - 1) for film in films)
    if max_pairs is not None:
        training, test = training[-max_pairs:], test[:max_pairs]
    if not training or not test:
        raise ValueError(f"{len(training)} training and {len(test)} test pairs: expected at least 1 of each")
    return Study(
        films[0],
        frame_pairs(films[0], Gates(), training),
        films[-1],
        frame_pairs(films[-1], Gates(), test),
    )


def successive_studies(films: Iterable[CellFilm], max_pairs: int | None = None) -> Iterator[Study]:
    """Yield the study of each film and the next one; `study_of` would find the events of films twice."""
    found = ((film, frame_pairs(film, Gates())) for film in films)
    for (training_film, training), (test_film, test) in pairwise(found):
        n = max_pairs or max(len(training), len(test))
        yield Study(training_film, training[-n:], test_film, test[:n])


@dataclass(frozen=True)
class Settings:
    """Parameters that trackers are tuned over, and the accuracy of training."""

    alphas: Mapping[str, Sequence[float]]  #: regularization strengths of ``l1`` and ``l2``
    min_samples_leaf: Sequence[int]  #: of the random forests
    priors: Sequence[float]  #: shares of the log-odds of the class frequencies that forests add
    max_distances: Sequence[float]  #: of LapTrack, in sizes of a cell
    n_estimators: int  #: trees of a random forest
    n_splits: int  #: stretches of the training pairs, each of which is held out once
    tol: float  #: relative gap of training
    seed: int
    max_extensions: int = 0  #: number of values that may be added to a grid of strengths


@dataclass(frozen=True)
class Tuning:
    """Held-out errors of the parameters: rows of method, parameter, fold, events and missed events."""

    rows: list[dict[str, Any]]

    def best(self, method: str) -> Any:
        """Return the parameter with the fewest missed held-out events, the first of equal ones."""
        missed: dict[Any, int] = {}
        for row in self.rows:
            if row["method"] == method:
                missed[row["parameter"]] = missed.get(row["parameter"], 0) + row["missed"]
        return min(missed, key=missed.__getitem__)


def tune(study: Study, settings: Settings, n_jobs: int | None = None) -> Tuning:
    """Evaluate all parameters of the learned trackers on held-out training pairs.

    The grid of a regularization strength is extended while the best one is at its end. Parameters are ordered
    from the most to the least regularized, so that ties go to the former.
    """
    folds = [
        _Fold(number, pairs, held_out)
        for number, (pairs, held_out) in enumerate(hold_out(study.training, settings.n_splits))
    ]
    rows = []
    for method in _REGULARIZERS:
        rows += _strength_rows(method, folds, settings, n_jobs)
    priors = sorted(settings.priors)
    for min_leaf, fold in product(sorted(settings.min_samples_leaf, reverse=True), folds):
        forest = _forest(settings, min_leaf).fit(fold.pairs)
        missed = np.sum(
            [[count_missed(pair, y) for y in forest.predict_each(pair, priors)] for pair in fold.held_out],
            axis=0,
        )
        for prior, n in zip(priors, missed.tolist(), strict=True):
            rows.append(fold.row("random_forest", (min_leaf, prior), n))
    return Tuning(rows)


@dataclass(frozen=True)
class _Fold:
    """Training pairs, and those that are held out."""

    number: int
    pairs: list[FramePair]
    held_out: list[FramePair]

    @property
    def events(self) -> int:
        return sum(len(pair.annotation.events) + len(pair.annotation.lost) for pair in self.held_out)

    def row(self, method: str, parameter: Any, missed: int) -> dict[str, Any]:
        return {
            "method": method,
            "parameter": parameter,
            "fold": self.number,
            "events": self.events,
            "missed": missed,
        }


def _strength_rows(
    method: str, folds: Sequence[_Fold], settings: Settings, n_jobs: int | None
) -> list[dict[str, Any]]:
    """Return the rows of all strengths of a norm, whose cutting planes are shared."""
    rows, planes = [], [None] * len(folds)

    def missed(alpha: float) -> int:
        for fold in folds:
            regularizer = _REGULARIZERS[method](alpha)
            result = train_tracker(
                fold.pairs, regularizer, tol=settings.tol, planes=planes[fold.number], n_jobs=n_jobs
            )
            planes[fold.number] = result.planes
            n = round(average_loss(result.w, fold.held_out, n_jobs) * fold.events)
            rows.append(fold.row(method, alpha, n))
        return sum(row["missed"] for row in rows if row["parameter"] == alpha)

    search_alpha(missed, settings.alphas[method], max_extensions=settings.max_extensions)
    return sorted(rows, key=lambda row: -row["parameter"])


def _forest(settings: Settings, min_samples_leaf: int) -> EventForest:
    return EventForest(
        n_estimators=settings.n_estimators, min_samples_leaf=min_samples_leaf, random_state=settings.seed
    )


@dataclass(frozen=True)
class Tracking:
    """Result of a method on the test pairs."""

    events: list[Assignment]  #: candidate events; those of the peer need not be an assignment
    links: list[Links]
    training_seconds: float  #: CPU time
    seconds_per_pair: float


@dataclass(frozen=True)
class Trackings:
    """Results of all methods, and the weights of those that have some."""

    found: dict[str, Tracking]
    weights: dict[str, Vector]


def run_trackers(
    study: Study,
    cell_type: str,
    settings: Settings,
    tuning: Tuning,
    n_jobs: int | None = None,
    peer: bool = True,
) -> Trackings:
    """Train all trackers on all training pairs with their best parameters, and test them.

    Parameters
    ----------
    study : Study
        Training and test pairs.
    cell_type : {"nuclei", "migration"}
        Which of the weights set by hand are used.
    settings : Settings
        Accuracy of training.
    tuning : Tuning
        Held-out errors that the parameters are chosen by.
    n_jobs : int, default=None
        Number of pairs that are worked on at the same time.
    peer : bool, default=True
        Whether the published tracker of others is run, too.
    """
    weights, seconds = {"hand_tuned": hand_tuned(cell_type)}, dict.fromkeys(METHODS, 0.0)
    for method, regularizer in _REGULARIZERS.items():
        start = time.process_time()
        weights[method] = train_tracker(
            study.training, regularizer(tuning.best(method)), tol=settings.tol, n_jobs=n_jobs
        ).w
        seconds[method] = time.process_time() - start
    start = time.process_time()
    min_leaf, prior = tuning.best("random_forest")
    forest = _forest(settings, min_leaf).fit(study.training)
    seconds["random_forest"] = time.process_time() - start
    find = {
        "graph_matching": lambda pair: graph_matching(study.test_film, pair),
        "max_flow": lambda pair: max_flow(study.test_film, pair),
        "random_forest": lambda pair: forest.predict(pair, prior),
        **{name: _by_weights(w) for name, w in weights.items()},
    }
    found = {name: _track(study.test, find[name], seconds[name]) for name in METHODS}
    if peer:
        found[PEER] = _track_by_peer(study, settings)
    return Trackings(found, weights)


def _by_weights(w: Vector) -> Callable[[FramePair], Assignment]:
    return lambda pair: pair.assigner.best(pair.hypotheses.scores(w))


def _track(
    pairs: Sequence[FramePair], find: Callable[[FramePair], Assignment], training_seconds: float
) -> Tracking:
    start = time.process_time()
    events = [find(pair) for pair in pairs]
    seconds = (time.process_time() - start) / len(pairs)
    links = [links_of(pair.hypotheses, y) for pair, y in zip(pairs, events, strict=True)]
    return Tracking(events, links, training_seconds, seconds)


def _track_by_peer(study: Study, settings: Settings) -> Tracking:
    """Track with LapTrack, whose two distances are chosen on the training pairs."""
    start = time.process_time()
    limits = choose_lap_distances(study.training_film, study.training, settings.max_distances)
    training_seconds = time.process_time() - start
    start = time.process_time()
    links = lap_links(study.test_film, range(study.test[0].frame, study.test[-1].frame + 1), *limits)
    seconds = (time.process_time() - start) / len(links)
    events = [events_of(pair.hypotheses, rows) for pair, rows in zip(study.test, links, strict=True)]
    return Tracking(events, links, training_seconds, seconds)
