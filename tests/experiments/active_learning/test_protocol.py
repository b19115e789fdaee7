"""The experiment with active learning: what a run records, and that it repeats."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ermlab.optimize import L2
from ermlab.tracking.active_learning import MEASURES, ActiveHistory, ActiveLearner, robust_mean
from ermlab.tracking.annotations import Annotation
from ermlab.tracking.events import Gates
from ermlab.tracking.films import frame_pairs
from ermlab.tracking.patches import film_patches, pair_patches
from ermlab.tracking.perceptron import train_perceptron
from ermlab.tracking.selection import choose_alpha
from ermlab.tracking.training import average_loss, train_tracker
from reproduction.claims.results import read_json
from reproduction.experiments.active_learning import protocol as active_protocol
from reproduction.experiments.active_learning.algorithm import compare_with_learner
from reproduction.experiments.active_learning.protocol import (
    SCALES,
    UNIT,
    ActiveExperiment,
    ActiveSettings,
    MarginTraining,
    enumerable,
    enumeration_difference,
)
from reproduction.experiments.active_learning.train import main

SETTINGS = ActiveSettings(
    window=4,
    threshold=1e-2,
    limit=0.5,
    shares=(0.2, 0.4),
    every=3,
    alphas=(1e-2, 1e-1),
    n_splits=2,
    tol=1e-4,
)


@pytest.fixture(scope="module")
def experiment(moving_cells):
    """Steps are so long that some events are missed, whatever was learned."""
    pool = film_patches(moving_cells(0, step=12.0), Gates(), 4)
    test = frame_pairs(moving_cells(1, n=80, n_frames=3, step=12.0), Gates())
    return ActiveExperiment(pool, test, SETTINGS)


@pytest.fixture(scope="module")
def runs(experiment):
    return {measure: experiment.run(measure, seed=3) for measure in MEASURES}


def test_curves_go_up_to_the_limit(experiment, runs):
    n = len(experiment.pool)
    for run in runs.values():
        assert len(run.curve) == round(0.5 * n)
        assert run.curve["share"].iloc[-1] == pytest.approx(0.5, abs=0.5 / n)
        assert run.curve["events"].is_monotonic_increasing
        assert 0 < run.curve["events"].iloc[-1] < 1
        assert (run.curve["rare"] == 0).all()  # all that happens is moves
        assert run.curve["length"].iloc[-1] == pytest.approx(np.sqrt(run.weights @ run.weights))
        assert run.curve["test_error"].notna().tolist() == [q % 3 == 0 for q in run.curve["query"]]
        last = run.curve.dropna(subset="test_error").iloc[-1]
        assert 0 <= last["test_error"] <= 100


def test_few_queries_are_tested_after_the_last_one(experiment):
    """Of 8 patches 4 are queried, fewer than the ten between two tests."""
    rare = replace(SETTINGS, every=10, shares=(0.5,))
    curve = ActiveExperiment(experiment.pool[:8], experiment.test, rare).run("random", seed=0).curve
    assert curve["test_error"].notna().tolist() == [False, False, False, True]


def test_the_errors_are_those_of_the_learner_at_each_share(experiment, runs):
    rng = np.random.default_rng(3)
    pool = [experiment.pool[i] for i in rng.permutation(len(experiment.pool))]
    learner = ActiveLearner(pool, "best_second", window=4)
    table = runs["best_second"].table
    assert table["active"].notna().tolist() == [False, True, True]  # at a tenth there is no need of it
    for row in table.to_dict("records"):
        while len(learner.labeled) < round(row["share"] * len(pool)):
            number = learner.query()
            learner.annotate(number, pool[number].annotation.events)
        asked = [pool[number] for number in learner.labeled]
        combined = train_tracker(asked, L2(row["strength"]), tol=SETTINGS.tol).w
        weights = {"combined": combined}
        if row["share"] in SETTINGS.shares:
            weights |= {"active": learner.w, "averaged": learner.history.averaged[-1]}
        errors = {name: 100 * average_loss(w, experiment.test) for name, w in weights.items()}
        assert min(errors.values()) > 0
        assert len(set(errors.values())) == len(errors)
        assert {name: row[name] for name in errors} == errors
        assert row["strength"] in SETTINGS.alphas


def test_stops_of_scaled_weights_and_the_published_one(runs):
    for measure, run in runs.items():
        if measure == "random":
            assert len(run.stops) == 0
            continue
        stops = run.stops.set_index("scale")["stop"]
        assert list(stops.index) == [*(f"{scale:g}" for scale in SCALES), UNIT]
        below = run.curve["query"][run.curve["log_eta"] <= np.log(SETTINGS.threshold)]
        if len(below):
            assert stops["1"] == below.iloc[0]
        # Four averages and one more are needed for the rule.
        assert (stops.dropna() > 4).all()


def test_the_rule_stops_at_the_threshold_of_the_settings(moving_cells, experiment):
    patches = film_patches(moving_cells(0), Gates(), 4)
    pool = [patches[i] for i in np.random.default_rng(3).permutation(len(patches))]
    learner = ActiveLearner(pool, "best_second", window=4, threshold=0.0)
    while not learner.stopped:
        number = learner.query()
        learner.annotate(number, pool[number].annotation.events)
    least = np.min(learner.history.log_eta)
    stop = np.argmin(learner.history.log_eta) + 1
    assert -np.inf < least < np.log(1e-4)
    assert stop > 1 + np.argmax(learner.history.log_eta <= np.log(1e-4))
    low = replace(SETTINGS, limit=0.1, shares=(0.1,), threshold=np.exp(least) * (1 + 1e-9))
    run = ActiveExperiment(patches, experiment.test, low).run("best_second", seed=3)
    assert run.stops.set_index("scale").loc["1", "stop"] == stop


def test_stops_are_those_of_uncertainties_with_longer_weights():
    rng = np.random.default_rng(0)
    weights = [np.full(3, 0.2 + 0.01 * t) for t in range(60)]
    # The more is learned, the more certain is what is left.
    left = [-rng.uniform(0.5, 1.5, 80 - t) * 0.05 * t for t in range(60)]
    history = ActiveHistory(weights=weights, log_uncertainty=left)
    settings = replace(SETTINGS, window=6, threshold=3e-3)
    stops = ActiveExperiment([], [], settings)._stops(history).set_index("scale")["stop"]
    expected = {}
    for scale, factors in {
        **{f"{scale:g}": [scale] * 60 for scale in SCALES},
        UNIT: [1 / np.sqrt(w @ w) for w in weights],
    }.items():
        averages = [np.mean(np.exp(f * q)) for f, q in zip(factors, left, strict=True)]
        etas = [
            abs(robust_mean(averages[t - 5 : t + 1]) - robust_mean(averages[t - 6 : t])) for t in range(6, 60)
        ]
        below = np.flatnonzero(np.array(etas) <= 3e-3)
        expected[scale] = below[0] + 7 if len(below) else None
    assert {scale: None if np.isnan(stop) else stop for scale, stop in stops.items()} == expected
    assert len(set(expected.values())) > 3


def test_where_nothing_is_left_the_rule_does_not_stop():
    averages = [0.9, 0.9, 0.2, 0.2]
    history = ActiveHistory(
        weights=[np.ones(1)] * 5, log_uncertainty=[*(np.log([value]) for value in averages), np.zeros(0)]
    )
    settings = replace(SETTINGS, window=3, threshold=0.01)
    stops = ActiveExperiment([], [], settings)._stops(history).set_index("scale")["stop"]
    assert np.isnan(stops["1"])


def test_longer_weights_make_all_certain_at_once(runs):
    """With weights a hundred times as long every uncertainty is 0, so nothing changes any more."""
    assert runs["best_worst"].stops.set_index("scale").loc["100", "stop"] == 5


def test_runs_repeat(experiment, runs):
    again = experiment.run("random", seed=3)
    pd.testing.assert_frame_equal(again.curve, runs["random"].curve)
    pd.testing.assert_frame_equal(again.table, runs["random"].table)
    other = experiment.run("random", seed=4)
    assert not np.array_equal(other.weights, again.weights)


def test_lambda_is_chosen_on_as_many_patches_as_there_are_folds(experiment):
    few = replace(SETTINGS, shares=(0.01,), n_splits=4)
    run = ActiveExperiment(experiment.pool, experiment.test, few).run("best_second", seed=0)
    assert run.table["strength"].tolist()[0] in SETTINGS.alphas


def test_a_strength_is_chosen_as_the_library_does(experiment):
    """Also with patches that have no known event, and from patches in any order."""
    unknown = Annotation(np.zeros(0, dtype=np.int64), (), False)
    pool = [replace(p, annotation=unknown) if i % 5 == 0 else p for i, p in enumerate(experiment.pool)]
    numbers = np.random.default_rng(0).permutation(len(pool))[:30]
    alphas = (1e-3, 1e-2, 1e-1, 1.0)
    choice = MarginTraining(pool, alphas, n_splits=3, tol=1e-4).choose(numbers)
    expected = choose_alpha([pool[i] for i in np.sort(numbers)], alphas, n_splits=3, tol=1e-4)
    assert choice.losses == pytest.approx(expected.losses, abs=0.02)
    assert choice.alpha == expected.alpha
    assert len(set(choice.losses.values())) > 1


def test_all_data(experiment):
    loss, choice = experiment.all_data()
    assert set(choice.losses) == set(SETTINGS.alphas)
    trained = train_tracker(experiment.pool, L2(choice.alpha), tol=SETTINGS.tol)
    # The bridge loss has several minima; an event is 0.6 % of the test.
    assert loss == pytest.approx(100 * average_loss(trained.w, experiment.test), abs=2)
    known = [patch.annotation.events for patch in experiment.pool]
    assigners = [patch.assigner for patch in experiment.pool]
    for averaged in (False, True):
        w = train_perceptron(assigners, known, averaged=averaged).w
        assert experiment.perceptron_on_all_data(averaged) == 100 * average_loss(w, experiment.test)


def test_enumeration_agrees_and_would_tell_if_not(experiment, runs, monkeypatch):
    patches = enumerable(experiment.pool, 10)
    assert 1 <= len(patches) <= 10
    assert len({id(patch) for patch in patches}) == len(patches)
    weights = [run.weights for run in runs.values()]
    assert enumeration_difference(patches, weights) < 1e-9
    wrong = {**MEASURES, "best_second": lambda *args: MEASURES["best_second"](*args) + 1e-3}
    monkeypatch.setattr(active_protocol, "MEASURES", wrong)
    assert enumeration_difference(patches, weights) == pytest.approx(1e-3)


def test_training_writes_all_runs_and_their_sizes(moving_cells, tmp_path):
    """Half of a film of six frames has two pairs, with twelve events each; one of two test pairs is taken."""
    film = moving_cells(5, n=12, n_frames=6, step=12.0)
    film.write(tmp_path / "film.npz")
    ends = {"summary": "json", "timings": "json"}
    names = ("curve", "table", "stops", "cells", "summary", "timings")
    outputs = {name: tmp_path / f"{name}.{ends.get(name, 'csv')}" for name in names}
    settings = replace(SETTINGS, limit=0.5, shares=(0.5,), every=2)
    main(
        {"train": tmp_path / "film.npz", "test": tmp_path / "film.npz"},
        outputs,
        seed=5,
        seeds=2,
        repetition=None,
        cells=4,
        patches=6,
        test_pairs=1,
        enumerated=2,
        settings=settings,
    )
    summary = read_json(outputs["summary"])
    assert summary["pairs"] == {"train": 2, "test": 1}
    assert (summary["patches"], summary["true_events"], summary["test_events"]) == (6, 24, 12)
    assert summary["enumerated"] == 2
    assert summary["enumeration_difference"] < 1e-9
    pairs = frame_pairs(film, Gates(), range(2))
    found, kept = (
        sum(len(part.annotation.events) for part in parts)
        for parts in (pairs, pair_patches(film, pairs, Gates(), 4))
    )
    assert kept < found < 24
    assert summary["lost_to_gates"] == pytest.approx((24 - found) / 24)
    assert summary["lost_to_borders"] == pytest.approx((found - kept) / 24)
    curve, table, cells = (pd.read_csv(outputs[name]) for name in ("curve", "table", "cells"))
    assert curve.groupby(["measure", "seed"])["query"].max().tolist() == [3] * 8
    assert table.groupby("measure").size().to_dict() == dict.fromkeys(
        MEASURES, 4
    )  # two seeds, at a tenth and at a half
    # Every cell of the first two frames is in one patch, at its place.
    assert cells.groupby("frame").size().tolist() == [12, 12]
    for frame in (0, 1):
        found = cells.loc[cells["frame"] == frame, ["row", "column"]].to_numpy()
        assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, film.cells(frame).position.tolist()))
    timed = {name: [len(run) for run in runs] for name, runs in read_json(outputs["timings"]).items()}
    assert timed == {measure: [3, 3] for measure in MEASURES}
    assert summary["as_printed_difference"] < 1e-9
    assert summary["predictions_over_pool"] == 1


def test_the_learner_asks_and_learns_as_algorithm_1_2(experiment):
    patches, w = enumerable(experiment.pool, 10), experiment.run("best_second", seed=3).weights
    difference, predictions = compare_with_learner(patches, w)
    assert difference < 1e-9
    assert predictions == 1


def test_a_learner_with_other_queries_differs_from_algorithm_1_2(experiment, monkeypatch):
    patches, w = enumerable(experiment.pool, 10), experiment.run("best_second", seed=3).weights
    monkeypatch.setattr(ActiveLearner, "query", lambda self: int(self._left[-1]))
    assert compare_with_learner(patches, w)[0] >= 1
