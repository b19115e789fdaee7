"""Active learning against enumeration, a slow Algorithm 1.2, and pools whose informative sample is known."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ermlab._utils.model_files import read_model, write_model
from ermlab.exceptions import DataError
from ermlab.tracking.active_learning import MEASURES, ActiveLearner, log_convergence, log_mean, robust_mean
from ermlab.tracking.annotations import Annotation
from ermlab.tracking.assignment import NONE, Candidates, NoAssignmentError
from ermlab.tracking.patches import Patch
from ermlab.tracking.small_assignment import SmallHypotheses, SmallProblems
from reproduction.experiments.tracking.enumeration import random_hypotheses

LEARNED = [name for name in MEASURES if name != "random"]


def patch_of(hypotheses, events=()):
    """Return a patch in which some events are known to be true."""
    small = SmallHypotheses(hypotheses.n_sources, hypotheses.n_targets, hypotheses.candidates)
    sources, targets = np.arange(small.n_sources), np.arange(small.n_targets)
    known = Annotation(np.asarray(events, dtype=np.int64), (), False)
    return Patch(0, small, known, sources, targets, np.arange(len(small)))


def random_pool(seed, n, all_assignments):
    """Return patches with a random assignment, of which some events are known."""
    rng = np.random.default_rng(seed)
    pool = []
    for _ in range(n):
        hypotheses = random_hypotheses(rng, rng.integers(1, 4), rng.integers(1, 4), share=0.7)
        every = all_assignments(hypotheses)
        true = np.flatnonzero(every[rng.integers(len(every))])
        pool.append(patch_of(hypotheses, true[rng.random(len(true)) < 0.8]))
    return pool


def slow_log_uncertainty(measure, values):
    values = np.sort(values)
    if measure == "scoring":
        return -values[-1]
    if measure == "best_worst":
        return values[0] - values[-1]
    return values[-2] - values[-1] if len(values) > 1 else -math.inf


def slow_quantile(values, share):
    values = sorted(values)
    place = share * (len(values) - 1)
    low = math.floor(place)
    return values[low] + (place - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def slow_eta(averages):
    """Equation 1.8, word by word."""

    def inner_mean(values):
        low, high = slow_quantile(values, 0.1), slow_quantile(values, 0.9)
        inner = [v for v in values if low <= v <= high]
        return sum(inner) / len(inner)

    return abs(inner_mean(averages[1:]) - inner_mean(averages[:-1]))


def slow_active_learning(pool, outputs, measure, queries):
    """Algorithm 1.2 by enumeration, for so many queries."""
    w = np.zeros(pool[0].hypotheses.dimension)
    left, labelled, averages = list(range(len(pool))), [], []

    def measured():
        scores = [outputs[i] @ pool[i].hypotheses.scores(w) for i in left]
        return [slow_log_uncertainty(measure, values) for values in scores]

    for _ in range(queries):
        labelled.append(left[int(np.argmax(measured()))])
        left.remove(labelled[-1])
        for i in labelled:
            x, known = pool[i].hypotheses, pool[i].annotation.events
            # Without weights, cells that come and go are best.
            scores = x.scores(w) if w.any() else (x.kind >= 4).astype(float)
            best = outputs[i][np.argmax(outputs[i] @ scores)]
            agreeing = outputs[i][outputs[i][:, known].all(axis=1)]
            true = agreeing[np.argmax(agreeing @ scores)]
            if not best[known].all():
                w = w + x.joint_feature(true) - x.joint_feature(best)
        averages.append(float(np.mean(np.exp(measured()))))
    return labelled, w, averages


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(0, 3))
def test_measures_are_those_of_all_outputs(all_assignments, seed, m, n):
    rng = np.random.default_rng(seed)
    hypotheses = patch_of(random_hypotheses(rng, m, n, share=0.8)).hypotheses
    w = rng.normal(size=hypotheses.dimension)
    values = all_assignments(hypotheses) @ hypotheses.scores(w)
    problems = SmallProblems([hypotheses])
    for name in LEARNED:
        found = MEASURES[name](problems, w, np.array([0]))
        np.testing.assert_allclose(found, slow_log_uncertainty(name, values), atol=1e-10)


@pytest.mark.parametrize("measure", LEARNED)
def test_algorithm_is_that_of_the_chapter(all_assignments, measure):
    pool = random_pool(5, 25, all_assignments)
    outputs = [all_assignments(patch.hypotheses) for patch in pool]
    labelled, w, averages = slow_active_learning(pool, outputs, measure, queries=18)
    window, threshold = 6, 1e-2
    learner = ActiveLearner(pool, measure, window=window, threshold=threshold)
    stops = []
    for _ in range(18):
        number = learner.query()
        learner.annotate(number, pool[number].annotation.events)
        stops.append(learner.stopped)
    assert learner.labeled == labelled
    np.testing.assert_allclose(learner.w, w, atol=1e-9)
    np.testing.assert_allclose(np.exp(learner.history.log_average), averages, rtol=1e-9)
    etas = [slow_eta(averages[t - window : t + 1]) for t in range(window, 18)]
    assert np.isinf(learner.history.log_eta[:window]).all()
    np.testing.assert_allclose(np.exp(learner.history.log_eta[window:]), etas, rtol=1e-6, atol=1e-12)
    assert stops == [False] * window + [eta <= threshold for eta in etas]


def one_cell(feature):
    """Return two frames of one cell: it moves with this score, or it goes and another comes, with score 0."""
    one, none = np.array([[0, NONE]]), np.array([[NONE, NONE]])
    nothing = Candidates(np.zeros((0, 2), dtype=int), np.zeros((0, 2), dtype=int), np.zeros((0, 1)))
    return SmallHypotheses(
        1,
        1,
        {
            "move": Candidates(one, one, np.array([[feature]])),
            **dict.fromkeys(("division", "merge", "split"), nothing),
            "appearance": Candidates(none, one, np.zeros((1, 1))),
            "disappearance": Candidates(one, none, np.zeros((1, 1))),
        },
    )


def test_the_informative_sample_is_asked_for():
    features = [3.0, -2.0, 0.1, 5.0, -4.0]
    pool = [patch_of(one_cell(feature), [0]) for feature in features]
    w0 = np.eye(6)[0]
    asked = {measure: ActiveLearner(pool, measure, w0=w0).query() for measure in LEARNED}
    # The nearest to the boundary at 0; the first that is thought to score nothing.
    assert asked == {"best_second": 2, "best_worst": 2, "scoring": 1}
    learner = ActiveLearner(pool, "best_second", w0=w0)
    # It says that it moves, as was thought, then that another one does, which was not.
    learner.annotate(2, [0])
    np.testing.assert_array_equal(learner.w, w0)
    assert learner.query() == 1
    learner.annotate(1, [0])
    np.testing.assert_array_equal(learner.w, w0 * (1 - 2.0))
    np.testing.assert_array_equal(learner.history.averaged[-1], w0 * (1 + 1 - 1) / 3)
    assert learner.history.log_average[-1] == pytest.approx(math.log(np.mean(np.exp([-3, -5, -4]))))


def test_nothing_is_learned_from_an_annotation_of_no_event():
    pool = [patch_of(one_cell(1.0)), patch_of(one_cell(2.0))]
    learner = ActiveLearner(pool)
    learner.annotate(learner.query(), [])
    assert not learner.w.any()


@pytest.mark.parametrize("measure", list(MEASURES))
def test_runs_repeat_and_do_not_depend_on_threads(all_assignments, measure):
    pool = random_pool(2, 70, all_assignments)
    runs = []
    for n_jobs in (1, 2, 1):
        learner = ActiveLearner(pool, measure, random_state=np.random.default_rng(3), n_jobs=n_jobs)
        for _ in range(12):
            number = learner.query()
            learner.annotate(number, pool[number].annotation.events)
        runs.append(learner)
    for other in runs[1:]:
        assert other.labeled == runs[0].labeled
        assert other.history.log_average == runs[0].history.log_average
        np.testing.assert_array_equal(other.w, runs[0].w)


def test_random_asks_for_each_sample_once_and_stops_when_none_is_left():
    pool = [patch_of(one_cell(feature), [0]) for feature in range(1, 7)]
    learner = ActiveLearner(pool, "random", window=1, threshold=10.0)
    while not learner.stopped:
        learner.annotate(learner.query(), [0])
    assert sorted(learner.labeled) == list(range(6))
    with pytest.raises(ValueError, match="all samples are annotated"):
        learner.query()


def test_one_sample_and_a_patch_without_a_cell():
    nothing = patch_of(random_hypotheses(np.random.default_rng(0), 0, 0, n_features=1))
    learner = ActiveLearner([nothing])
    assert learner.query() == 0
    learner.annotate(0, [])
    assert learner.stopped
    assert learner.history.log_average == [-math.inf]
    # With but one output it is certain, so it is asked for last.
    learner = ActiveLearner([nothing, patch_of(one_cell(1.0), [0])], "best_second")
    assert learner.query() == 1


def test_convergence_is_zero_where_nothing_changes_and_in_the_log_domain():
    assert log_convergence([-3.0] * 5) == -math.inf
    assert log_convergence([-math.inf] * 5) == -math.inf
    averages = np.random.default_rng(0).random(12)
    plain = log_convergence(np.log(averages))
    assert plain == pytest.approx(math.log(slow_eta(averages.tolist())))
    for shift in (-2000.0, 2000.0):
        assert log_convergence(np.log(averages) + shift) == pytest.approx(plain + shift)
    assert log_mean([-2000.0, -2000.0 + math.log(3)]) == pytest.approx(-2000 + math.log(2))


def test_robust_mean_leaves_out_the_extremes():
    values = [*range(9), 1000.0, -1000.0]
    assert robust_mean(values) == pytest.approx(np.mean(range(9)))
    # Quantiles of 0, 1, ..., 40 are 4 and 36, which count themselves.
    assert robust_mean(np.arange(41.0) ** 2) == pytest.approx(np.mean(np.arange(4.0, 37.0) ** 2))
    assert robust_mean([7.0]) == 7.0
    assert robust_mean([1.0, 3.0]) == 2.0


def test_clear_errors():
    pool = [patch_of(one_cell(1.0), [0]), patch_of(one_cell(2.0), [0])]
    with pytest.raises(ValueError, match="measure is 'entropy': expected one of random, scoring"):
        ActiveLearner(pool, "entropy")
    with pytest.raises(ValueError, match="window is 0"):
        ActiveLearner(pool, window=0)
    with pytest.raises(ValueError, match="0 problems: expected at least 1"):
        ActiveLearner([])
    for w0 in (np.zeros(5), np.full(6, np.nan)):
        for measure in ("random", "best_second"):
            with pytest.raises(ValueError, match=rf"w0 has shape \({len(w0)},\): expected 6 finite numbers"):
                ActiveLearner(pool, measure, w0=w0)
    with pytest.raises(ValueError, match="at least 2"):
        log_convergence([0.0])
    learner = ActiveLearner(pool)
    with pytest.raises(ValueError, match=r"events has \[3\]: expected indices 0 to 2"):
        learner.annotate(0, [3])
    for marks in ([True, False, False], [0.5], 0):
        with pytest.raises(ValueError, match="expected a list of indices"):
            learner.annotate(0, marks)
    with pytest.raises(NoAssignmentError, match="event 1 takes a cell that another event takes"):
        learner.annotate(0, [0, 1])
    # What was refused has left no trace.
    assert learner.labeled == []
    learner.annotate(0, [0])
    with pytest.raises(ValueError, match="sample 0: expected one that is not annotated"):
        learner.annotate(0, [0])


@pytest.mark.parametrize("measure", MEASURES)
def test_a_saved_learner_continues(measure, tmp_path, all_assignments):
    pool = random_pool(3, 12, all_assignments)
    settings = {"window": 3, "threshold": 1e-3, "random_state": 5}
    w0 = np.full(pool[0].hypotheses.dimension, 0.1)
    learner = ActiveLearner(pool, measure, w0=w0, **settings)
    for _ in range(5):
        number = learner.query()
        learner.annotate(number, pool[number].annotation.events)
    learner.save(tmp_path / "learner")
    again = ActiveLearner.load(tmp_path / "learner", pool)
    assert again.w.tobytes() == learner.w.tobytes()
    for one in (learner, again):
        for _ in range(3):
            number = one.query()
            one.annotate(number, pool[number].annotation.events)
    assert again.labeled == learner.labeled
    assert again.history.log_eta == learner.history.log_eta
    for ours, theirs in zip(again.history.averaged, learner.history.averaged, strict=True):
        assert ours.tobytes() == theirs.tobytes()
    again.save(tmp_path / "again")
    learner.save(tmp_path / "learner")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "learner").read_bytes()


def test_files_of_other_learners_are_refused(tmp_path, all_assignments):
    pool = random_pool(3, 6, all_assignments)
    learner = ActiveLearner(pool)
    learner.annotate(0, pool[0].annotation.events)
    path = tmp_path / "learner"
    learner.save(path)
    with pytest.raises(DataError, match="other samples: 6 in the file, 5 given"):
        ActiveLearner.load(path, pool[:5])
    document, arrays = read_model(path)
    for change, message in (
        ({"format": "other"}, "another format"),
        ({"measure": "none"}, "measure is 'none'"),
        ({"queries": [0, 0]}, "events1"),
        ({"queries": [99]}, "sample 99"),
        ({"window": "long"}, "TypeError"),
    ):
        write_model(path, document | change, arrays)
        with pytest.raises(DataError, match=message):
            ActiveLearner.load(path, pool)
    write_model(path, document, arrays | {"w": arrays["w"] + 1})
    with pytest.raises(DataError, match="for which the weights differ"):
        ActiveLearner.load(path, pool)
    with pytest.raises(ValueError, match="random_state is a Generator: expected a seed"):
        ActiveLearner(pool, random_state=np.random.default_rng(0)).save(path)
