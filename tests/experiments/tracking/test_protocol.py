"""The trackers of the table on drawn films: what is held out, what is chosen, what is found."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ermlab.tracking.assignment import EVENTS
from ermlab.tracking.events import Gates
from ermlab.tracking.films import CellFilm, frame_pairs
from ermlab.tracking.selection import hold_out
from reproduction.claims.results import read_json
from reproduction.experiments.tracking import train_films
from reproduction.experiments.tracking.baselines import EventForest
from reproduction.experiments.tracking.links import read_tracks
from reproduction.experiments.tracking.measures import count_missed, event_errors, judged_events
from reproduction.experiments.tracking.protocol import (
    METHODS,
    PEER,
    Settings,
    Tuning,
    run_trackers,
    study_of,
    successive_studies,
    tune,
)
from reproduction.experiments.tracking.train import main

SETTINGS = Settings(
    alphas={"l1": [0.1, 0.01], "l2": [1, 0.01]},
    min_samples_leaf=[1, 2],
    priors=[0, 1],
    max_distances=[1, 2],
    n_estimators=10,
    n_splits=2,
    tol=0.05,
    seed=0,
)


def dividing_film(seed, n_frames=9):
    """Cells on a grid that walk a little; one of them divides after every frame, and lives on as two."""
    rng = np.random.default_rng(seed)
    place = {k + 1: np.array([30.0 + 40 * (k // 3), 30.0 + 40 * (k % 3)]) for k in range(9)}
    begin, parent, rows, lineage = dict.fromkeys(place, 0), dict.fromkeys(place, 0), [], []
    for t in range(n_frames):
        if t:
            label = min(k for k in place if k <= 9)
            centre = place.pop(label)
            lineage.append([label, begin[label], t - 1, parent[label]])
            for side in (-1, 1):
                child = 10 + 2 * t + (side > 0)
                place[child] = centre + np.array([0.0, 6.0 * side])
                begin[child], parent[child] = t, label
        for label in place:
            place[label] = place[label] + rng.normal(0, 0.7, 2)
            rows.append([t, label, *place[label], 100.0 if label <= 9 else 50.0])
    lineage += [[k, begin[k], n_frames - 1, parent[k]] for k in place]
    frame, label, y, x, area = np.array(rows).T
    n = len(rows)
    return CellFilm(
        frame=frame.astype(int),
        position=np.column_stack([y, x]),
        area=area * rng.uniform(0.95, 1.05, n),
        intensity=rng.uniform(0.95, 1.05, n),
        eccentricity=np.full(n, 0.5),
        shape=np.array([140, 140]),
        n_frames=n_frames,
        tracks=np.column_stack([np.arange(n), label.astype(int)]),
        lineage=np.array(lineage),
    )


@pytest.fixture(scope="module")
def study():
    return study_of([dividing_film(0), dividing_film(1)])


@pytest.fixture(scope="module")
def tuning(study):
    return tune(study, SETTINGS, n_jobs=1)


@pytest.fixture(scope="module")
def result(study, tuning):
    return run_trackers(study, "nuclei", SETTINGS, tuning, n_jobs=1)


def test_one_film_is_cut_in_two_and_two_are_not():
    film = dividing_film(0)
    halves = study_of([film])
    assert [pair.frame for pair in halves.training] == [0, 1, 2, 3]
    assert [pair.frame for pair in halves.test] == [5, 6, 7]
    few = study_of([film, dividing_film(1)], max_pairs=3)
    assert [pair.frame for pair in few.training] == [5, 6, 7]
    assert [pair.frame for pair in few.test] == [0, 1, 2]
    with pytest.raises(ValueError, match="0 films: expected one to cut in two, or two"):
        study_of([])
    names = ("frame", "position", "area", "intensity", "eccentricity", "tracks")
    short = replace(film, n_frames=1, **{name: getattr(film, name)[:9] for name in names})
    with pytest.raises(ValueError, match="0 training and 0 test pairs: expected at least 1"):
        study_of([short])


def test_stretches_are_held_out_once(study):
    parts = list(hold_out(study.training, 3))
    assert [[pair.frame for pair in held] for _, held in parts] == [[0, 1, 2], [3, 4, 5], [6, 7]]
    for learned, held in parts:
        assert sorted([p.frame for p in learned] + [p.frame for p in held]) == list(range(8))
    with pytest.raises(ValueError, match="n_splits is 1: expected 2 to 8"):
        list(hold_out(study.training, 1))


def test_the_best_parameter_misses_least_in_all_folds():
    rows = [
        {"method": "l2", "parameter": lam, "fold": fold, "missed": missed}
        for lam, counts in ((1, (5, 1)), (0.1, (2, 3)), (0.01, (4, 1)))
        for fold, missed in enumerate(counts)
    ]
    assert Tuning(rows).best("l2") == 0.1


def test_all_learn_to_see_divisions(study, tuning, result):
    assert {row["method"] for row in tuning.rows} == {"l1", "l2", "random_forest"}
    assert tuple(result.found) == (*METHODS, PEER)
    missed = {
        name: sum(count_missed(pair, y) for pair, y in zip(study.test, found.events, strict=True))
        for name, found in result.found.items()
    }
    assert max(missed["random_forest"], missed["l1"], missed["l2"]) <= 2
    assert all(len(found.links) == len(study.test) for found in result.found.values())


def test_threads_change_nothing(study, tuning, result):
    assert tune(study, SETTINGS, n_jobs=2).rows == tuning.rows
    other = run_trackers(study, "nuclei", SETTINGS, tuning, n_jobs=2)
    for name in METHODS:
        for y, z in zip(result.found[name].events, other.found[name].events, strict=True):
            np.testing.assert_array_equal(y, z)


def test_forests_are_sure_of_what_they_saw(study):
    forest = EventForest(n_estimators=20, max_samples=200).fit(study.training)
    pair = study.training[0]
    true, false = judged_events(pair)
    scores = forest.scores(pair.hypotheses, prior=0)
    moves = pair.hypotheses.kind == list(EVENTS).index("move")
    assert scores[true & moves].min() > scores[false & moves].max()
    np.testing.assert_array_equal(
        forest.scores(pair.hypotheses),
        EventForest(n_estimators=20, max_samples=200).fit(study.training).scores(pair.hypotheses),
    )


def test_frequencies_are_added_as_far_as_is_asked_for(study):
    forest = EventForest(n_estimators=5).fit(study.training)
    hypotheses = study.test[0].hypotheses
    seen = np.array([forest.forests_[kind] is not None for kind in EVENTS])[hypotheses.kind]
    offsets = np.array([forest.offsets_[kind] for kind in EVENTS])[hypotheses.kind]
    assert len(np.unique(offsets[seen])) > 1
    without = forest.scores(hypotheses, prior=0.0)
    for prior in (0.5, 1.0):
        added = forest.scores(hypotheses, prior) - without
        np.testing.assert_allclose(added[seen], prior * offsets[seen])


def test_forests_need_pairs_to_learn_from():
    with pytest.raises(ValueError, match="no pairs of frames"):
        EventForest().fit([])


def test_kinds_never_seen_are_unlikely(study):
    forest = EventForest(n_estimators=5).fit(study.training)
    hypotheses = study.test[0].hypotheses
    scores = forest.scores(hypotheses)
    splits = hypotheses.kind == list(EVENTS).index("split")
    assert splits.any()
    assert (scores[splits] < -2).all()


def test_what_is_unknown_is_neither_true_nor_false():
    film = dividing_film(0)
    pair = frame_pairs(replace(film, tracks=film.tracks[film.tracks[:, 1] == 5]), Gates())[0]
    true, false = judged_events(pair)
    assert true.sum() == 1
    cells = set(pair.hypotheses.sources[false].ravel().tolist())
    known = pair.hypotheses.sources[true][0, 0]
    target = pair.hypotheses.targets[true][0, 0]
    touching = (pair.hypotheses.sources == known).any(axis=1) | (pair.hypotheses.targets == target).any(
        axis=1
    )
    np.testing.assert_array_equal(false, touching & ~true)
    assert known in cells
    # Whatever is found elsewhere is no error.
    elsewhere = ~touching
    assert elsewhere.any()
    assert sum(row["false"] for row in event_errors(pair, elsewhere)) == 0
    assert sum(row["false"] for row in event_errors(pair, ~true)) == false.sum()


def test_errors_are_counted_by_kind(study):
    pair = study.test[0]
    truth = np.isin(np.arange(len(pair.hypotheses)), pair.annotation.events)
    rows = {row["kind"]: row for row in event_errors(pair, truth)}
    assert [rows[kind]["known"] for kind in EVENTS] == [8, 1, 0, 0, 0, 0]
    assert all(row["missed"] == row["false"] == row["lost"] == 0 for row in rows.values())
    nothing = pair.hypotheses.kind >= list(EVENTS).index("appearance")
    rows = {row["kind"]: row for row in event_errors(pair, nothing)}
    assert [rows[kind]["missed"] for kind in EVENTS] == [8, 1, 0, 0, 0, 0]
    assert [rows[kind]["false"] for kind in EVENTS] == [0, 0, 0, 0, 10, 9]
    assert count_missed(pair, nothing) == 9


def test_training_writes_the_errors_of_the_test_part(tmp_path):
    """The test part of one film has three pairs, from frame 5 on, each with one division."""
    film = dividing_film(1)
    film.write(tmp_path / "film.npz")
    ends = {"errors": "csv", "tuning": "csv", "weights": "npz", "tracks": "npz", "timings": "json"}
    outputs = {name: tmp_path / f"{name}.{end}" for name, end in ends.items()}
    main({"films": [tmp_path / "film.npz"]}, outputs, cell_type="nuclei", pairs=3, settings=SETTINGS)
    errors, tuned = (pd.read_csv(outputs[name]) for name in ("errors", "tuning"))
    known = errors.groupby(["part", "method", "kind"])["known"].sum()
    # The last three of four training pairs have 9, 10 and 11 cells before, one of which divides.
    assert known["training", "truth"][["move", "division"]].tolist() == [9 + 10 + 11, 3]
    for method in (*METHODS, PEER):
        assert known["test", method][["move", "division"]].tolist() == [13 + 14 + 15, 3]
    assert sorted(errors.loc[errors["part"] == "test", "frame"].unique()) == [5, 6, 7]
    assert (errors.loc[errors["method"] == "truth", "missed"] == 0).all()
    assert tuned[tuned["chosen"]].groupby("method")["parameter"].nunique().to_dict() == {
        "l1": 1,
        "l2": 1,
        "random_forest": 1,
    }
    # The four frames of the test part have 14 to 17 cells; the first of them counts as frame 0.
    tracks = read_tracks(outputs["tracks"])
    assert list(tracks) == [*METHODS, PEER]
    for found in tracks.values():
        assert len(found.label) == 14 + 15 + 16 + 17
        assert (found.lineage.begin.min(), found.lineage.end.max()) == (0, 3)
    with np.load(outputs["weights"]) as weights:
        assert set(weights) == {"hand_tuned", "l1", "l2"}
    assert set(read_json(outputs["timings"])["l2"]) == {"training_seconds", "seconds_per_pair"}


def test_more_films_take_the_parameters_of_the_first(tmp_path):
    films = [dividing_film(seed, n_frames=5) for seed in range(4)]
    for number, film in enumerate(films):
        film.write(tmp_path / f"{number}.npz")
    names = {"errors": "csv", "tuning": "csv", "weights": "npz", "tracks": "npz", "timings": "json"}
    outputs = {name: tmp_path / f"{name}.{end}" for name, end in names.items()}
    paths = [tmp_path / f"{number}.npz" for number in range(4)]
    main({"films": paths[:2]}, outputs, cell_type="nuclei", pairs=None, settings=SETTINGS)
    tuning = train_films.read_tuning(outputs["tuning"])
    chosen = pd.read_csv(outputs["tuning"]).query("chosen").groupby("method")["parameter"].first()
    assert {method: str(tuning.best(method)) for method in chosen.index} == chosen.to_dict()
    inputs, losses = {"films": paths[1:], "tuning": outputs["tuning"]}, tmp_path / "losses.csv"
    train_films.main(inputs, {"losses": losses}, cell_type="nuclei", pairs=None, settings=SETTINGS)
    found = pd.read_csv(losses).pivot(index="repetition", columns="method", values="loss")
    assert found.shape == (2, len(METHODS))
    for number in (0, 1):
        study = study_of(films[number + 1 : number + 3])
        result = run_trackers(study, "nuclei", SETTINGS, tuning, n_jobs=1, peer=False)
        assert PEER not in result.found
        y = result.found["l2"].events
        missed = sum(count_missed(pair, events) for pair, events in zip(study.test, y, strict=True))
        n_events = sum(len(pair.annotation.events) + len(pair.annotation.lost) for pair in study.test)
        assert found.loc[number, "l2"] == pytest.approx(100 * missed / n_events)


def test_successive_studies_are_those_of_two_films():
    films = [dividing_film(seed, n_frames=5) for seed in range(3)]
    for max_pairs in (None, 2):
        for number, study in enumerate(successive_studies(films, max_pairs)):
            alone = study_of(films[number : number + 2], max_pairs)
            for part in ("training", "test"):
                here, there = getattr(study, part), getattr(alone, part)
                assert [pair.frame for pair in here] == [pair.frame for pair in there]
                assert [pair.annotation.events.tolist() for pair in here] == [
                    pair.annotation.events.tolist() for pair in there
                ]
        assert number == 1
