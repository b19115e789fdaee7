"""Tracking by assignment: which events happened between two frames (cheap-data chapter, section 1.2.2).

Candidate events explain cells of the first frame (their fate) and of the second (their past). An assignment
is a set of events that gives each cell one fate or one past; the best one is found by linear programming.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array

from ermlab.tracking._set_program import SetProgram
from ermlab.tracking.packing import NONE, Packing, checked_scores

#: Kinds of events, with how many cells of the first and of the second frame each takes: a cell moves or
#: divides; two pieces of a cell that was cut in two by mistake merge; two cells that were taken for one
#: split; a cell appears or disappears.
EVENTS = {
    "move": (1, 1),
    "division": (1, 2),
    "merge": (2, 1),
    "split": (1, 2),
    "appearance": (0, 1),
    "disappearance": (1, 0),
}

Vector = NDArray[np.float64]
_NO_EVENTS = np.zeros(0, dtype=np.int64)
#: Which of the candidate events happened.
Assignment = NDArray[np.bool_]


class NoAssignmentError(ValueError):
    """No assignment obeys what was demanded."""


@dataclass(frozen=True)
class Candidates:
    """Events of one kind that may have happened.

    Parameters
    ----------
    sources, targets
        Numbers of the cells of the first and of the second frame, (n, 2) each, `NONE` where there is none.
    features
        What the score of each event is a linear function of, (n, d).
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    features: Vector

    def __post_init__(self) -> None:
        for name in ("sources", "targets"):
            cells = np.asarray(getattr(self, name))
            if cells.size and cells.dtype.kind not in "iu":
                raise ValueError(f"{name} are of {cells.dtype}: expected whole numbers of cells")
            object.__setattr__(self, name, cells.astype(np.int64, copy=False))
        object.__setattr__(self, "features", np.asarray(self.features, dtype=np.float64))
        if self.features.ndim != 2:
            raise ValueError(f"features have shape {self.features.shape}: expected a row for each event")

    def __len__(self) -> int:
        return len(self.features)


@dataclass(frozen=True)
class Hypotheses:
    """All candidate events between two frames, kind by kind in the order of `EVENTS`.

    Every cell needs a candidate that takes no other cell: an appearance or a disappearance.

    Parameters
    ----------
    n_sources, n_targets
        Number of cells in either frame.
    candidates
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
        for name, some in self.candidates.items():
            self._check(name, some)
        for name, side, n in (
            ("appearance", "targets", self.n_targets),
            ("disappearance", "sources", self.n_sources),
        ):
            alone = np.unique(getattr(self.candidates[name], side)[:, 0])
            if len(alone) != n:
                missing = np.setdiff1d(np.arange(n), alone)
                raise ValueError(f"cells {missing[:5].tolist()} have no {name}: expected one of each cell")

    def _check(self, name: str, some: Candidates) -> None:
        for side, n_cells, taken in (
            ("sources", self.n_sources, EVENTS[name][0]),
            ("targets", self.n_targets, EVENTS[name][1]),
        ):
            cells = getattr(some, side)
            if cells.shape != (len(some), 2):
                raise ValueError(f"{side} of {name} has shape {cells.shape}: expected ({len(some)}, 2)")
            used, unused = cells[:, :taken], cells[:, taken:]
            if ((used < 0) | (used >= n_cells)).any() or (unused != NONE).any():
                raise ValueError(
                    f"{side} of {name}: expected {taken} of the cells 0 to {n_cells - 1}, then {NONE}"
                )
            if taken == 2 and (used[:, 0] == used[:, 1]).any():
                raise ValueError(f"{side} of {name}: the same cell twice in one event")
        if not np.isfinite(some.features).all():
            raise ValueError(f"features of {name}: expected rows of finite numbers")

    def __len__(self) -> int:
        return sum(map(len, self.candidates.values()))

    @property
    def dimension(self) -> int:
        """Length of the weight vector: a weight for each feature of each kind."""
        return sum(some.features.shape[1] for some in self.candidates.values())

    @cached_property
    def kind(self) -> NDArray[np.int64]:
        """Number of each event's kind."""
        return np.repeat(np.arange(len(EVENTS)), [len(some) for some in self.candidates.values()])

    @cached_property
    def sources(self) -> NDArray[np.int64]:
        """Cells of the first frame that each event takes, (events, 2)."""
        return np.concatenate([some.sources for some in self.candidates.values()])

    @cached_property
    def targets(self) -> NDArray[np.int64]:
        """Cells of the second frame that each event takes, (events, 2)."""
        return np.concatenate([some.targets for some in self.candidates.values()])

    @cached_property
    def incidence(self) -> csc_array:
        """1 where an event (column) takes a cell (row: those of the first frame, then of the second)."""
        targets = np.where(self.targets == NONE, NONE, self.targets + self.n_sources)
        cells = np.hstack([self.sources, targets])
        taken = cells != NONE
        starts = np.concatenate([[0], np.cumsum(taken.sum(axis=1))])
        rows = cells[taken]
        shape = (self.n_sources + self.n_targets, len(self))
        return csc_array((np.ones(len(rows)), rows.astype(np.int32), starts.astype(np.int32)), shape=shape)

    def scores(self, w: ArrayLike) -> Vector:
        """Return the score ``<f, w>`` of each event (cheap-data, eq. 1.1)."""
        w = np.asarray(w, dtype=np.float64)
        if w.shape != (self.dimension,):
            raise ValueError(f"w has shape {w.shape}: expected ({self.dimension},)")
        ends = np.cumsum([some.features.shape[1] for some in self.candidates.values()])
        parts = np.split(w, ends[:-1])
        # What overflows here is refused where an assignment is looked for.
        with np.errstate(over="ignore", invalid="ignore"):
            scores = [some.features @ part for some, part in zip(self._kinds, parts, strict=True)]
        return np.concatenate(scores)

    def joint_feature(self, y: ArrayLike) -> Vector:
        """Return the features of the events of an assignment, summed kind by kind."""
        y = np.asarray(y, dtype=np.float64)
        parts = np.split(y, np.cumsum([len(some) for some in self._kinds])[:-1])
        return np.concatenate([part @ some.features for some, part in zip(self._kinds, parts, strict=True)])

    def is_assignment(self, y: ArrayLike) -> bool:
        """Return whether each cell has one fate or one past (cheap-data, eq. 1.2 and 1.3)."""
        return bool((self.incidence @ np.asarray(y, dtype=np.float64) == 1).all())

    @property
    def _kinds(self) -> Sequence[Candidates]:
        return tuple(self.candidates.values())


class Assigner:
    """Finds assignments between two frames, each search independent of those before.

    To let every cell appear or disappear is an assignment. All others replace some of that by events of two
    or three cells, and the best one by those with the largest sum of gains, a `Packing`. Only a search that
    excludes events needs an integer programme over all of them; it is built once.
    """

    def __init__(self, hypotheses: Hypotheses):
        self.hypotheses = hypotheses
        self._cells = _cells(hypotheses)
        related = (self._cells != NONE).sum(axis=1) > 1
        self._related, self._alone = np.flatnonzero(related), np.flatnonzero(~related)
        self._n_cells = hypotheses.n_sources + hypotheses.n_targets
        self.packing = Packing(hypotheses.n_sources, self._n_cells, self._cells[self._related])

    def best(
        self, scores: ArrayLike, *, including: ArrayLike = (), excluding: ArrayLike | None = None
    ) -> Assignment:
        """Return the assignment with the largest sum of scores (cheap-data, eq. 1.1 to 1.3).

        Parameters
        ----------
        including
            Numbers of events that the assignment has.
        excluding
            Numbers of events of which the assignment lacks at least one.
        """
        scores = checked_scores(scores, len(self._cells))
        including = checked_events("including", including, len(self._cells)).astype(np.int32)
        if excluding is not None:
            excluding = checked_events("excluding", excluding, len(self._cells)).astype(np.int32)
        if excluding is not None and not len(excluding):
            raise NoAssignmentError("excluding is empty: no assignment lacks one of no events")
        y = self._best(scores, including)
        if excluding is None or not y[excluding].all():
            return y
        y = self._programme.best(scores, including=including, excluding=excluding)
        if y is None:
            raise NoAssignmentError("every assignment has all the events to be excluded")
        return y

    def worst(self, scores: ArrayLike) -> Assignment:
        """Return the assignment with the least sum of scores."""
        return self.best(-np.asarray(scores, dtype=np.float64))

    def best_two(self, scores: ArrayLike) -> tuple[Assignment, Assignment]:
        """Return the best assignment and the best of all others."""
        first = self.best(scores)
        return first, self.best(scores, excluding=np.flatnonzero(first))

    def _best(self, scores: Vector, including: NDArray[np.int32]) -> Assignment:
        taken = self._cells[including]
        uses = np.bincount(taken[taken != NONE], minlength=self._n_cells)
        if (uses > 1).any():
            raise NoAssignmentError("no assignment obeys what was demanded of its events")
        # The best event that takes a cell alone: of several the last in rising order of scores.
        order = self._alone[np.argsort(scores[self._alone], kind="stable")]
        alone = np.empty(self._n_cells + 1, dtype=np.int64)
        alone[self._cells[order, 0]] = order
        worth = np.append(scores[alone[:-1]], 0.0)
        gains = scores[self._related] - worth[self._cells[self._related]].sum(axis=1)
        y = np.zeros(len(scores), dtype=bool)
        y[including] = True
        y[self._related[self.packing.best(gains, uses == 0)]] = True
        covered = self._cells[y]
        left = np.ones(self._n_cells, dtype=bool)
        left[covered[covered != NONE]] = False
        y[alone[:-1][left]] = True
        return y

    @cached_property
    def _programme(self) -> SetProgram:
        return SetProgram(self.hypotheses.incidence, every_row=True)


def checked_events(name: str, numbers: ArrayLike, n_events: int) -> NDArray[np.int64]:
    """Return different numbers of some of so many events, rising; a ValueError says what is wrong."""
    if isinstance(numbers, tuple) and not numbers:
        return _NO_EVENTS
    numbers = np.asarray(numbers)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise ValueError(f"{name} has shape {numbers.shape} of {numbers.dtype}: expected numbers of events")
    chosen = sorted(set(numbers.tolist()))  # of so few numbers faster than np.unique
    if chosen and not 0 <= chosen[0] <= chosen[-1] < n_events:
        raise ValueError(f"{name} is {chosen}: expected events 0 to {n_events - 1}")
    return np.array(chosen, dtype=np.int64)


def _cells(hypotheses: Hypotheses) -> NDArray[np.int64]:
    """Return the cells of each event, (events, 3): of the first frame, then of the second, then `NONE`."""
    targets = np.where(hypotheses.targets == NONE, NONE, hypotheses.targets + hypotheses.n_sources)
    cells = np.hstack([hypotheses.sources, targets])
    order = np.argsort(cells == NONE, axis=1, kind="stable")
    return np.take_along_axis(cells, order, axis=1)[:, :3]
