"""Assignments between few cells, many at a time: a linear programme is slow to begin, a search is not."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.blas import one_blas_thread
from ermlab._utils.parallel import over_ranges
from ermlab.tracking._small_assignment_numba import choose_all, search, search_all
from ermlab.tracking.assignment import (
    NONE,
    Assigner,
    Assignment,
    Hypotheses,
    NoAssignmentError,
    checked_events,
)
from ermlab.tracking.packing import checked_scores

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: Cells of both frames together that the bits of a number have room for.
MOST_CELLS = 64
#: Steps of the search after which a linear programme takes over.
_LIMIT = 100_000
#: Problems that are worth a thread of their own.
_GRAIN = 64


class SmallHypotheses(Hypotheses):
    """Candidate events between few cells: `Hypotheses` whose features are one matrix."""

    @cached_property
    def matrix(self) -> Vector:
        """The features of each event at the places of its kind in the weight vector, (events, dimension)."""
        widths = [some.features.shape[1] for some in self.candidates.values()]
        lengths = [len(some) for some in self.candidates.values()]
        matrix = np.zeros((sum(lengths), sum(widths)))
        row = column = 0
        for some, length, width in zip(self.candidates.values(), lengths, widths, strict=True):
            matrix[row : row + length, column : column + width] = some.features
            row, column = row + length, column + width
        return matrix

    @cached_property
    def taken(self) -> NDArray[np.uint64]:
        """The cells that each event takes, as bits: those of the first frame, then those of the second."""
        if (n_cells := self.n_sources + self.n_targets) > MOST_CELLS:
            raise ValueError(f"{n_cells} cells in both frames: expected at most {MOST_CELLS}")
        cells = np.hstack([self.sources, np.where(self.targets == NONE, NONE, self.targets + self.n_sources)])
        bits = np.uint64(1) << np.where(cells == NONE, 0, cells).astype(np.uint64)
        return np.bitwise_or.reduce(np.where(cells == NONE, np.uint64(0), bits), axis=1)

    def __len__(self) -> int:
        return len(self.matrix)

    def scores(self, w: ArrayLike) -> Vector:
        """Return the score of each event."""
        w = np.asarray(w, dtype=np.float64)
        if w.shape != (self.dimension,):
            raise ValueError(f"w has shape {w.shape}: expected ({self.dimension},)")
        # Without warnings, unlike the operator: what overflows is refused where an assignment is looked for.
        return np.dot(self.matrix, w)

    def joint_feature(self, y: ArrayLike) -> Vector:
        """Return the summed features of the events of an assignment."""
        return np.asarray(y, dtype=np.float64) @ self.matrix

    @cached_property
    def dimension(self) -> int:
        """Length of the weight vector."""
        return self.matrix.shape[1]


class SmallAssigner:
    """Finds assignments between few cells as `Assigner` does, in microseconds.

    Parameters
    ----------
    limit
        Steps of the search, after which a linear programme takes over.
    """

    def __init__(self, hypotheses: SmallHypotheses, limit: int = _LIMIT):
        self.hypotheses = hypotheses
        self._limit = limit
        self._taken = hypotheses.taken

    def best(self, scores: ArrayLike, *, including: ArrayLike = ()) -> Assignment:
        """Return the assignment with the largest sum of scores, among those that have some events."""
        including = checked_events("including", including, len(self._taken))
        found, _ = self._search(scores, 1, including)
        if found is None:
            return self._programme.best(scores, including=including)
        found[0, including] = True
        return found[0]

    def worst(self, scores: ArrayLike) -> Assignment:
        """Return the assignment with the least sum of scores."""
        return self.best(-np.asarray(scores, dtype=np.float64))

    def best_two(self, scores: ArrayLike) -> tuple[Assignment, Assignment]:
        """Return the best assignment and the best of all others."""
        found, values = self._search(scores, 2, np.zeros(0, dtype=np.int64))
        if found is None:
            return self._programme.best_two(scores)
        if values[1] == -np.inf:
            raise NoAssignmentError("there is but one assignment")
        return found[0], found[1]

    @cached_property
    def _programme(self) -> Assigner:
        return Assigner(self.hypotheses)

    def _search(
        self, scores: ArrayLike, wanted: int, including: Numbers
    ) -> tuple[NDArray[np.bool_] | None, Vector]:
        """Return the best assignments and their scores; None if the search has come to its limit."""
        scores = checked_scores(scores, len(self._taken))
        n_cells = self.hypotheses.n_sources + self.hypotheses.n_targets
        values, events = np.empty(wanted), np.empty((wanted, n_cells), dtype=np.int64)
        covered = self._cells_of(including)
        if not search(self._taken, scores, n_cells, covered, self._limit, values, events):
            return None, values
        found = np.zeros((wanted, len(scores)), dtype=bool)
        for rank in range(wanted):
            found[rank, events[rank, events[rank] >= 0]] = True
        return found, values

    def _cells_of(self, events: Numbers) -> np.uint64:
        covered = np.uint64(0)
        for event in events.tolist():
            if covered & self._taken[event]:
                raise NoAssignmentError(f"event {event} takes a cell that another event takes")
            covered |= self._taken[event]
        return covered


class SmallProblems:
    """Many small sets of hypotheses whose best assignments are looked for with the same weights.

    Parameters
    ----------
    problems
        The hypotheses, with weights of one length.
    limit
        As in `SmallAssigner`.
    """

    def __init__(self, problems: Sequence[SmallHypotheses], limit: int = _LIMIT):
        if not len(problems) or len({problem.dimension for problem in problems}) > 1:
            raise ValueError(f"{len(problems)} problems: expected at least 1, with weights of one length")
        self._problems, self._limit = list(problems), limit
        self._matrix = np.concatenate([problem.matrix for problem in problems])
        self._taken = np.concatenate([problem.taken for problem in problems])
        self._starts = np.concatenate([[0], np.cumsum([len(problem) for problem in problems])])
        self._n_cells = np.array([problem.n_sources + problem.n_targets for problem in problems])

    def __len__(self) -> int:
        return len(self._problems)

    @property
    def features(self) -> Vector:
        """The features of the events of all problems, one after the other, (events, dimension)."""
        return self._matrix

    @property
    def starts(self) -> Numbers:
        """Number of the first event of each problem, and behind the last the number of all events."""
        return self._starts

    def best(
        self,
        scores: ArrayLike,
        numbers: ArrayLike,
        including: NDArray[np.bool_] | None = None,
        n_threads: int | None = None,
    ) -> Assignment:
        """Return the events of the best assignments of some problems, as marks of the events of all.

        Parameters
        ----------
        scores
            Of the events of all problems.
        numbers
            The problems; no event of another is marked.
        including
            Marks of events that the assignments must have; no two of them may take the same cell.
        n_threads
            As in `best_values`.
        """
        scores, numbers = checked_scores(scores, len(self._taken)), self._checked_numbers(numbers)
        including = np.zeros(len(scores), dtype=bool) if including is None else np.asarray(including)
        if including.shape != scores.shape or including.dtype != np.bool_:
            raise ValueError(
                f"including has shape {including.shape} of {including.dtype}: expected {len(scores)} marks"
            )
        chosen, solved = np.zeros(len(scores), dtype=bool), np.empty(len(numbers), dtype=bool)

        def work(start: int, stop: int) -> None:
            choose_all(
                numbers[start:stop],
                self._starts,
                self._n_cells,
                self._taken,
                scores,
                including,
                self._limit,
                chosen,
                solved[start:stop],
            )

        over_ranges(work, len(numbers), n_threads, _GRAIN)
        for number in numbers[~solved]:
            here = slice(self._starts[number], self._starts[number + 1])
            assigner = Assigner(self._problems[number])
            chosen[here] = assigner.best(scores[here], including=np.flatnonzero(including[here]))
        return chosen

    def best_values(
        self, w: ArrayLike, numbers: ArrayLike, wanted: int = 1, n_threads: int | None = None
    ) -> Vector:
        """Return the scores of the best assignments of some problems, (problems, wanted).

        Parameters
        ----------
        wanted
            How many of each: 1 or 2. Where there is but one assignment, the second score is -inf.
        n_threads
            Problems that are worked on at the same time; the result does not depend on it.
        """
        if wanted not in (1, 2):
            raise ValueError(f"wanted is {wanted}: expected 1 or 2")
        numbers, w = self._checked_numbers(numbers), np.asarray(w, dtype=np.float64)
        if w.shape != (self._matrix.shape[1],):
            raise ValueError(f"w has shape {w.shape}: expected ({self._matrix.shape[1]},)")
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            scores = checked_scores(self._matrix @ w, len(self._taken))
        values = np.empty((len(numbers), wanted))

        def work(start: int, stop: int) -> None:
            search_all(
                numbers[start:stop],
                self._starts,
                self._n_cells,
                self._taken,
                scores,
                self._limit,
                values[start:stop],
            )

        over_ranges(work, len(numbers), n_threads, _GRAIN)
        for k in np.flatnonzero(np.isnan(values).any(axis=1)):
            values[k] = self._by_programme(scores, int(numbers[k]), wanted)
        return values

    def _checked_numbers(self, numbers: ArrayLike) -> Numbers:
        """Return numbers of problems; a ValueError says what is wrong with them."""
        numbers = np.asarray(numbers)
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise ValueError(
                f"numbers have shape {numbers.shape} of {numbers.dtype}: expected numbers of problems"
            )
        numbers = numbers.astype(np.int64)
        wrong = numbers[(numbers < 0) | (numbers >= len(self))]
        if len(wrong):
            raise ValueError(f"numbers hold {wrong[:5].tolist()}: expected problems 0 to {len(self) - 1}")
        return numbers

    def _by_programme(self, scores: Vector, number: int, wanted: int) -> Vector:
        here = scores[self._starts[number] : self._starts[number + 1]]
        assigner = Assigner(self._problems[number])
        values = np.full(wanted, -np.inf)
        try:
            found = assigner.best_two(here) if wanted == 2 else [assigner.best(here)]
        except NoAssignmentError:
            found = [assigner.best(here)]
        values[: len(found)] = [here[y].sum() for y in found]
        return values
