"""The experiment with active and combined learning of trackers (cheap-data, section 1.4.4).

A pool of patches is learned from actively, in the same order for every measure of uncertainty; the weights on
the way are judged on whole pairs of frames of another film. Combined learning trains on the patches that were
asked for, with a margin. Nothing is chosen on the test film.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.optimize import L2
from ermlab.tracking.active_learning import MEASURES, ActiveHistory, ActiveLearner, log_convergence, log_mean
from ermlab.tracking.assignment import EVENTS
from ermlab.tracking.films import FramePair
from ermlab.tracking.patches import Patch
from ermlab.tracking.perceptron import train_perceptron
from ermlab.tracking.selection import AlphaChoice, choose_alpha
from ermlab.tracking.small_assignment import SmallProblems
from ermlab.tracking.training import average_loss, train_tracker
from reproduction.experiments.tracking.enumeration import all_assignments

Vector = NDArray[np.float64]

#: Factors by which the weights may be longer when it is asked how that changes the stop.
SCALES = (0.01, 0.1, 1.0, 10.0, 100.0)
#: Instead of a factor: weights of length 1.
UNIT = "unit"
#: Patches with so many have a thousand outputs or so.
_FEW_HYPOTHESES = 40
_MOVE = list(EVENTS).index("move")


@dataclass(frozen=True)
class ActiveSettings:
    """The numbers of the experiment.

    Parameters
    ----------
    window, threshold
        ``T`` and the threshold of the stopping rule (eq. 1.8).
    limit
        Share of the pool that is learned from.
    shares
        Shares of the pool at which active and combined learning are compared.
    every
        The weights after each so many queries are tested.
    strengths, folds, tol
        For training with the margin: what to choose lambda from, and how; see `choose_alpha`.
    """

    window: int
    threshold: float
    limit: float
    shares: tuple[float, ...]
    every: int
    strengths: tuple[float, ...]
    folds: int
    tol: float


@dataclass(frozen=True)
class ActiveRun:
    """What one run with one measure gave.

    Parameters
    ----------
    curve
        A row for each query.
    table
        A row for each share: test losses of active and of combined learning.
    stops
        A row for each length of the weights: the query at which the rule stops, NaN if it does not.
    """

    curve: pd.DataFrame
    table: pd.DataFrame
    stops: pd.DataFrame
    weights: Vector  #: after the last query
    seconds: float  #: of the processor for each query


class ActiveExperiment:
    """A pool of patches to learn from, and pairs of frames to test on.

    Parameters
    ----------
    pool
        Patches.
    test
        Pairs of frames of which nothing is learned.
    settings
        The numbers of the experiment.
    """

    def __init__(self, pool: Sequence[Patch], test: Sequence[FramePair], settings: ActiveSettings):
        self.pool, self.test, self.settings = list(pool), list(test), settings

    def test_error(self, w: Vector) -> float:
        """Return the share of the true events of the test film that are missed, in per cent."""
        return 100 * average_loss(w, self.test, 1)

    def run(self, measure: str, seed: int) -> ActiveRun:
        """Learn actively, then train on what was asked for; ``seed`` orders the pool and draws *random*."""
        rng = np.random.default_rng(seed)
        pool = [self.pool[i] for i in rng.permutation(len(self.pool))]
        learner = ActiveLearner(
            pool,
            measure,
            window=self.settings.window,
            threshold=self.settings.threshold,
            random_state=rng,
            n_threads=1,
        )
        queries = self._queries(self.settings.limit)
        begin = time.process_time()
        self._learn(learner, pool, queries)
        seconds = (time.process_time() - begin) / queries
        while np.isnan(self._stop(learner.history.log_eta)) and measure != "random" and not learner.stopped:
            self._learn(learner, pool, len(learner.labeled) + 1)
        return ActiveRun(
            self._curve(learner.history, pool, queries),
            self._table(learner.history, pool),
            self._stops(learner.history).iloc[: 0 if measure == "random" else None],
            learner.history.weights[queries - 1],
            seconds,
        )

    def all_data(self) -> tuple[float, AlphaChoice]:
        """Return the test loss of training on the whole pool, and how lambda was chosen."""
        choice = self._choice(self.pool)
        return self._margin_error(self.pool, choice.alpha), choice

    def perceptron_on_all_data(self, averaged: bool) -> float:
        """Return the test loss of the perceptron trained on the whole pool."""
        assigners = [patch.assigner for patch in self.pool]
        known = [patch.annotation.events for patch in self.pool]
        return self.test_error(train_perceptron(assigners, known, averaged=averaged, n_threads=1).w)

    def _queries(self, share: float) -> int:
        return max(round(share * len(self.pool)), 1)

    def _learn(self, learner: ActiveLearner, pool: Sequence[Patch], queries: int) -> None:
        while len(learner.labeled) < queries:
            number = learner.query()
            learner.annotate(number, pool[number].annotation.events)

    def _stop(self, log_etas: Sequence[float]) -> float:
        """Return the query after which the rule stops, NaN if it does not."""
        below = np.flatnonzero(np.asarray(log_etas) <= np.log(self.settings.threshold))
        return float(below[0] + 1) if len(below) else np.nan

    def _curve(self, history: ActiveHistory, pool: Sequence[Patch], queries: int) -> pd.DataFrame:
        asked = [pool[i] for i in history.queries[:queries]]
        curve = pd.DataFrame(
            {
                "query": np.arange(1, queries + 1),
                "share": np.arange(1, queries + 1) / len(pool),
                "events": np.cumsum([len(patch.annotation.events) for patch in asked]) / _events(pool),
                "rare": np.cumsum([_rare(patch) for patch in asked]) / max(sum(map(_rare, pool)), 1),
                "log_average": history.log_average[:queries],
                "log_eta": history.log_eta[:queries],
                "length": [np.linalg.norm(w) for w in history.weights[:queries]],
            }
        )
        tested = np.arange(self.settings.every - 1, queries, self.settings.every)
        for name, weights in (("test_error", history.weights), ("averaged_error", history.averaged)):
            curve.loc[tested, name] = [self.test_error(weights[t]) for t in tested]
        return curve

    def _table(self, history: ActiveHistory, pool: Sequence[Patch]) -> pd.DataFrame:
        asked = [pool[i] for i in history.queries]
        # Lambda is chosen once, on what is there at the first share, and kept. There must be enough for it.
        known = np.cumsum([len(patch.annotation.events) > 0 for patch in asked])
        enough = int(np.searchsorted(known, self.settings.folds)) + 1
        first = max(self._queries(min(self.settings.shares)), enough)
        strength = self._choice(asked[:first]).alpha
        rows = []
        for share in self.settings.shares:
            n = self._queries(share)
            rows.append(
                {
                    "share": share,
                    "active": self.test_error(history.weights[n - 1]),
                    "averaged": self.test_error(history.averaged[n - 1]),
                    "combined": self._margin_error(asked[:n], strength),
                    "strength": strength,
                }
            )
        return pd.DataFrame(rows)

    def _stops(self, history: ActiveHistory) -> pd.DataFrame:
        """Return when the rule would stop with longer or shorter weights; the queries would be the same."""
        factors = {f"{scale:g}": np.full(len(history.weights), scale) for scale in SCALES}
        factors[UNIT] = np.array([1 / max(np.linalg.norm(w), 1e-300) for w in history.weights])
        rows = []
        for scale, factor in factors.items():
            averages = [log_mean(f * q) for f, q in zip(factor, history.log_uncertainty, strict=True)]
            etas = np.full(len(averages), np.inf)
            for t in range(self.settings.window, len(averages)):
                if len(history.log_uncertainty[t]):  # of none there is no average
                    etas[t] = log_convergence(averages[t - self.settings.window : t + 1])
            rows.append({"scale": scale, "stop": self._stop(etas)})
        return pd.DataFrame(rows)

    def _choice(self, patches: Sequence[Patch]) -> AlphaChoice:
        settings = self.settings
        return choose_alpha(
            patches, settings.strengths, n_splits=settings.folds, tol=settings.tol, n_threads=1
        )

    def _margin_error(self, patches: Sequence[Patch], strength: float) -> float:
        return self.test_error(train_tracker(patches, L2(strength), tol=self.settings.tol, n_threads=1).w)


def enumeration_difference(patches: Sequence[Patch], weights: Iterable[Vector]) -> float:
    """Return how far the logarithms of the measures are at most from those of enumerating all outputs."""
    problems, numbers = SmallProblems([patch.hypotheses for patch in patches]), np.arange(len(patches))
    outputs = [all_assignments(patch.hypotheses) for patch in patches]
    largest = 0.0
    for w in weights:
        values = [np.sort(y @ patch.hypotheses.scores(w)) for y, patch in zip(outputs, patches, strict=True)]
        best, worst = (np.array([some[place] for some in values]) for place in (-1, 0))
        second = np.array([some[-2] if len(some) > 1 else -np.inf for some in values])
        for name, expected in (
            ("scoring", -best),
            ("best_worst", worst - best),
            ("best_second", second - best),
        ):
            found = MEASURES[name](problems, w, numbers, 1)
            equal = found == expected  # both may be -inf
            largest = max(largest, float(np.abs(found - expected)[~equal].max(initial=0.0)))
    return largest


def enumerable(patches: Sequence[Patch], count: int) -> list[Patch]:
    """Return some patches, evenly spaced, among those with few enough hypotheses to enumerate all outputs."""
    few = [patch for patch in patches if len(patch.hypotheses) <= _FEW_HYPOTHESES]
    return few[:: max(len(few) // count, 1)][:count]


def _events(patches: Sequence[Patch]) -> int:
    return sum(len(patch.annotation.events) for patch in patches)


def _rare(patch: Patch) -> int:
    """Return how many true events of a patch are no moves."""
    return int((patch.hypotheses.kind[patch.annotation.events] != _MOVE).sum())
