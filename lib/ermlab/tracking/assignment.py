"""Tracking by assignment: which events happened between two frames (cheap-data chapter, section 1.2.2).

Candidate events explain cells of the first frame (their fate) and of the second frame (their past). An
assignment is a set of events that gives each cell exactly one fate or past.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array

from ermlab.tracking._set_program import SetProgram, UnprovedError, incidence_matrix
from ermlab.tracking.packing import NONE, Packing, check_scores

#: Kinds of events, with the number of cells of the first and of the second frame that each takes. A merge
#: joins two pieces of an oversegmented cell; a split separates two cells that were detected as one.
EVENTS = {
    "move": (1, 1),
    "division": (1, 2),
    "merge": (2, 1),
    "split": (1, 2),
    "appearance": (0, 1),
    "disappearance": (1, 0),
}

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]
#: Mask of the candidate events that happened.
Assignment = NDArray[np.bool_]


class NoAssignmentError(ValueError):
    """No assignment satisfies the constraints."""


@dataclass(frozen=True)
class Candidates:
    """Candidate events of one kind.

    Parameters
    ----------
    sources, targets : ndarray of shape (n_events, 2)
        Indices of the cells of the first and of the second frame, padded with `NONE`.
    features : ndarray of shape (n_events, n_features)
        The score of an event is a linear function of its features.
    """

    sources: Numbers
    targets: Numbers
    features: Vector

    def __post_init__(self) -> None:
        for name in ("sources", "targets"):
            cells = np.asarray(getattr(self, name))
            if cells.size and cells.dtype.kind not in "iu":
                raise ValueError(f"{name} are of {cells.dtype}: expected whole numbers of cells")
            object.__setattr__(self, name, cells.astype(np.int64, copy=False))
        object.__setattr__(self, "features", np.asarray(self.features, dtype=np.float64))
        if self.features.ndim != 2:
            raise ValueError(f"features have shape {self.features.shape}: expected one row per event")

    def __len__(self) -> int:
        return len(self.features)


@dataclass(frozen=True)
class Hypotheses:
    """All candidate events between two frames, ordered by kind as in `EVENTS`.

    Every cell needs a candidate that takes no other cell: an appearance or a disappearance.

    Parameters
    ----------
    n_sources, n_targets : int
        Number of cells in the first and in the second frame.
    candidates : dict of str to Candidates
        The events of each kind.
    """

    n_sources: int
    n_targets: int
    candidates: dict[str, Candidates]

    def __post_init__(self) -> None:
        for name in ("n_sources", "n_targets"):
            n = getattr(self, name)
            if not isinstance(n, (int, np.integer)) or n < 0:
                raise ValueError(f"{name} is {n!r}: expected a whole number of cells")
        if list(self.candidates) != list(EVENTS):
            raise ValueError(f"candidates of {list(self.candidates)}: expected {list(EVENTS)}")
        for name, events in self.candidates.items():
            self._check(name, events)
        for name, side, n in (
            ("appearance", "targets", self.n_targets),
            ("disappearance", "sources", self.n_sources),
        ):
            covered = np.unique(getattr(self.candidates[name], side)[:, 0])
            if len(covered) != n:
                missing = np.setdiff1d(np.arange(n), covered)
                raise ValueError(f"cells {missing[:5].tolist()} have no {name}: expected one of each cell")

    def _check(self, name: str, events: Candidates) -> None:
        for side, n_cells, n_taken in (
            ("sources", self.n_sources, EVENTS[name][0]),
            ("targets", self.n_targets, EVENTS[name][1]),
        ):
            cells = getattr(events, side)
            if cells.shape != (len(events), 2):
                raise ValueError(f"{side} of {name} has shape {cells.shape}: expected ({len(events)}, 2)")
            used, unused = cells[:, :n_taken], cells[:, n_taken:]
            if ((used < 0) | (used >= n_cells)).any() or (unused != NONE).any():
                raise ValueError(
                    f"{side} of {name}: expected {n_taken} of the cells 0 to {n_cells - 1}, then {NONE}"
                )
            if n_taken == 2 and (used[:, 0] == used[:, 1]).any():
                raise ValueError(f"{side} of {name}: the same cell twice in one event")
        if not np.isfinite(events.features).all():
            raise ValueError(f"features of {name}: expected rows of finite numbers")

    def __len__(self) -> int:
        return sum(map(len, self.candidates.values()))

    @property
    def dimension(self) -> int:
        """Length of the weight vector: one weight per feature of each kind."""
        return sum(events.features.shape[1] for events in self._kinds)

    @property
    def n_cells(self) -> int:
        """Number of cells in both frames."""
        return self.n_sources + self.n_targets

    @cached_property
    def kind(self) -> Numbers:
        """Index in `EVENTS` of the kind of each event."""
        return np.repeat(np.arange(len(EVENTS)), [len(events) for events in self._kinds])

    @cached_property
    def sources(self) -> Numbers:
        """Cells of the first frame that each event takes, of shape (n_events, 2)."""
        return np.concatenate([events.sources for events in self._kinds])

    @cached_property
    def targets(self) -> Numbers:
        """Cells of the second frame that each event takes, of shape (n_events, 2)."""
        return np.concatenate([events.targets for events in self._kinds])

    @cached_property
    def cells(self) -> Numbers:
        """Cells of both frames that each event takes, of shape (n_events, 4); those of the second follow."""
        return np.hstack([self.sources, np.where(self.targets == NONE, NONE, self.targets + self.n_sources)])

    @cached_property
    def incidence(self) -> csc_array:
        """Matrix of shape (n_cells, n_events) with 1 where an event takes a cell."""
        return incidence_matrix(self.cells, self.n_cells)

    def scores(self, w: ArrayLike) -> Vector:
        """Return the score ``<f, w>`` of each event (cheap-data, eq. 1.1)."""
        parts = np.split(self._check_weights(w), np.cumsum([k.features.shape[1] for k in self._kinds])[:-1])
        # Scores that overflow are rejected by the search for an assignment.
        with np.errstate(over="ignore", invalid="ignore"):
            scores = [events.features @ part for events, part in zip(self._kinds, parts, strict=True)]
        return np.concatenate(scores)

    def _check_weights(self, w: ArrayLike) -> Vector:
        w = np.asarray(w, dtype=np.float64)
        if w.shape != (self.dimension,):
            raise ValueError(f"w has shape {w.shape}: expected ({self.dimension},)")
        return w

    def joint_feature(self, y: ArrayLike) -> Vector:
        """Return the features of the events of an assignment, summed for each kind."""
        parts = np.split(
            np.asarray(y, dtype=np.float64), np.cumsum([len(events) for events in self._kinds])[:-1]
        )
        return np.concatenate(
            [part @ events.features for events, part in zip(self._kinds, parts, strict=True)]
        )

    def is_assignment(self, y: ArrayLike) -> bool:
        """Return whether each cell has exactly one fate or past (cheap-data, eqs. 1.2 and 1.3)."""
        y = np.asarray(y, dtype=np.float64)
        if y.shape != (len(self),):
            raise ValueError(f"y has shape {y.shape}: expected ({len(self)},)")
        chosen = np.flatnonzero(y)
        cells = self.cells[chosen] + 1  # the place of the padding is the first
        uses = np.bincount(cells.ravel(), np.repeat(y[chosen], cells.shape[1]), self.n_cells + 1)
        return bool((uses[1:] == 1).all())

    @property
    def _kinds(self) -> Sequence[Candidates]:
        return tuple(self.candidates.values())


class Assigner:
    """Search for the best assignments between two frames.

    In the simplest assignment every cell appears or disappears. All others replace some of these events by
    events of two or three cells; the best one maximizes the sum of the gains, a `Packing`. Only a search that
    excludes events needs an integer program over all of them. Searches are independent of each other.

    Where the fast search cannot prove its result within its limit, `solve_assignment` takes over.

    Parameters
    ----------
    hypotheses : Hypotheses
        The candidate events.
    """

    def __init__(self, hypotheses: Hypotheses):
        self.hypotheses = hypotheses
        self._cells = _cells_first(hypotheses)
        is_single = self._cells[:, 1] == NONE
        self._related, self._single = np.flatnonzero(~is_single), np.flatnonzero(is_single)
        self.packing = Packing(hypotheses.n_sources, hypotheses.n_cells, self._cells[self._related])

    def best(
        self, scores: ArrayLike, *, including: ArrayLike = (), excluding: ArrayLike | None = None
    ) -> Assignment:
        """Return the assignment with the largest sum of scores (cheap-data, eqs. 1.1 to 1.3).

        Parameters
        ----------
        scores : array-like of shape (n_events,)
            The score of each event.
        including : array-like of int, default=()
            Indices of events that the assignment must have.
        excluding : array-like of int, optional
            Indices of events of which the assignment must lack at least one.

        Raises
        ------
        NoAssignmentError
            If no assignment satisfies ``including`` and ``excluding``.
        UnprovedError
            If the result is not proved within the limit of `solve_assignment`.
        """
        scores = check_scores(scores, len(self._cells))
        including = check_events(including, len(self._cells), "including")
        if excluding is not None:
            excluding = check_events(excluding, len(self._cells), "excluding")
            if not len(excluding):
                raise NoAssignmentError("excluding is empty: no assignment lacks one of no events")
        try:
            y = self._best_packing(scores, including)
            if excluding is not None and y[excluding].all():
                y = self._program.best(scores, including=including, excluding=excluding)
        except UnprovedError:
            from ermlab.tracking import solve_assignment  # loaded lazily: it needs an optional package

            return solve_assignment(self.hypotheses, scores, including=including, excluding=excluding)
        if y is None:
            raise NoAssignmentError("every assignment has all the events to be excluded")
        return y

    def worst(self, scores: ArrayLike) -> Assignment:
        """Return the assignment with the smallest sum of scores."""
        return self.best(-np.asarray(scores, dtype=np.float64))

    def best_two(self, scores: ArrayLike) -> tuple[Assignment, Assignment]:
        """Return the best and the second best assignment."""
        first = self.best(scores)
        return first, self.best(scores, excluding=np.flatnonzero(first))

    def _best_packing(self, scores: Vector, including: Numbers) -> Assignment:
        n_cells = self.hypotheses.n_cells
        taken = self._cells[including]
        uses = np.bincount(taken[taken != NONE], minlength=n_cells)
        if (uses > 1).any():
            raise NoAssignmentError("two of the events to be included take the same cell")
        # The best event that takes only this cell: of several the last in ascending order of scores.
        order = self._single[np.argsort(scores[self._single], kind="stable")]
        single = np.empty(n_cells + 1, dtype=np.int64)
        single[self._cells[order, 0]] = order
        worth = np.append(scores[single[:-1]], 0.0)
        gains = scores[self._related] - worth[self._cells[self._related]].sum(axis=1)
        y = np.zeros(len(scores), dtype=bool)
        y[including] = True
        y[self._related[self.packing.best(gains, uses == 0)]] = True
        covered = self._cells[y]
        left = np.ones(n_cells, dtype=bool)
        left[covered[covered != NONE]] = False
        y[single[:-1][left]] = True
        return y

    @cached_property
    def _program(self) -> SetProgram:
        return SetProgram(self.hypotheses.incidence, every_row=True)


def _cells_first(hypotheses: Hypotheses) -> Numbers:
    """Return the cells of both frames that each event takes, then padding: no event takes more than three."""
    cells, start = np.full((len(hypotheses), 3), NONE), 0
    for name, (n_before, n_after) in EVENTS.items():
        events = hypotheses.candidates[name]
        here = cells[start : start + len(events)]
        here[:, :n_before] = events.sources[:, :n_before]
        here[:, n_before : n_before + n_after] = events.targets[:, :n_after] + hypotheses.n_sources
        start += len(events)
    return cells


def check_events(events: ArrayLike, n_events: int, name: str = "events") -> Numbers:
    """Return different indices of events in ascending order, or raise a ValueError."""
    indices = np.asarray(events)
    if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
        raise ValueError(
            f"{name} has shape {indices.shape} of {indices.dtype}: expected a list of indices of events"
        )
    distinct = sorted(set(indices.tolist()))  # faster than np.unique for so few numbers
    if wrong := [event for event in distinct if not 0 <= event < n_events]:
        raise ValueError(f"{name} has {wrong[:5]}: expected indices 0 to {n_events - 1}")
    return np.array(distinct, dtype=np.int64)
