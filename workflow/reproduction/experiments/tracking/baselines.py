"""Trackers that structured learning is compared with (cheap-data, Table 1.1).

- `graph_matching`, `max_flow`: fixed costs, no learning. Costs are in the units of `ermlab.tracking.events`:
  distances in sizes of a cell, areas and intensities as logarithms of ratios. A cell without a successor or
  predecessor costs 1.
- `hand_tuned`: weights of all features set by hand.
- `EventForest`: random forests on single events, without structure in learning.
- `lap_links`: LapTrack, a published tracker by linear assignment.
"""

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np
from laptrack import LapTrack
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial import Delaunay, QhullError
from sklearn.ensemble import RandomForestClassifier

from ermlab.tracking.assignment import EVENTS, NONE, Assignment, Hypotheses
from ermlab.tracking.events import FEATURES, Cells, typical_size
from ermlab.tracking.films import CellFilm, FramePair
from reproduction.experiments.tracking.links import Links, events_of
from reproduction.experiments.tracking.measures import judged_events

Vector = NDArray[np.float64]
Pairs = NDArray[np.int64]
_KINDS = list(EVENTS)
#: Cost of leaving a cell of either frame alone.
_ALONE = 1.0
#: Cost above that of any event that should happen.
_NEVER = 100.0
#: Coordinates whose squares, and those of their differences, stay finite.
_FARTHEST = 1e150
#: Weights of each kind of event, in the order of `ermlab.tracking.events.FEATURES`. Both sets were settled in
#: about ten rounds of looking at features and errors of the training film, or of the first half of the film
#: of migrating cells, never of test data, and have not been changed since.
_HAND_TUNED = {
    # Nuclei hardly move. One that divides is bright and long before; pieces together are as large as the
    # whole; what appears or disappears is small, at the border, with no nucleus near.
    "nuclei": {
        "move": (1, -1, -1, -2, -1, -1, -1),
        "division": (-6, -2, -1, -1, -0.5, -1, -1, -5, -0.5, 3, -3),
        "merge": (0, -4, -1, -1, -1, 0),
        "split": (0, -4, -1, -1, -1, 0),
        "appearance": (-3, -1, -3, 2),
        "disappearance": (-3, -1, -3, 2),
    },
    # Cells move far, but keep area, intensity and shape. One that divides is small and long before, its
    # children lie close together. Cells are neither cut nor taken together.
    "migration": {
        "move": (0, -1, -1, -1, -4, -3, -3),
        "division": (-7, -1, -3, -1, -0.5, -2, -1, -3, -0.5, 5, -6),
        "merge": (-8, -3, -1, -3, -2, 0),
        "split": (-8, -3, -1, -3, -2, 0),
        "appearance": (-2.5, -2, -1, 0),
        "disappearance": (-2.5, -2, -1, 0),
    },
}
CELL_TYPES = tuple(_HAND_TUNED)


def hand_tuned(cell_type: str) -> Vector:
    """Return the weights set by hand for ``"nuclei"`` or ``"migration"``."""
    if cell_type not in _HAND_TUNED:
        raise ValueError(f"cell_type is {cell_type!r}: expected one of {', '.join(_HAND_TUNED)}")
    return np.concatenate([np.array(_HAND_TUNED[cell_type][kind], dtype=np.float64) for kind in FEATURES])


def max_flow(film: CellFilm, pair: FramePair) -> Assignment:
    """Return the assignment of least cost, a coupled minimum-cost flow (Padfield et al. 2011).

    A link costs its length, and an event the change of the total area of its cells. A cell with two
    successors counts as divided.
    """
    hypotheses = pair.hypotheses
    before, after = film.cells(pair.frame), film.cells(pair.frame + 1)
    costs = _path_lengths(hypotheses, before, after) / typical_size([before, after])
    kinds = hypotheses.kind
    for kind in ("move", "division", "merge"):
        costs[kinds == _KINDS.index(kind)] += np.abs(_feature(hypotheses, kind, "area"))
    costs[kinds == _KINDS.index("split")] = _NEVER
    for kind in ("appearance", "disappearance"):
        costs[kinds == _KINDS.index(kind)] = _ALONE
    return pair.assigner.best(-costs)


def graph_matching(film: CellFilm, pair: FramePair) -> Assignment:
    """Return the assignment by neighbor graphs, one-to-one matching and division matching (Li et al. 2010).

    Cells are matched one to one with the least sum of distance, changes of eccentricity, area and intensity,
    and change of the neighborhood. Then unmatched cells become second children of matched ones where parent
    and children fit.
    """
    hypotheses = pair.hypotheses
    before, after = film.cells(pair.frame), film.cells(pair.frame + 1)
    moves, divisions = hypotheses.candidates["move"], hypotheses.candidates["division"]
    move_pairs = np.column_stack([moves.sources[:, 0], moves.targets[:, 0]])
    costs = neighborhood_change(
        before.position, after.position, move_pairs, typical_size([before, after])
    ) + sum(_feature(hypotheses, "move", name) for name in ("distance", "area", "intensity", "eccentricity"))
    place = np.full((len(before), len(after)), -1)
    place[tuple(move_pairs.T)] = np.arange(len(moves))
    gains = np.zeros(place.shape)
    gains[tuple(move_pairs.T)] = 2 * _ALONE - costs
    successor = np.full(len(before), -1)
    matched = best_matching(gains)
    successor[matched[:, 0]] = matched[:, 1]

    left = ~np.isin(np.arange(len(after)), matched[:, 1])
    parent, children = divisions.sources[:, 0], divisions.targets
    distance, area, inequality = (
        _feature(hypotheses, "division", name) for name in ("distance", "area", "area of children")
    )
    gain = _ALONE - (distance + np.abs(area)) - inequality
    gains, number = np.zeros((len(after), len(before))), np.full((len(after), len(before)), -1)
    for first, second in ((0, 1), (1, 0)):
        fits = (children[:, first] == successor[parent]) & left[children[:, second]]
        here = (children[fits, second], parent[fits])
        gains[here], number[here] = gain[fits], np.flatnonzero(fits)
    divided = best_matching(gains)
    return _assignment(hypotheses, place, successor, number[tuple(divided.T)])


def _assignment(
    hypotheses: Hypotheses, place: Pairs, successor: NDArray[np.int64], divisions: NDArray[np.int64]
) -> Assignment:
    """Return the assignment of the divisions and, for other cells, of the moves to their successors."""
    y = np.zeros(len(hypotheses), dtype=bool)
    y[len(hypotheses.candidates["move"]) + divisions] = True
    moving = np.setdiff1d(
        np.flatnonzero(successor >= 0), hypotheses.candidates["division"].sources[divisions, 0]
    )
    y[place[moving, successor[moving]]] = True
    alone = np.flatnonzero(hypotheses.incidence @ y == 0)
    kinds, first = hypotheses.kind, np.where(hypotheses.sources[:, 0] >= 0, hypotheses.sources[:, 0], 0)
    vanishing = (kinds == _KINDS.index("disappearance")) & np.isin(first, alone)
    new = (kinds == _KINDS.index("appearance")) & np.isin(
        hypotheses.targets[:, 0] + hypotheses.n_sources, alone
    )
    return y | vanishing | new


def _path_lengths(hypotheses: Hypotheses, before: Cells, after: Cells) -> Vector:
    """Return the total length of the links of each event, in pixels."""
    total = np.zeros(len(hypotheses))
    for i in hypotheses.sources.T:
        for j in hypotheses.targets.T:
            joined = (i != NONE) & (j != NONE)
            total[joined] += np.linalg.norm(before.position[i[joined]] - after.position[j[joined]], axis=1)
    return total


def _feature(hypotheses: Hypotheses, kind: str, name: str) -> Vector:
    """Return a feature of all candidates of a kind."""
    return hypotheses.candidates[kind].features[:, FEATURES[kind].index(name)]


def neighbor_graph(position: ArrayLike) -> list[Pairs]:
    """Return the neighbors of each point in the Delaunay triangulation, in ascending order.

    Points without a triangulation, fewer than three or on a line, are all neighbors of each other.
    """
    position = _points(position)
    n = len(position)
    try:
        corners = Delaunay(position).simplices
    except (QhullError, ValueError):
        corners = np.arange(n)[None]
    # All ordered pairs of different corners of a simplex.
    first, second = np.nonzero(~np.eye(corners.shape[1], dtype=bool))
    edges = np.column_stack([corners[:, first].ravel(), corners[:, second].ravel()]).astype(np.int64)
    edges = np.unique(edges, axis=0)
    return np.split(edges[:, 1], np.searchsorted(edges[:, 0], np.arange(1, n)))[: n or 0]


def neighborhood_change(before: ArrayLike, after: ArrayLike, pairs: Pairs, scale: float) -> Vector:
    """Return how differently the neighbors of two points lie around them, for each of several pairs.

    The offsets to the neighbors of one point are matched with those of the other. A neighbor costs the
    distance of its match in units of ``scale``, at most 1, which it also costs without a match. The mean is
    from 0 to 1 (Li et al. 2010).

    Parameters
    ----------
    before, after : array-like of shape (n_points, 2)
        Points of the two frames.
    pairs : array of shape (n_pairs, 2)
        Numbers of a point before and one after.
    scale : float
        Distance at which a match is worth nothing.
    """
    if not 0 < scale < np.inf:
        raise ValueError(f"scale is {scale}: expected a positive number")
    before, after = _points(before), _points(after)
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    wrong = ((pairs < 0) | (pairs >= (len(before), len(after)))).any(axis=1)
    if wrong.any():
        raise ValueError(
            f"pair {pairs[wrong][0].tolist()}: expected numbers below {len(before)}, of a point before, and "
            f"{len(after)}, of one after"
        )
    offsets = [
        [points[neighbors] - point for point, neighbors in zip(points, neighbor_graph(points), strict=True)]
        for points in (before, after)
    ]
    return np.array([_mismatch(offsets[0][i], offsets[1][j], scale) for i, j in pairs.tolist()])


def _points(position: ArrayLike) -> Vector:
    """Return points as rows (n, 2), or raise a ValueError if one is not finite or too far out to measure."""
    position = np.asarray(position, dtype=np.float64).reshape(-1, 2)
    wrong = ~(np.abs(position) <= _FARTHEST).all(axis=1)
    if wrong.any():
        raise ValueError(
            f"point {int(wrong.argmax())} is {position[wrong][0].tolist()}: expected finite numbers, at most "
            f"{_FARTHEST:g} in size"
        )
    return position


def _mismatch(first: Vector, second: Vector, scale: float) -> float:
    n = max(len(first), len(second))
    if not n:
        return 0.0
    distance = np.linalg.norm(first[:, None] - second[None], axis=-1)
    with np.errstate(over="ignore"):  # infinitely far is too far
        fit = np.maximum(1 - distance / scale, 0.0)
    return 1 - float(fit[linear_sum_assignment(fit, maximize=True)].sum()) / n


def best_matching(gains: ArrayLike) -> Pairs:
    """Return pairs (row, column) of positive gain with the largest sum, no row or column in two of them."""
    gains = np.maximum(np.asarray(gains, dtype=np.float64), 0.0)
    matched = np.column_stack(linear_sum_assignment(gains, maximize=True))
    return matched[gains[tuple(matched.T)] > 0]


class EventForest:
    """Random forests that separate true from false events, one per kind of event.

    False events are the candidates that share a cell with a known true event, many more than the true ones.
    The forests are trained on samples of both, with equal class weights. The log-odds of the class
    frequencies are stored, to be added to those of the forest.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees of each forest.
    min_samples_leaf : int, default=1
        Minimum number of samples in a leaf.
    max_samples : int, default=5000
        Maximum number of training events of either class.
    random_state : int, default=0
        Seed of the samples and of the trees.
    """

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        min_samples_leaf: int = 1,
        max_samples: int = 5000,
        random_state: int = 0,
    ):
        self.n_estimators, self.min_samples_leaf = n_estimators, min_samples_leaf
        self.max_samples, self.random_state = max_samples, random_state

    def fit(self, pairs: Sequence[FramePair]) -> "EventForest":
        """Train the forests on the known events of pairs of frames."""
        if not len(pairs):
            raise ValueError("no pairs of frames: expected at least 1")
        judged = [judged_events(pair) for pair in pairs]
        self.forests_: dict[str, RandomForestClassifier | None] = {}
        self.offsets_: dict[str, float] = {}
        for number, kind in enumerate(EVENTS):
            true, false = (
                np.concatenate(
                    [
                        pair.hypotheses.candidates[kind].features[marks[pair.hypotheses.kind == number]]
                        for pair, marks in zip(pairs, marks_of_class, strict=True)
                    ]
                )
                for marks_of_class in zip(*judged, strict=True)
            )
            rng = np.random.default_rng([self.random_state, number])
            # Log-odds of an event of this kind before its features are seen.
            self.offsets_[kind] = float(np.log((len(true) + 0.5) / (len(false) + 0.5)))
            self.forests_[kind] = self._fit_forest(true, false, rng) if len(true) and len(false) else None
        return self

    def _fit_forest(self, true: Vector, false: Vector, rng: np.random.Generator) -> RandomForestClassifier:
        true, false = self._sample(true, rng), self._sample(false, rng)
        forest = RandomForestClassifier(
            self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            class_weight="balanced_subsample",
            random_state=int(rng.integers(2**31)),
            n_jobs=1,
        )
        return forest.fit(np.concatenate([true, false]), np.repeat([True, False], [len(true), len(false)]))

    def _sample(self, rows: Vector, rng: np.random.Generator) -> Vector:
        if len(rows) <= self.max_samples:
            return rows
        return rows[np.sort(rng.choice(len(rows), self.max_samples, replace=False))]

    def scores(self, hypotheses: Hypotheses, prior: float = 1.0) -> Vector:
        """Return the log-odds of each candidate event to be true.

        Parameters
        ----------
        hypotheses : Hypotheses
            Candidate events.
        prior : float, default=1.0
            Share of the log-odds of the class frequencies that is added, from 0 to 1.
        """
        (scores,) = self._scores(hypotheses, [prior])
        return scores

    def _scores(self, hypotheses: Hypotheses, priors: Sequence[float]) -> list[Vector]:
        """Return the scores for several shares; the trees are asked only once."""
        parts = []
        for kind, candidates in hypotheses.candidates.items():
            forest, offset = self.forests_[kind], self.offsets_[kind]
            if forest is None or not len(candidates):
                parts.append([np.full(len(candidates), offset)] * len(priors))  # nothing else is known
                continue
            share = forest.predict_proba(candidates.features)[:, list(forest.classes_).index(True)]
            # As if half a tree more had voted for either class.
            share = (self.n_estimators * share + 0.5) / (self.n_estimators + 1)
            odds = np.log(share / (1 - share))
            parts.append([odds + prior * offset for prior in priors])
        return [np.concatenate(of_prior) for of_prior in zip(*parts, strict=True)]

    def predict(self, pair: FramePair, prior: float = 1.0) -> Assignment:
        """Return the assignment with the largest sum of `scores`."""
        return pair.assigner.best(self.scores(pair.hypotheses, prior))

    def predict_each(self, pair: FramePair, priors: Sequence[float]) -> list[Assignment]:
        """Return the assignments for several shares."""
        return [pair.assigner.best(scores) for scores in self._scores(pair.hypotheses, priors)]


def lap_links(film: CellFilm, frames: range, max_link: float, max_division: float) -> list[Links]:
    """Link the cells of successive frames by LapTrack (Fukai and Kawaguchi 2023).

    Cells are linked from frame to frame; then cells that begin later are joined to the nearest continued
    track, as second children.

    Parameters
    ----------
    film : CellFilm
        Detections.
    frames : range
        Numbers of the first frames of the pairs to link.
    max_link, max_division : float
        Maximum distance of a cell from its successor, and of a child from its parent, in sizes of a typical
        cell.
    """
    if len(frames) and not 0 <= frames.start < frames.stop < len(film):
        raise ValueError(f"frames are {frames}: expected first frames 0 to {len(film) - 2}")
    cells = [film.cells(t) for t in range(frames.start, frames.stop + 1)]
    if not any(map(len, cells)):  # LapTrack asks for one
        return [np.zeros((0, 2), dtype=np.int64) for _ in frames]
    size = typical_size(cells)
    tracker = LapTrack(
        cutoff=(max_link * size) ** 2,
        splitting_cutoff=(max_division * size) ** 2,
        gap_closing_cutoff=False,
    )
    graph = tracker.predict([of_frame.position for of_frame in cells])
    links: list[list[tuple[int, int]]] = [[] for _ in frames]
    for ends in graph.edges:
        (t, i), (after, j) = sorted(ends)
        if after == t + 1:
            links[t].append((i, j))
    return [np.array(sorted(rows), dtype=np.int64).reshape(-1, 2) for rows in links]


def choose_lap_distances(
    film: CellFilm, pairs: Sequence[FramePair], distances: Iterable[float]
) -> tuple[float, float]:
    """Return the maximum distances with which `lap_links` finds most true events of successive pairs."""
    frames = range(pairs[0].frame, pairs[-1].frame + 1)

    def n_found(limits: tuple[float, float]) -> int:
        links = lap_links(film, frames, *limits)
        return sum(
            int(events_of(pair.hypotheses, rows)[pair.annotation.events].sum())
            for pair, rows in zip(pairs, links, strict=True)
        )

    return max(product(sorted(distances), repeat=2), key=n_found)
