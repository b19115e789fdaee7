"""Assignments between few cells: depth-first search, for many small problems at once.

A search among few cells ends before a linear program would be set up.
"""

from __future__ import annotations

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
    check_events,
)
from ermlab.tracking.packing import check_scores

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: Number of cells in both frames that fit into the bits of an integer.
MAX_CELLS = 64
#: Steps of the search after which `Assigner` takes over.
_MAX_STEPS = 100_000
#: Smallest number of problems that is worth a thread.
_GRAIN = 64


class SmallHypotheses(Hypotheses):
    """Candidate events between few cells: `Hypotheses` whose features are one matrix."""

    @cached_property
    def matrix(self) -> Vector:
        """Features of all events, of shape (n_events, dimension), at the places of their kind's weights."""
        blocks = [events.features for events in self.candidates.values()]
        matrix = np.zeros(np.sum([block.shape for block in blocks], axis=0, dtype=int))
        row = column = 0
        for block in blocks:
            height, width = block.shape
            matrix[row : row + height, column : column + width] = block
            row, column = row + height, column + width
        return matrix

    @cached_property
    def taken(self) -> NDArray[np.uint64]:
        """The cells that each event takes, as bits: those of the first frame, then those of the second."""
        if self.n_cells > MAX_CELLS:
            raise ValueError(f"{self.n_cells} cells in both frames: expected at most {MAX_CELLS}")
        bits = np.uint64(1) << np.where(self.cells == NONE, 0, self.cells).astype(np.uint64)
        return np.bitwise_or.reduce(np.where(self.cells == NONE, np.uint64(0), bits), axis=1)

    def __len__(self) -> int:
        return len(self.matrix)

    def scores(self, w: ArrayLike) -> Vector:
        """Return the score of each event."""
        # Unlike the operator, without warnings: scores that overflow are rejected by the search.
        return np.dot(self.matrix, self._check_weights(w))

    def joint_feature(self, y: ArrayLike) -> Vector:
        """Return the sum of the features of the events of an assignment."""
        return np.asarray(y, dtype=np.float64) @ self.matrix

    @cached_property
    def dimension(self) -> int:
        """Length of the weight vector."""
        return self.matrix.shape[1]


class SmallAssigner:
    """Search for the best assignments between few cells, as `Assigner` but within microseconds.

    Parameters
    ----------
    hypotheses : SmallHypotheses
        The candidate events.
    max_steps : int, default=100_000
        Steps of the search after which `Assigner` takes over.
    """

    def __init__(self, hypotheses: SmallHypotheses, max_steps: int = _MAX_STEPS):
        self.hypotheses = hypotheses
        self._max_steps = max_steps
        self._taken = hypotheses.taken

    def best(self, scores: ArrayLike, *, including: ArrayLike = ()) -> Assignment:
        """Return the assignment with the largest sum of scores that has the events ``including``."""
        including = check_events(including, len(self._taken), "including")
        found, _ = self._search(scores, 1, including)
        if found is None:
            return self._fallback.best(scores, including=including)
        found[0, including] = True
        return found[0]

    def worst(self, scores: ArrayLike) -> Assignment:
        """Return the assignment with the smallest sum of scores."""
        return self.best(-np.asarray(scores, dtype=np.float64))

    def best_two(self, scores: ArrayLike) -> tuple[Assignment, Assignment]:
        """Return the best and the second best assignment."""
        found, values = self._search(scores, 2, np.zeros(0, dtype=np.int64))
        if found is None:
            return self._fallback.best_two(scores)
        if values[1] == -np.inf:
            raise NoAssignmentError("there is only one assignment")
        return found[0], found[1]

    @cached_property
    def _fallback(self) -> Assigner:
        return Assigner(self.hypotheses)

    def _search(
        self, scores: ArrayLike, n_best: int, including: Numbers
    ) -> tuple[NDArray[np.bool_] | None, Vector]:
        """Return the best assignments and their scores; None if the search reached its limit."""
        scores = check_scores(scores, len(self._taken))
        n_cells = self.hypotheses.n_cells
        values, events = np.empty(n_best), np.empty((n_best, n_cells), dtype=np.int64)
        covered = self._cells_of(including)
        if not search(self._taken, scores, n_cells, covered, self._max_steps, values, events):
            return None, values
        found = np.zeros((n_best, len(scores)), dtype=bool)
        for rank in range(n_best):
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
    """Many small problems whose best assignments are searched with the same weights.

    Parameters
    ----------
    problems : sequence of SmallHypotheses
        The candidate events of each problem, all with the same features.
    max_steps : int, default=100_000
        As in `SmallAssigner`.

    Attributes
    ----------
    features : ndarray of shape (n_events, dimension)
        The features of the events of all problems, one problem after the other.
    starts : ndarray of shape (n_problems + 1,)
        Index of the first event of each problem, then the number of all events.
    """

    def __init__(self, problems: Sequence[SmallHypotheses], max_steps: int = _MAX_STEPS):
        if not len(problems) or len({problem.dimension for problem in problems}) > 1:
            raise ValueError(f"{len(problems)} problems: expected at least 1, with weights of one length")
        self._problems, self._max_steps = list(problems), max_steps
        self.features = np.concatenate([problem.matrix for problem in problems])
        self._taken = np.concatenate([problem.taken for problem in problems])
        self.starts = np.concatenate([[0], np.cumsum([len(problem) for problem in problems])])
        self._n_cells = np.array([problem.n_cells for problem in problems])

    def __len__(self) -> int:
        return len(self._problems)

    def best(
        self,
        scores: ArrayLike,
        numbers: ArrayLike,
        including: NDArray[np.bool_] | None = None,
        n_jobs: int | None = None,
    ) -> Assignment:
        """Return a mask over the events of all problems: the best assignments of the problems ``numbers``.

        Parameters
        ----------
        scores : array-like of shape (n_events,)
            The scores of the events of all problems.
        numbers : array-like of int
            Indices of the problems; events of other problems are False.
        including : ndarray of bool of shape (n_events,), optional
            Events that the assignments must have; no two of them may take the same cell.
        n_jobs : int, optional
            As in `best_values`.
        """
        scores, numbers = check_scores(scores, len(self._taken)), self._check_numbers(numbers)
        including = np.zeros(len(scores), dtype=bool) if including is None else np.asarray(including)
        if including.shape != scores.shape or including.dtype != np.bool_:
            raise ValueError(
                f"including has shape {including.shape} of {including.dtype}: expected a mask of "
                f"{len(scores)} events"
            )
        chosen, solved = np.zeros(len(scores), dtype=bool), np.empty(len(numbers), dtype=bool)

        def work(start: int, stop: int) -> None:
            problems = (numbers[start:stop], self.starts, self._n_cells, self._taken)
            choose_all(*problems, scores, including, self._max_steps, chosen, solved[start:stop])

        over_ranges(work, len(numbers), n_jobs, _GRAIN)
        for number in numbers[~solved]:
            here = slice(self.starts[number], self.starts[number + 1])
            assigner = Assigner(self._problems[number])
            chosen[here] = assigner.best(scores[here], including=np.flatnonzero(including[here]))
        return chosen

    def best_values(
        self, w: ArrayLike, numbers: ArrayLike, n_best: int = 1, n_jobs: int | None = None
    ) -> Vector:
        """Return the scores of the best assignments, of shape (n_problems, n_best).

        Parameters
        ----------
        w : array-like of shape (dimension,)
            The weights.
        numbers : array-like of int
            Indices of the problems.
        n_best : {1, 2}, default=1
            Number of assignments per problem. If there is only one, the second score is -inf.
        n_jobs : int, optional
            Number of threads; the result does not depend on it.
        """
        if n_best not in (1, 2):
            raise ValueError(f"n_best is {n_best}: expected 1 or 2")
        numbers, w = self._check_numbers(numbers), np.asarray(w, dtype=np.float64)
        if w.shape != (self.features.shape[1],):
            raise ValueError(f"w has shape {w.shape}: expected ({self.features.shape[1]},)")
        with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
            scores = check_scores(self.features @ w, len(self._taken))
        values = np.empty((len(numbers), n_best))

        def work(start: int, stop: int) -> None:
            problems = (numbers[start:stop], self.starts, self._n_cells, self._taken)
            search_all(*problems, scores, self._max_steps, values[start:stop])

        over_ranges(work, len(numbers), n_jobs, _GRAIN)
        for k in np.flatnonzero(np.isnan(values).any(axis=1)):
            values[k] = self._values_by_assigner(scores, int(numbers[k]), n_best)
        return values

    def _check_numbers(self, numbers: ArrayLike) -> Numbers:
        """Return indices of problems, or raise a ValueError."""
        numbers = np.asarray(numbers)
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise ValueError(
                f"numbers have shape {numbers.shape} of {numbers.dtype}: expected indices of problems"
            )
        numbers = numbers.astype(np.int64)
        wrong = numbers[(numbers < 0) | (numbers >= len(self))]
        if len(wrong):
            raise ValueError(f"numbers hold {wrong[:5].tolist()}: expected problems 0 to {len(self) - 1}")
        return numbers

    def _values_by_assigner(self, scores: Vector, number: int, n_best: int) -> Vector:
        here = scores[self.starts[number] : self.starts[number + 1]]
        assigner = Assigner(self._problems[number])
        values = np.full(n_best, -np.inf)
        try:
            found = assigner.best_two(here) if n_best == 2 else [assigner.best(here)]
        except NoAssignmentError:
            found = [assigner.best(here)]
        values[: len(found)] = [here[y].sum() for y in found]
        return values
