"""Assignments between few cells against the enumeration of all of them, and against linear programmes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from ermlab.tracking.assignment import NoAssignmentError
from ermlab.tracking.small_assignment import SmallAssigner, SmallHypotheses, SmallProblems
from reproduction.experiments.tracking.enumeration import random_hypotheses

#: Steps with which no search comes to an end, so that the linear programme is asked.
NONE_AT_ALL = 0


def small(hypotheses):
    return SmallHypotheses(hypotheses.n_sources, hypotheses.n_targets, hypotheses.candidates)


def problem(seed, m, n, share=0.6):
    return small(random_hypotheses(np.random.default_rng([seed, m, n]), m, n, share))


problems = st.builds(
    problem, st.integers(0, 10**6), st.integers(0, 4), st.integers(0, 4), st.sampled_from([0.3, 1.0])
)


@settings(deadline=None, max_examples=80)
@given(problems, st.integers(0, 10**6), st.booleans())
def test_best_worst_and_second_are_those_of_the_enumeration(all_assignments, some, seed, whole):
    rng = np.random.default_rng(seed)
    every = all_assignments(some)
    # Whole numbers tie often.
    scores = rng.integers(-2, 3, len(some)).astype(float) if whole else rng.normal(size=len(some))
    values = np.sort(every @ scores)
    assigner = SmallAssigner(some)
    for y, value in ((assigner.best(scores), values[-1]), (assigner.worst(scores), values[0])):
        assert some.is_assignment(y)
        assert scores[y].sum() == pytest.approx(value, abs=1e-9)
    if len(every) == 1:
        with pytest.raises(NoAssignmentError, match="only one"):
            assigner.best_two(scores)
        return
    first, second = assigner.best_two(scores)
    assert some.is_assignment(second)
    assert not np.array_equal(first, second)
    assert [scores[first].sum(), scores[second].sum()] == pytest.approx(values[:-3:-1], abs=1e-9)


@settings(deadline=None, max_examples=60)
@given(problems, st.integers(0, 10**6))
def test_the_best_of_those_with_some_events(all_assignments, some, seed):
    rng = np.random.default_rng(seed)
    every, scores = all_assignments(some), rng.normal(size=len(some))
    known = np.flatnonzero(every[seed % len(every)])[:: 1 + seed % 2]
    y = SmallAssigner(some).best(scores, including=known)
    assert some.is_assignment(y)
    assert y[known].all()
    agreeing = every[every[:, known].all(axis=1)]
    assert scores[y].sum() == pytest.approx((agreeing @ scores).max(), abs=1e-9)


@settings(deadline=None, max_examples=20)
@given(problems, st.integers(0, 10**6))
def test_a_search_that_is_too_long_is_left_to_the_linear_programme(some, seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=len(some))
    known = np.flatnonzero(SmallAssigner(some).best(scores))[::2]
    searched, programmed = SmallAssigner(some), SmallAssigner(some, max_steps=NONE_AT_ALL)
    for including in ((), known):
        one, other = (x.best(scores, including=including) for x in (searched, programmed))
        np.testing.assert_array_equal(one, other)


def test_scores_and_features_are_those_of_the_general_hypotheses():
    rng = np.random.default_rng(0)
    general = random_hypotheses(rng, 3, 4, share=0.5)
    some, w, y = small(general), rng.normal(size=general.dimension), rng.random(len(general)) < 0.3
    assert (some.dimension, len(some)) == (general.dimension, len(general))
    np.testing.assert_allclose(some.scores(w), general.scores(w))
    np.testing.assert_allclose(some.joint_feature(y), general.joint_feature(y))


@pytest.mark.parametrize("limit", [100_000, NONE_AT_ALL])
def test_many_problems_at_once(limit):
    some = [problem(seed, seed % 4, (seed + 1) % 4) for seed in range(80)]
    rng = np.random.default_rng(1)
    w, numbers = rng.normal(size=some[0].dimension), rng.permutation(80)[:70]
    many = SmallProblems(some, limit)
    for wanted in (1, 2):
        found = many.best_values(w, numbers, wanted, n_jobs=1)
        np.testing.assert_array_equal(found, many.best_values(w, numbers, wanted, n_jobs=2))
        expected = np.full((len(numbers), wanted), -np.inf)
        for k, i in enumerate(numbers):
            scores, assigner = some[i].scores(w), SmallAssigner(some[i])
            try:
                best = assigner.best_two(scores)[:wanted]
            except NoAssignmentError:
                best = [assigner.best(scores)]
            expected[k, : len(best)] = [scores[y].sum() for y in best]
        np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize(("n_features", "n"), [(6, 20_001), (11, 20_001), (40, 5_003)])
def test_values_do_not_depend_on_the_threads_of_the_linear_algebra(n_features, n):
    """A product with so large a matrix is shared among threads, which add in another order at the seams."""
    rng = np.random.default_rng(0)
    some = [small(random_hypotheses(rng, 1, 0, n_features=n_features)) for _ in range(10)]
    many = SmallProblems((some * n)[:n])
    w = rng.normal(size=many.features.shape[1])
    values = []
    for n_jobs in (1, 2):
        with threadpool_limits(n_jobs, user_api="blas"):
            values.append(many.best_values(w, np.arange(n), n_jobs=1))
    np.testing.assert_array_equal(*values)


def test_no_cell_has_one_assignment():
    nothing = problem(0, 0, 0)
    assert SmallAssigner(nothing).best([]).shape == (0,)
    values = SmallProblems([nothing]).best_values(np.zeros(nothing.dimension), [0], n_best=2)
    np.testing.assert_array_equal(values, [[0, -np.inf]])


def test_as_many_cells_as_bits_and_no_more():
    assigner = SmallAssigner(problem(0, 32, 32, share=0))
    scores = np.ones(len(assigner.hypotheses))
    assert assigner.best(scores).sum() == 64
    with pytest.raises(ValueError, match="65 cells in both frames: expected at most 64"):
        SmallAssigner(problem(0, 33, 32, share=0))


def test_clear_errors():
    some = problem(0, 2, 2)
    assigner, scores = SmallAssigner(some), np.zeros(len(some))
    with pytest.raises(ValueError, match=r"expected .* finite numbers"):
        assigner.best(np.full(len(some), np.nan))
    with pytest.raises(ValueError, match=r"scores of shape \(1,\)"):
        assigner.best([0.0])
    with pytest.raises(ValueError, match="w has shape"):
        some.scores([1.0])
    with pytest.raises(ValueError, match=rf"including has \[{len(some)}\]: expected indices 0 to"):
        assigner.best(scores, including=[len(some)])
    sharing = np.flatnonzero((some.sources == 0).any(axis=1))[:2]
    with pytest.raises(NoAssignmentError, match="takes a cell that another"):
        assigner.best(scores, including=sharing)
    with pytest.raises(ValueError, match="0 problems: expected at least 1"):
        SmallProblems([])
    other = small(random_hypotheses(np.random.default_rng(0), 1, 1, n_features=3))
    with pytest.raises(ValueError, match=r"2 problems: expected .* weights of one length"):
        SmallProblems([some, other])


@pytest.mark.parametrize("limit", [100_000, NONE_AT_ALL])
def test_many_assignments_are_found_at_once(limit):
    rng = np.random.default_rng(3)
    some = [problem(seed, 3, 4) for seed in range(70)]
    many = SmallProblems(some, limit)
    assert many.features.shape == (many.starts[-1], some[0].dimension)
    scores = rng.normal(size=len(many.features))
    # One true event of each must be there.
    apart = [SmallAssigner(one).best(rng.normal(size=len(one))) for one in some]
    demanded = np.concatenate([y & (np.cumsum(y) == 1) for y in apart])
    numbers = np.array([5, 2, 69, 8, 40])
    for including in (None, demanded):
        chosen = [many.best(scores, numbers, including, n_jobs=n) for n in (1, 2)]
        np.testing.assert_array_equal(*chosen)
        for i in range(70):
            here = slice(many.starts[i], many.starts[i + 1])
            if i not in numbers:
                assert not chosen[0][here].any()
                continue
            events = () if including is None else np.flatnonzero(including[here])
            expected = SmallAssigner(some[i]).best(scores[here], including=events)
            np.testing.assert_array_equal(chosen[0][here], expected)
