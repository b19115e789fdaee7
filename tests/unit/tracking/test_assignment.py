"""Assignments: what an event may take, and rejected input."""

from dataclasses import replace

import numpy as np
import pytest

from ermlab.tracking import _set_program, packing
from ermlab.tracking.assignment import (
    EVENTS,
    Assigner,
    Candidates,
    Hypotheses,
    NoAssignmentError,
    UnprovedError,
)
from ermlab.tracking.events import Cells, Gates, hypotheses_between
from ermlab.tracking.integer_program import solve_assignment


def candidates(sources, targets):
    sources, targets = (np.array(side, dtype=np.int64).reshape(-1, 2) for side in (sources, targets))
    return Candidates(sources, targets, np.ones((len(sources), 1)))


@pytest.fixture
def problem():
    """Two cells, the first of which divides or moves, the second of which moves or disappears."""
    return Hypotheses(
        2,
        3,
        {
            "move": candidates([(0, -1), (1, -1)], [(0, -1), (2, -1)]),
            "division": candidates([(0, -1)], [(0, 1)]),
            "merge": candidates([(0, 1)], [(2, -1)]),
            "split": candidates([], []),
            "appearance": candidates([(-1, -1)] * 3, [(0, -1), (1, -1), (2, -1)]),
            "disappearance": candidates([(0, -1), (1, -1)], [(-1, -1)] * 2),
        },
    )


def test_the_events_that_score_most_happen_together(problem):
    assert problem.kind.tolist() == [0, 0, 1, 2, 4, 4, 4, 5, 5]
    # A division of the first cell and a move of the second explain all cells.
    scores = np.array([1.0, 1, 1.5, 1, -1, -1, -1, -1, -1])
    assert np.flatnonzero(Assigner(problem).best(scores)).tolist() == [1, 2]
    # Where the merge scores more than both, the two pieces of the division appear.
    scores[3] = 6.0
    assert np.flatnonzero(Assigner(problem).best(scores)).tolist() == [3, 4, 5]


def test_the_simplest_assignment_is_that_nothing_is_related(problem):
    assert problem.is_assignment(problem.kind >= 4)
    assert not problem.is_assignment(problem.kind == 4)
    assert not problem.is_assignment(np.ones(len(problem)))
    with pytest.raises(ValueError, match=r"y has shape \(3,\): expected \(9,\)"):
        problem.is_assignment(np.ones(3))


def test_frames_without_cells_are_legal():
    nothing = candidates([], [])
    empty = Hypotheses(0, 0, dict.fromkeys(EVENTS, nothing))
    assert Assigner(empty).best([]).tolist() == []
    appears = candidates([(-1, -1)], [(0, -1)])
    first = Hypotheses(0, 1, {**dict.fromkeys(EVENTS, nothing), "appearance": appears})
    assert Assigner(first).best([-3.0]).tolist() == [True]


def test_demands_that_contradict_each_other_are_rejected(problem):
    with pytest.raises(NoAssignmentError, match="take the same cell"):
        Assigner(problem).best(np.zeros(9), including=[0, 2])
    with pytest.raises(ValueError, match=r"including has \[9\]: expected indices 0 to 8"):
        Assigner(problem).best(np.zeros(9), including=[9])
    with pytest.raises(ValueError, match=r"excluding has \[-1\]"):
        Assigner(problem).best(np.zeros(9), excluding=[-1])


def test_an_assigner_goes_on_after_a_contradiction(problem):
    assigner, scores = Assigner(problem), np.arange(9.0)
    before = assigner.best(scores)
    with pytest.raises(NoAssignmentError):
        assigner.best(scores, including=[0, 2])
    np.testing.assert_array_equal(assigner.best(scores), before)


def test_wrong_scores_and_weights_are_rejected(problem):
    for scores in (np.zeros(8), np.full(9, np.nan)):
        with pytest.raises(ValueError, match="expected 9 finite numbers"):
            Assigner(problem).best(scores)
    with pytest.raises(ValueError, match=r"w has shape \(5,\): expected \(6,\)"):
        problem.scores(np.zeros(5))


@pytest.mark.parametrize(
    ("event", "change", "message"),
    [
        (
            "move",
            {"targets": np.array([[0, -1], [3, -1]])},
            "targets of move: expected 1 of the cells 0 to",
        ),
        ("move", {"targets": np.array([[0, 1], [2, -1]])}, "targets of move: expected 1 of the cells"),
        ("move", {"sources": np.array([[0, -1]])}, r"sources of move has shape \(1, 2\): expected \(2, 2\)"),
        ("division", {"targets": np.array([[1, 1]])}, "the same cell twice"),
        ("division", {"targets": np.array([[1, -1]])}, "targets of division: expected 2 of the cells"),
        ("merge", {"features": np.array([[np.nan]])}, "features of merge: expected rows of finite numbers"),
        ("disappearance", {"sources": np.array([[0, -1]] * 2)}, r"cells \[1\] have no disappearance"),
    ],
)
def test_wrong_events_are_rejected(problem, event, change, message):
    changed = {**problem.candidates, event: replace(problem.candidates[event], **change)}
    with pytest.raises(ValueError, match=message):
        Hypotheses(2, 3, changed)


def test_every_kind_of_event_is_named(problem):
    with pytest.raises(ValueError, match="candidates of"):
        Hypotheses(2, 3, {"move": problem.candidates["move"]})


def tied_grid(side):
    """Return the hypotheses of cells on a grid, with scores that make pairs nearly as good as triples."""
    place, n = 6.0 * np.indices((side, side)).reshape(2, -1).T, side**2
    cells = Cells(place, np.full(n, 30.0), np.ones(n), np.zeros(n), (6 * side + 2, 6 * side + 2))
    hypotheses = hypotheses_between(cells, cells, Gates())
    return hypotheses, np.array([0.0, 0.0, 1.9, 3.0])[(hypotheses.cells != -1).sum(axis=1)]


def test_the_integer_program_takes_over_where_the_fast_search_is_stopped(monkeypatch):
    hypotheses, scores = tied_grid(6)
    monkeypatch.setattr(_set_program, "_MAX_NODES", 1)
    best = Assigner(hypotheses).best(scores)
    assert hypotheses.is_assignment(best)
    assert scores[best].sum() == pytest.approx(72.0)  # one triple for every three of 72 cells


def test_a_search_among_tied_triples_is_stopped_after_a_number_of_nodes(monkeypatch):
    hypotheses, scores = tied_grid(4)
    monkeypatch.setattr(packing, "_MAX_STEPS", 1)
    monkeypatch.setattr(_set_program, "_MAX_NODES", 1)
    monkeypatch.setitem(solve_assignment.__kwdefaults__, "max_nodes", 1)
    with pytest.raises(UnprovedError, match=r"not proved after 1 nodes .* expected scores with fewer ties"):
        Assigner(hypotheses).best(scores)
