"""Assignments against the enumeration of all of them, and against the integer program of the chapter."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ermlab.tracking.assignment import Assigner, NoAssignmentError
from ermlab.tracking.events import Cells, Gates, guessed_weights, hypotheses_between
from ermlab.tracking.integer_program import solve_assignment
from reproduction.experiments.tracking.enumeration import all_assignments, random_hypotheses

problems = st.builds(
    lambda seed, m, n, share: (
        random_hypotheses(np.random.default_rng(seed), m, n, share),
        np.random.default_rng([seed, 1]),
    ),
    st.integers(0, 10**6),
    st.integers(0, 4),
    st.integers(0, 4),
    st.sampled_from([0.3, 1.0]),
)


@settings(deadline=None, max_examples=60)
@given(problems)
def test_the_best_two_and_the_worst_are_those_of_the_enumeration(case):
    problem, rng = case
    every, scores = all_assignments(problem), rng.normal(size=len(problem))
    values = np.sort(every @ scores)
    assigner = Assigner(problem)
    best = assigner.best(scores)
    assert problem.is_assignment(best)
    assert scores[best].sum() == pytest.approx(values[-1], abs=1e-6)
    assert scores[assigner.worst(scores)].sum() == pytest.approx(values[0], abs=1e-6)
    if len(every) > 1:
        first, second = assigner.best_two(scores)
        assert scores[first].sum() == pytest.approx(values[-1], abs=1e-6)
        assert scores[second].sum() == pytest.approx(values[-2], abs=1e-6)
        assert not np.array_equal(first, second)
        assert problem.is_assignment(second)
    else:
        with pytest.raises(NoAssignmentError):
            assigner.best_two(scores)


@settings(deadline=None, max_examples=60)
@given(problems, st.integers(0, 10**6))
def test_events_are_included_and_excluded(case, seed):
    problem, rng = case
    every, scores = all_assignments(problem), rng.normal(size=len(problem))
    truth = every[seed % len(every)]
    annotated = np.flatnonzero(truth)[:: 1 + seed % 2]
    compatible = every[:, annotated].all(axis=1)
    assigner = Assigner(problem)
    inside = assigner.best(scores, including=annotated)
    assert inside[annotated].all()
    assert scores[inside].sum() == pytest.approx((every[compatible] @ scores).max(), abs=1e-6)
    if compatible.all():
        with pytest.raises(NoAssignmentError):
            assigner.best(scores, excluding=annotated)
    else:
        outside = assigner.best(scores, excluding=annotated)
        assert not outside[annotated].all()
        assert scores[outside].sum() == pytest.approx((every[~compatible] @ scores).max(), abs=1e-6)
    # What was demanded is forgotten: the next search is free again.
    assert scores[assigner.best(scores)].sum() == pytest.approx((every @ scores).max(), abs=1e-6)


@settings(deadline=None, max_examples=30)
@given(problems)
def test_scores_are_linear_in_the_joint_feature(case):
    problem, rng = case
    w, y = rng.normal(size=problem.dimension), rng.random(len(problem)) < 0.5
    assert problem.scores(w)[y].sum() == pytest.approx(w @ problem.joint_feature(y))
    single = [problem.joint_feature(row) for row in np.eye(len(problem))[y]]
    total = np.sum(single, axis=0) if y.any() else np.zeros(problem.dimension)
    np.testing.assert_allclose(total, problem.joint_feature(y), atol=1e-12)


@pytest.fixture
def no_search(monkeypatch):
    """Leave to programs what prices do not prove."""
    monkeypatch.setattr("ermlab.tracking.packing._MAX_STEPS", 0)


@pytest.mark.usefixtures("no_search")
def test_a_relaxation_that_is_not_integral_is_branched_on():
    rng = np.random.default_rng(0)
    fractional = 0
    for _ in range(200):
        problem = random_hypotheses(rng, 4, 4, 1.0)
        assigner, scores = Assigner(problem), rng.normal(size=len(problem))
        best = assigner.best(scores)
        branched = assigner.packing.branched > 0
        fractional += branched
        assert problem.is_assignment(best)
        if branched:
            assert scores[best].sum() == pytest.approx((all_assignments(problem) @ scores).max(), abs=1e-6)
        if fractional == 3:
            break
    assert fractional == 3


@pytest.mark.usefixtures("no_search")
def test_branch_and_cut_finds_the_same(monkeypatch):
    rng = np.random.default_rng(1)
    problem = random_hypotheses(rng, 4, 4, 1.0)
    every = all_assignments(problem)
    monkeypatch.setattr("ermlab.tracking._set_program._MAX_PROGRAMS", 0)
    assigner = Assigner(problem)
    for _ in range(20):
        scores = rng.normal(size=len(problem))
        best = assigner.best(scores)
        assert problem.is_assignment(best)
        assert scores[best].sum() == pytest.approx((every @ scores).max(), abs=1e-6)
    assert assigner.packing.branched > 0


@settings(deadline=None, max_examples=40)
@given(problems, st.integers(0, 10**6))
def test_the_integer_program_has_the_same_optimum(case, seed):
    problem, rng = case
    every, scores = all_assignments(problem), rng.normal(size=len(problem))
    known = np.flatnonzero(every[seed % len(every)])[::2]
    for demands in ({}, {"including": known}, {"excluding": known}):
        results = []
        for search in (Assigner(problem).best, partial(solve_assignment, problem)):
            try:
                y = search(scores, **demands)
            except NoAssignmentError:
                results.append(-np.inf)
            else:
                assert problem.is_assignment(y)
                results.append(scores[y].sum())
        assert results[0] == pytest.approx(results[1], abs=1e-6)


@pytest.mark.parametrize(("n_cells", "noise"), [(100, 0.5), (300, 0.5), (300, 3.0)])
def test_the_integer_program_has_the_same_optimum_for_hundreds_of_cells(n_cells, noise):
    rng = np.random.default_rng(n_cells)
    place = rng.uniform(0, 20 * np.sqrt(n_cells), (n_cells, 2))
    frames = [
        Cells(
            place + shift,
            np.full(n_cells, 100.0),
            np.ones(n_cells),
            np.zeros(n_cells),
            (int(21 * np.sqrt(n_cells)),) * 2,
        )
        for shift in (0.0, rng.normal(0, 4, place.shape))
    ]
    problem = hypotheses_between(*frames, Gates())
    scores = problem.scores(guessed_weights()) + noise * rng.normal(size=len(problem))
    values = [scores[y].sum() for y in (Assigner(problem).best(scores), solve_assignment(problem, scores))]
    assert values[0] == pytest.approx(values[1], rel=1e-9)
