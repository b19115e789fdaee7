"""Learning from partial annotations: shares, full and wrong annotations, descents."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ermlab.tracking.assignment import EVENTS
from reproduction.experiments.partial_annotation import train_cccp
from reproduction.experiments.partial_annotation.protocol import (
    SOLVERS,
    VARIANTS,
    StudySettings,
    completed,
    descents,
    learning_curve,
    partly_annotated,
    wrongly_annotated,
)
from reproduction.experiments.tracking.protocol import study_of


@pytest.fixture(scope="module")
def study(moving_cells):
    return study_of([moving_cells(0, n=12), moving_cells(1, n=12)], 3)


def test_a_share_of_the_known_events_is_kept(study):
    rng = np.random.default_rng(0)
    for pair, partial in zip(study.training, partly_annotated(study.training, 0.5, rng), strict=True):
        known = pair.annotation.events
        assert np.isin(partial.annotation.events, known).all()
        assert len(partial.annotation.events) == max(1, round(0.5 * len(known)))
        assert partial.hypotheses is pair.hypotheses
    for share in (0.0, 1.1, np.nan):
        with pytest.raises(ValueError, match="share is"):
            partly_annotated(study.training, share, rng)


def test_completed_annotations_have_an_event_of_each_cell_and_all_that_is_known(study):
    partial = partly_annotated(study.training, 0.5, np.random.default_rng(0))
    for pair, full in zip(partial, completed(partial), strict=True):
        assert full.annotation.complete
        assert np.isin(pair.annotation.events, full.annotation.events).all()


def test_wrong_annotations_are_moves_that_go_together(study):
    for pair in wrongly_annotated(study.training, np.random.default_rng(0)):
        events = pair.annotation.events
        assert (pair.hypotheses.kind[events] == list(EVENTS).index("move")).all()
        assert pair.assigner.best(np.zeros(len(pair.hypotheses)), including=events)[events].all()


def test_a_curve_holds_every_method_and_the_same_numbers_again(study):
    def curve():
        settings = StudySettings(shares=(0.5, 1.0), draws=2, alphas=(0.01, 1.0), n_splits=2, starts=())
        return learning_curve(study, settings, tol=0.05, seeds=np.random.SeedSequence(0))

    first, again = curve(), curve()
    counts = first.groupby("method").size().to_dict()
    assert counts == {"full": 1, "guess": 1, "partial": 3, "perceptron": 3, "wrong": 1}
    assert first["loss"].between(0, 100).all()
    np.testing.assert_array_equal(first["loss"], again["loss"])
    losses = first.set_index("method")["loss"]
    assert losses["full"] < losses["wrong"]


def test_another_film_takes_the_strengths_of_the_first(study):
    settings = StudySettings(shares=(0.5, 1.0), draws=5, alphas=(0.01, 1.0), n_splits=2, starts=())
    rows = [("full", 1.0, 3.0, True), ("partial", 0.5, 4.0, False), ("partial", 1.0, 5.0, True)]
    chosen = pd.DataFrame(rows, columns=["method", "share", "strength", "inside"])
    seeds = np.random.SeedSequence(0)
    curve = learning_curve(study, settings, tol=0.05, seeds=seeds, film=7, chosen=chosen)
    assert set(curve["draw"]) == {7}
    counts = curve.groupby("method").size().to_dict()
    assert counts == {"full": 1, "guess": 1, "partial": 2, "perceptron": 2}
    assert curve.set_index(["method", "share"])["strength"].dropna().to_dict() == {
        (method, share): strength for method, share, strength, _ in rows
    }


def test_the_perceptron_is_trained_on_the_first_films(study):
    settings = StudySettings(
        shares=(0.5,), draws=1, alphas=(0.01, 1.0), n_splits=2, starts=(), perceptron_films=2
    )
    chosen = pd.DataFrame(
        {"method": ["full", "partial"], "share": [1.0, 0.5], "strength": 1.0, "inside": True}
    )
    for film, trained in ((2, True), (3, False)):
        seeds = np.random.SeedSequence(0)
        curve = learning_curve(study, settings, tol=0.05, seeds=seeds, film=film, chosen=chosen)
        assert ("perceptron" in set(curve["method"])) is trained
        assert "partial" in set(curve["method"])


def test_every_variant_descends_to_about_the_same_objective(study):
    found = descents(study.training, 0.01, tol=0.01, starts=("guess",), solvers=("level",))
    ends = found.groupby("variant")["objective"].last()
    assert set(ends.index) == set(VARIANTS)
    for _, path in found.groupby("variant"):
        assert (np.diff(path["objective"]) <= 1e-12).all()
        assert (np.diff(path["bounds"]) >= 0).all()
    assert ends.max() <= 1.1 * ends.min()


@pytest.mark.parametrize(("film", "n_pairs"), [(None, 3), (1, 3), (2, 3), (1, 2)])
def test_variants_descend_on_a_quarter_with_the_strength_chosen_for_it(
    moving_cells, tmp_path, monkeypatch, film, n_pairs
):
    moving_cells(0, n=12).write(tmp_path / "film.npz")
    settings = StudySettings(shares=(0.25,), draws=1, alphas=(0.01, 1.0), n_splits=2, starts=("faint",))
    settings = replace(settings, descent_pairs=n_pairs)
    rows = [("full", 1.0, 5.0), ("partial", 0.5, 6.0), ("partial", 0.25, 7.0), ("partial", 0.25, 7.0)]
    pd.DataFrame(rows, columns=["method", "share", "strength"]).to_csv(tmp_path / "curve.csv", index=False)
    calls = []

    def recorded(pairs, alpha, **options):
        calls.append((pairs, alpha, options))
        return pd.DataFrame({"objective": [1.0]})

    monkeypatch.setattr(train_cccp, "descents", recorded)
    inputs = {"films": [tmp_path / "film.npz", tmp_path / "film.npz"], "curve": tmp_path / "curve.csv"}
    outputs = {"descents": tmp_path / "out.csv"}
    train_cccp.main(inputs, outputs, seed=0, tol=0.1, film=film, settings=settings)
    ((pairs, alpha, options),) = calls
    assert alpha == 7.0 * 3 / n_pairs  # as strong relative to the sum of the losses
    assert [pair.frame for pair in pairs] == ([0, 1, 2] if n_pairs == 3 else [0, 2])
    assert [len(pair.annotation.events) for pair in pairs] == [3] * n_pairs
    if film == 2:  # the other films have what the claims need
        assert options == {"tol": 0.1, "starts": ["guess"], "solvers": SOLVERS[:1]}
    else:
        assert options == {"tol": 0.1, "starts": ("faint",), "solvers": SOLVERS}
    assert (tmp_path / "out.csv").read_text() == "objective\n1.0\n"


def test_descents_count_all_bounds_and_begin_with_the_objective_of_their_start(study):
    pairs = partly_annotated(study.training, 0.5, np.random.default_rng(0))
    found = descents(pairs, 0.1, tol=0.05, starts=("guess", "zero"), solvers=(SOLVERS[0],))
    begin = found[found["iteration"] == 0].groupby("start")
    assert (begin["bounds"].max() == 1).all()
    assert (begin["objective"].nunique() == 1).all()
    # At 0 an assignment that contradicts the annotation wins by the margin: the loss is at most 1.
    assert 0 < begin["objective"].first()["zero"] <= 1
    first = found[found["iteration"] == 1].set_index(["start", "variant"])["bounds"]
    assert first["guess", "plain"] >= first["guess", "adaptive"]
