"""Classifiers of single events: a random forest for each kind, without structure in learning (Table 1.1).

Each candidate event is judged by itself; the log-odds of all of them are the scores of an assignment.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from ermlab.tracking.assignment import EVENTS, Assignment, Hypotheses
from ermlab.tracking.films import FramePair

Vector = NDArray[np.float64]


class EventForest:
    """Random forests that tell true from false events.

    False are the candidates that share a cell with a known true event, many more than the true ones. So only
    some are learned from, and both classes weigh the same. The log-odds of a forest are then those among as
    many true as false events; the log-odds of the frequencies are kept to be added.

    Parameters
    ----------
    n_trees, min_leaf
        Trees of each forest, and samples in a leaf at least.
    most
        Events of either class that the forest of a kind learns from, at most.
    seed
        For the draw of events and the trees.
    """

    def __init__(
        self,
        *,
        n_trees: int = 100,
        min_leaf: int = 1,
        most: int = 5000,
        seed: int = 0,
    ):
        self.n_trees, self.min_leaf, self.most, self.seed = n_trees, min_leaf, most, seed

    def fit(self, pairs: Sequence[FramePair]) -> "EventForest":
        """Learn from the known events of some pairs of frames."""
        if not len(pairs):
            raise ValueError("no pairs of frames: expected at least 1")
        judged = [judged_events(pair) for pair in pairs]
        self.forests_: dict[str, RandomForestClassifier | None] = {}
        self.offsets_: dict[str, float] = {}
        for number, kind in enumerate(EVENTS):
            rng = np.random.default_rng([self.seed, number])
            right, wrong = (
                np.concatenate(
                    [
                        pair.hypotheses.candidates[kind].features[chosen[pair.hypotheses.kind == number]]
                        for pair, both in zip(pairs, judged, strict=True)
                        for chosen in [both[which]]
                    ]
                )
                for which in (0, 1)
            )
            self.forests_[kind], self.offsets_[kind] = self._fit_kind(right, wrong, rng)
        return self

    def _fit_kind(
        self, right: Vector, wrong: Vector, rng: np.random.Generator
    ) -> tuple[RandomForestClassifier | None, float]:
        """Return the forest of a kind, none where a class is missing, and the log-odds of the frequencies."""
        if not len(right) or not len(wrong):
            return None, _log_odds(len(right), len(wrong))
        some, others = _sample(right, self.most, rng), _sample(wrong, self.most, rng)
        forest = RandomForestClassifier(
            self.n_trees,
            min_samples_leaf=self.min_leaf,
            class_weight="balanced_subsample",
            random_state=int(rng.integers(2**31)),
            n_jobs=1,
        )
        forest.fit(np.concatenate([some, others]), np.repeat([True, False], [len(some), len(others)]))
        return forest, _log_odds(len(right), len(wrong))

    def scores(self, hypotheses: Hypotheses, prior: float = 1.0) -> Vector:
        """Return the log-odds of each candidate event to be true.

        Parameters
        ----------
        prior
            Share of the log-odds of the frequencies that is added, from 0 to 1.
        """
        parts = []
        for kind, candidates in hypotheses.candidates.items():
            forest, offset = self.forests_[kind], self.offsets_[kind]
            if forest is None or not len(candidates):
                parts.append(np.full(len(candidates), offset))  # nothing else is known
                continue
            share = forest.predict_proba(candidates.features)[:, list(forest.classes_).index(True)]
            # As if half a tree more had voted for either.
            share = (self.n_trees * share + 0.5) / (self.n_trees + 1)
            parts.append(np.log(share / (1 - share)) + prior * offset)
        return np.concatenate(parts)

    def predict(self, pair: FramePair, prior: float = 1.0) -> Assignment:
        """Return the assignment with the largest sum of `scores`."""
        return pair.assigner.best(self.scores(pair.hypotheses, prior))


def judged_events(pair: FramePair) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which candidate events are known to be true, and which to be false: those they exclude."""
    hypotheses = pair.hypotheses
    true = np.isin(np.arange(len(hypotheses)), pair.annotation.events)
    settled = hypotheses.incidence @ true.astype(np.float64) > 0
    touched = hypotheses.incidence.T @ settled.astype(np.float64) > 0
    return true, touched & ~true


def _sample(rows: Vector, most: int, rng: np.random.Generator) -> Vector:
    return rows if len(rows) <= most else rows[np.sort(rng.choice(len(rows), most, replace=False))]


def _log_odds(true: int, false: int) -> float:
    """Return the log-odds of an event before anything of it is seen."""
    return float(np.log((true + 0.5) / (false + 0.5)))
