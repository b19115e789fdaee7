"""Tracking by assignment: which events happened between two frames (cheap-data chapter, section 1.2.2).

Candidate events explain cells of the first frame (their fate) and of the second (their past). An assignment
is a set of events that gives each cell one fate or one past; the best one is found by linear programming.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import highspy
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array

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
#: What counts as integral, and as better than the best value so far; scores are at most 1 in size by then.
_PRECISION = 1e-7
#: Linear programmes after which branch and bound gives way to branch and cut.
_FEW_PROGRAMMES = 20
#: Place of a second cell that an event does not have.
NONE = -1

Vector = NDArray[np.float64]
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
        if some.features.ndim != 2 or not np.isfinite(some.features).all():
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
        return np.concatenate([some.features @ part for some, part in zip(self._kinds, parts, strict=True)])

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
    """Finds assignments between two frames; the linear programme is built once and solved again and again.

    The relaxation is solved by the simplex method, from the last solution on. Where it is not integral,
    branch and bound follows: its programmes differ by a bound or two, so each is solved in a few steps. Where
    a few of them do not settle it, the solver's branch and cut does.

    Attributes
    ----------
    searches, integral, programmes
        Assignments searched so far, how many had an integral relaxation, and linear programmes solved.
    """

    def __init__(self, hypotheses: Hypotheses):
        self.hypotheses = hypotheses
        self.searches = self.integral = self.programmes = 0
        self._columns = np.arange(len(hypotheses), dtype=np.int32)
        self._n_cells = hypotheses.n_sources + hypotheses.n_targets
        self._model = _linear_programme(hypotheses.incidence)
        self._forbidden: NDArray[np.int32] | None = None

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
        scores = np.asarray(scores, dtype=np.float64)
        if scores.shape != self._columns.shape or not np.isfinite(scores).all():
            raise ValueError(f"scores of shape {scores.shape}: expected {len(self._columns)} finite numbers")
        including = self._events("including", including)
        if excluding is None:
            return self._solve(scores, including)
        self._forbid(self._events("excluding", excluding))
        try:
            return self._solve(scores, including)
        finally:
            self._model.changeRowBounds(self._n_cells, -highspy.kHighsInf, highspy.kHighsInf)

    def worst(self, scores: ArrayLike) -> Assignment:
        """Return the assignment with the least sum of scores."""
        return self.best(-np.asarray(scores, dtype=np.float64))

    def best_two(self, scores: ArrayLike) -> tuple[Assignment, Assignment]:
        """Return the best assignment and the best of all others."""
        first = self.best(scores)
        return first, self.best(scores, excluding=np.flatnonzero(first))

    def _events(self, name: str, numbers: ArrayLike) -> NDArray[np.int32]:
        numbers = np.unique(np.asarray(numbers, dtype=np.int32))
        if len(numbers) and not 0 <= numbers[0] <= numbers[-1] < len(self._columns):
            raise ValueError(f"{name} is {numbers.tolist()}: expected events 0 to {len(self._columns) - 1}")
        return numbers

    def _forbid(self, events: NDArray[np.int32]) -> None:
        """Demand that one of the events is missing, by a row that stays and is only bounded anew."""
        if not len(events):
            raise NoAssignmentError("excluding is empty: no assignment lacks one of no events")
        if self._forbidden is None or not np.array_equal(events, self._forbidden):
            if self._forbidden is not None:
                self._model.deleteRows(1, np.array([self._n_cells], dtype=np.int32))
            self._model.addRow(
                -highspy.kHighsInf, highspy.kHighsInf, len(events), events, np.ones(len(events))
            )
            self._forbidden = events
        self._model.changeRowBounds(self._n_cells, -highspy.kHighsInf, len(events) - 1.0)

    def _solve(self, scores: Vector, including: NDArray[np.int32]) -> Assignment:
        # Tolerances of the solver are absolute.
        scale = np.abs(scores).max(initial=0.0)
        self._model.changeColsCost(len(self._columns), self._columns, scores / scale if scale else scores)
        self.searches += 1
        self._fix(including, np.ones(len(including)))
        try:
            y = self._best_integral()
        finally:
            self._free(including)
        if y is None:
            raise NoAssignmentError("no assignment obeys what was demanded of its events")
        return y > 0.5

    def _best_integral(self) -> Vector | None:
        """Return the best integral solution, None if there is none: depth first, with the event first."""
        best, best_value = None, -np.inf
        nodes: list[dict[int, float]] = [{}]
        for _ in range(_FEW_PROGRAMMES):
            fixed = nodes.pop()
            y, value = self._relaxation(fixed)
            if y is not None and value > best_value + _PRECISION:
                distance = np.abs(y - np.round(y))
                if (distance <= _PRECISION).all():
                    best, best_value = y, value
                    self.integral += not fixed
                else:
                    undecided = int(np.argmax(distance))
                    nodes += [{**fixed, undecided: 0.0}, {**fixed, undecided: 1.0}]
            if not nodes:
                return best
        return self._by_cutting_planes()

    def _by_cutting_planes(self) -> Vector | None:
        """Let the solver's own branch and cut do what is left: slow to begin, but it comes to an end."""
        self._set_kind(highspy.HighsVarType.kInteger)
        try:
            return self._run()[0]
        finally:
            self._set_kind(highspy.HighsVarType.kContinuous)

    def _relaxation(self, fixed: dict[int, float]) -> tuple[Vector | None, float]:
        """Return the solution of the linear programme with some events decided, and its value."""
        columns = np.array(list(fixed), dtype=np.int32)
        self._fix(columns, np.array(list(fixed.values())))
        try:
            return self._run()
        finally:
            self._free(columns)

    def _run(self) -> tuple[Vector | None, float]:
        self.programmes += 1
        self._model.run()
        status = self._model.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return None, -np.inf
        if status not in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kModelEmpty):
            raise RuntimeError(f"the solver ended with {self._model.modelStatusToString(status)}")
        return np.array(self._model.getSolution().col_value), self._model.getInfo().objective_function_value

    def _set_kind(self, kind: highspy.HighsVarType) -> None:
        kinds = np.full(len(self._columns), int(kind), dtype=np.uint8)
        self._model.changeColsIntegrality(len(self._columns), self._columns, kinds)

    def _fix(self, columns: NDArray[np.int32], values: Vector) -> None:
        if len(columns):
            self._model.changeColsBounds(len(columns), columns, values, values)

    def _free(self, columns: NDArray[np.int32]) -> None:
        if len(columns):
            self._model.changeColsBounds(len(columns), columns, np.zeros(len(columns)), np.ones(len(columns)))


def _linear_programme(incidence: csc_array) -> highspy.Highs:
    """Return the maximisation over ``incidence @ y = 1, 0 <= y <= 1`` without costs."""
    n_rows, n_columns = incidence.shape
    programme = highspy.HighsLp()
    programme.num_col_, programme.num_row_ = n_columns, n_rows
    programme.sense_ = highspy.ObjSense.kMaximize
    programme.col_cost_ = np.zeros(n_columns)
    programme.col_lower_, programme.col_upper_ = np.zeros(n_columns), np.ones(n_columns)
    programme.row_lower_, programme.row_upper_ = np.ones(n_rows), np.ones(n_rows)
    programme.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    programme.a_matrix_.start_ = incidence.indptr
    programme.a_matrix_.index_ = incidence.indices
    programme.a_matrix_.value_ = incidence.data
    model = highspy.Highs()
    model.setOptionValue("output_flag", False)
    model.setOptionValue("threads", 1)
    model.setOptionValue("mip_rel_gap", 0.0)
    model.setOptionValue("mip_abs_gap", 0.0)
    model.passModel(programme)
    return model
