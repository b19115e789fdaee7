"""Active and combined learning of trackers (cheap-data, section 1.4.4).

Active learning queries patches of a pool, whose order is the same for every measure of uncertainty; the
weights after the queries are tested on whole pairs of frames of another film. Combined learning trains on the
queried patches with a margin. Nothing is chosen on the test film.

Trainings of one run store the cutting planes of the patches for each other.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.tracking.active_learning import MEASURES, ActiveHistory, ActiveLearner, log_convergence, log_mean
from ermlab.tracking.assignment import EVENTS
from ermlab.tracking.films import FramePair
from ermlab.tracking.patches import Patch
from ermlab.tracking.perceptron import train_perceptron
from ermlab.tracking.selection import AlphaChoice
from ermlab.tracking.small_assignment import SmallProblems
from ermlab.tracking.training import average_loss
from reproduction.experiments.tracking.enumeration import all_assignments
from reproduction.experiments.transfer.patch_training import PatchPool, PatchRisk, train_on_patches

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: Factors of the weights for which the stop is computed.
SCALES = (0.01, 0.1, 1.0, 10.0, 100.0)
#: Share of the patches with which the conclusions of the chapter find active learning almost as good as all.
TENTH = 0.1
#: Instead of a factor: weights of length 1.
UNIT = "unit"
#: Patches with so many hypotheses have about a thousand outputs.
_FEW_HYPOTHESES = 40
_MOVE = list(EVENTS).index("move")


@dataclass(frozen=True)
class ActiveSettings:
    """Settings of the experiment.

    Parameters
    ----------
    window, threshold : int and float
        ``T`` and the threshold of the stopping rule (eq. 1.8).
    limit : float
        Share of the pool that is queried.
    shares : tuple of float
        Shares of the pool at which active and combined learning are compared.
    every : int
        Number of queries between two tests of the weights.
    alphas, n_splits, tol : tuple of float, int and float
        Training with a margin: regularization strengths to choose from, and as in `MarginTraining`.
    """

    window: int
    threshold: float
    limit: float
    shares: tuple[float, ...]
    every: int
    alphas: tuple[float, ...]
    n_splits: int
    tol: float


@dataclass(frozen=True)
class ActiveRun:
    """Result of one run with one measure.

    Parameters
    ----------
    curve : DataFrame
        One row per query.
    table : DataFrame
        One row per share: test errors of active and of combined learning, at `TENTH` of the latter only.
    stops : DataFrame
        One row per scale of the weights: the query after which the rule stops, NaN if it does not.
    weights : array
        Weights after the last query.
    seconds : list of float
        CPU time of each query up to the limit, from its annotation to the next query.
    """

    curve: pd.DataFrame
    table: pd.DataFrame
    stops: pd.DataFrame
    weights: Vector
    seconds: list[float]


class MarginTraining:
    """Training on some of the patches of a pool with a margin (cheap-data, eq. 1.5).

    Parameters
    ----------
    pool : sequence of Patch
        All patches, in the order of time; those without a known event are ignored.
    alphas : sequence of float
        Strengths of the regularization, of the mean loss, to choose from.
    n_splits : int
        Number of stretches of time, each of which is held out once for that choice.
    tol : float
        Relative gap of every training.
    """

    def __init__(self, pool: Sequence[Patch], alphas: Sequence[float], n_splits: int, tol: float):
        self._alphas, self._n_splits, self._tol = sorted(alphas, reverse=True), n_splits, tol
        self._known = np.flatnonzero([len(patch.annotation.events) > 0 for patch in pool])
        self._patches = PatchPool([pool[i] for i in self._known], n_jobs=1)

    def choose(self, numbers: Numbers) -> AlphaChoice:
        """Return the strength that misses the fewest events of held-out patches, of several the largest."""
        places, missed = self._places(numbers), dict.fromkeys(self._alphas, 0)
        for held_out in np.array_split(places, self._n_splits):
            w = None
            for alpha in self._alphas:
                w = self._train(np.setdiff1d(places, held_out), alpha, w)
                missed[alpha] += self._patches.missed(w, held_out)
        losses = {alpha: count / self._patches.n_events(places) for alpha, count in missed.items()}
        return AlphaChoice(min(losses, key=losses.__getitem__), losses)

    def weights(self, numbers: Numbers, alpha: float) -> Vector:
        """Return the weights that were trained on patches of the pool."""
        return self._train(self._places(numbers), alpha, None)

    def _places(self, numbers: Numbers) -> Numbers:
        """Return the places of patches among those with a known event."""
        return np.flatnonzero(np.isin(self._known, numbers))

    def _train(self, places: Numbers, alpha: float, w0: Vector | None) -> Vector:
        # The losses of patches are summed here.
        settings = {"alpha": alpha * len(places), "rho": np.inf, "tol": self._tol}
        w0 = None if w0 is None else w0[None]
        return train_on_patches([PatchRisk(self._patches, places)], **settings, w0=w0).weights[0]


class ActiveExperiment:
    """Pool of patches to query, and pairs of frames to test on.

    Parameters
    ----------
    pool : sequence of Patch
        Patches with their true events.
    test : sequence of FramePair
        Pairs of frames for the test.
    settings : ActiveSettings
        Settings of the experiment.
    """

    def __init__(self, pool: Sequence[Patch], test: Sequence[FramePair], settings: ActiveSettings):
        self.pool, self.test, self.settings = list(pool), list(test), settings

    def test_error(self, w: Vector) -> float:
        """Return the percentage of the true events of the test film that are missed."""
        return 100 * average_loss(w, self.test, 1)

    def run(self, measure: str, seed: int) -> ActiveRun:
        """Query patches, then train on them; ``seed`` orders the pool and draws random uncertainties."""
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(self.pool))
        pool = [self.pool[i] for i in order]
        learner = ActiveLearner(
            pool,
            measure,
            window=self.settings.window,
            threshold=self.settings.threshold,
            random_state=rng,
            n_jobs=1,
        )
        queries = self._queries(self.settings.limit)
        seconds = self._learn(learner, pool, queries)
        while np.isnan(self._stop(learner.history.log_eta)) and measure != "random" and not learner.stopped:
            self._learn(learner, pool, len(learner.labeled) + 1)
        return ActiveRun(
            self._curve(learner.history, pool, queries),
            self._table(learner.history, order[learner.labeled]),
            self._stops(learner.history).iloc[: 0 if measure == "random" else None],
            learner.history.weights[queries - 1],
            seconds,
        )

    def all_data(self) -> tuple[float, AlphaChoice]:
        """Return the test error of training on the whole pool, and the choice of ``alpha``."""
        training, numbers = self._margin_training(), np.arange(len(self.pool))
        choice = training.choose(numbers)
        return self.test_error(training.weights(numbers, choice.alpha)), choice

    def perceptron_on_all_data(self, averaged: bool) -> float:
        """Return the test error of the perceptron trained on the whole pool."""
        assigners = [patch.assigner for patch in self.pool]
        known = [patch.annotation.events for patch in self.pool]
        return self.test_error(train_perceptron(assigners, known, averaged=averaged, n_jobs=1).w)

    def _queries(self, share: float) -> int:
        return max(round(share * len(self.pool)), 1)

    def _learn(self, learner: ActiveLearner, pool: Sequence[Patch], queries: int) -> list[float]:
        """Query up to a number of patches; return the CPU time of each query."""
        seconds = []
        while len(learner.labeled) < queries:
            start = time.process_time()
            number = learner.query()
            learner.annotate(number, pool[number].annotation.events)
            seconds.append(time.process_time() - start)
        return seconds

    def _stop(self, log_etas: Sequence[float]) -> float:
        """Return the query after which the rule stops, NaN if it does not."""
        below = np.flatnonzero(np.asarray(log_etas) <= np.log(self.settings.threshold))
        return float(below[0] + 1) if len(below) else np.nan

    def _curve(self, history: ActiveHistory, pool: Sequence[Patch], queries: int) -> pd.DataFrame:
        queried = [pool[i] for i in history.queries[:queries]]
        curve = pd.DataFrame(
            {
                "query": np.arange(1, queries + 1),
                "share": np.arange(1, queries + 1) / len(pool),
                "events": np.cumsum([len(patch.annotation.events) for patch in queried]) / _n_events(pool),
                "rare": np.cumsum([_n_rare(patch) for patch in queried]) / max(sum(map(_n_rare, pool)), 1),
                "log_average": history.log_average[:queries],
                "log_eta": history.log_eta[:queries],
                "length": [np.linalg.norm(w) for w in history.weights[:queries]],
            }
        )
        # A pool with fewer queries than ``every`` is tested once, after the last one.
        every = min(self.settings.every, queries)
        tested = np.arange(every - 1, queries, every)
        curve.loc[tested, "test_error"] = [self.test_error(history.weights[t]) for t in tested]
        return curve

    def _table(self, history: ActiveHistory, queried: Numbers) -> pd.DataFrame:
        # The regularization strength is chosen at a tenth, and once for the shares of the table at the first.
        training, first = self._margin_training(), min(self.settings.shares)
        alphas = {
            share: training.choose(self._first_patches(queried, share)).alpha for share in (TENTH, first)
        }
        rows = []
        for share in sorted({TENTH, *self.settings.shares}):
            n = self._queries(share)
            alpha = alphas[share if share == TENTH else first]
            row = {"share": share, "strength": alpha}
            row["combined"] = self.test_error(training.weights(queried[:n], alpha))
            if share in self.settings.shares:
                row["active"] = self.test_error(history.weights[n - 1])
                row["averaged"] = self.test_error(history.averaged[n - 1])
            rows.append(row)
        return pd.DataFrame(rows)

    def _first_patches(self, queried: Numbers, share: float) -> Numbers:
        """Return the first share of the patches, at least as many as the splits need."""
        known = np.cumsum([len(self.pool[i].annotation.events) > 0 for i in queried])
        enough = int(np.searchsorted(known, self.settings.n_splits)) + 1
        return queried[: max(self._queries(share), enough)]

    def _stops(self, history: ActiveHistory) -> pd.DataFrame:
        """Return when the rule would stop with scaled weights, which leave the queries unchanged."""
        factors = {f"{scale:g}": np.full(len(history.weights), scale) for scale in SCALES}
        factors[UNIT] = np.array([1 / max(np.linalg.norm(w), 1e-300) for w in history.weights])
        rows = []
        for scale, factor in factors.items():
            averages = [log_mean(f * q) for f, q in zip(factor, history.log_uncertainty, strict=True)]
            etas = np.full(len(averages), np.inf)
            for t in range(self.settings.window, len(averages)):
                if len(history.log_uncertainty[t]):  # no patches have no average
                    etas[t] = log_convergence(averages[t - self.settings.window : t + 1])
            rows.append({"scale": scale, "stop": self._stop(etas)})
        return pd.DataFrame(rows)

    def _margin_training(self) -> MarginTraining:
        settings = self.settings
        return MarginTraining(self.pool, settings.alphas, settings.n_splits, settings.tol)


def enumeration_difference(patches: Sequence[Patch], weights: Iterable[Vector]) -> float:
    """Return the largest difference of the logarithms of the measures from those found by enumeration."""
    problems, numbers = SmallProblems([patch.hypotheses for patch in patches]), np.arange(len(patches))
    outputs = [all_assignments(patch.hypotheses) for patch in patches]
    largest = 0.0
    for w in weights:
        scores = [np.sort(y @ patch.hypotheses.scores(w)) for y, patch in zip(outputs, patches, strict=True)]
        best, worst = (np.array([of_patch[place] for of_patch in scores]) for place in (-1, 0))
        second = np.array([of_patch[-2] if len(of_patch) > 1 else -np.inf for of_patch in scores])
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
    """Return up to ``count`` evenly spaced patches with few enough hypotheses to enumerate all outputs."""
    few = [patch for patch in patches if len(patch.hypotheses) <= _FEW_HYPOTHESES]
    return few[:: max(len(few) // count, 1)][:count]


def _n_events(patches: Sequence[Patch]) -> int:
    return sum(len(patch.annotation.events) for patch in patches)


def _n_rare(patch: Patch) -> int:
    """Return the number of true events of a patch other than moves."""
    return int((patch.hypotheses.kind[patch.annotation.events] != _MOVE).sum())
