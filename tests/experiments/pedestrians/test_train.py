"""The training stages of the pedestrians on tiny sets: versions, C and test sets of each classifier."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from ermlab.features.hog_crops import small_hog
from ermlab.metrics.detection import roc_equal_error_rate
from ermlab.ranking.invariant_ranking import InvariantRankingSVM
from ermlab.structured.invariant import InvariantSVM
from reproduction.claims.results import read_json, write_json
from reproduction.datasets.daimler_pedestrians import CropSet
from reproduction.experiments.pedestrians import (
    compare_descriptors,
    prepare,
    select,
    train_controls,
    train_groups,
)
from reproduction.experiments.pedestrians import train as train_stage
from reproduction.experiments.pedestrians.protocol import (
    CROPPED,
    GROUPED,
    METHODS,
    PreparedSet,
    error,
    prepared_sets,
    train,
)

LABELS = np.repeat([1, -1], [6, 10])
C, TOL = {"binary": [0.1, 1.0], "ranking": [1.0, 10.0]}, 0.01
#: Index of the C of each method.
SELECTED = {name: k % 2 for k, name in enumerate(METHODS)}


@pytest.fixture
def inputs(folders, tmp_path):
    write_json(tmp_path / "selected.json", SELECTED)
    return {"sets": folders, "selected": str(tmp_path / "selected.json")}


def test_prepare_keeps_base_images_and_others(tmp_path, monkeypatch, layout):
    rng = np.random.default_rng(1)
    crops = CropSet(*(rng.integers(256, size=(n, 36, 18), dtype=np.uint8) for n in (24, 7)))
    monkeypatch.setattr(prepare, "read_crop_set", lambda folder, part: crops)
    write_json(tmp_path / "receipt.json", {"folder": "raw"})
    folders = [tmp_path / "set_1", tmp_path / "set_T1"]
    inputs, outputs = {"receipt": str(tmp_path / "receipt.json")}, {"sets": folders}
    prepare.main(inputs, outputs, pedestrians=3, others=5, layout=layout)
    expected = np.concatenate([crops.pedestrians[[0, 6, 12]], crops.others[:5]])
    for prepared in prepared_sets(folders).values():
        assert np.array_equal(prepared.crops, expected)
        assert np.array_equal(prepared.pedestrians, expected[:3])
        assert prepared.labels.tolist() == [1] * 3 + [-1] * 5
        assert np.array_equal(prepared.store(layout).features(), small_hog(expected, layout))
        cropped = prepared.store(layout, "crop").features()
        assert np.array_equal(cropped, small_hog(expected[:, 1:-1, 1:-1], layout))
    # Nine shifts of a training set, none of a test set.
    for folder, count in zip(folders, (9, 1), strict=True):
        for border in ("replicate", "crop"):
            assert len(list((folder / border).glob("shift_*.npy"))) == count


@pytest.mark.parametrize("name", METHODS)
def test_methods_use_their_versions_their_risk_and_their_choice(name, bags):
    method = METHODS[name]
    n = {"none": 1, "flip": 2, "all": 18}[method.versions]
    model = train(method, bags, LABELS, 2.0, 1e-4)
    if method.kind == "ranking":
        expected = InvariantRankingSVM(2.0, tol=1e-4).fit(bags[:, :n], LABELS)
    else:
        svm = InvariantSVM(2.0, tol=1e-4, fit_intercept=True, choice="mean" if "mean" in name else "worst")
        expected = svm.fit(bags[:, :n], LABELS)
    assert np.array_equal(model.coef_, expected.coef_)


def test_error_is_the_equal_error_rate_in_percent():
    scores = np.random.default_rng(2).normal(size=16) + LABELS
    assert error(LABELS, scores) == 100 * roc_equal_error_rate(LABELS, scores)


def test_every_method_is_trained_on_its_set_and_scores_the_others(inputs, tmp_path, layout):
    output = str(tmp_path / "scores.npz")
    train_stage.main(inputs, {"scores": output}, part="2", layout=layout, C=C, tol=TOL)
    scores, sets = np.load(output), prepared_sets(inputs["sets"])
    tests = ("1", "3", "T1", "T2")
    assert len(scores.files) == len(METHODS) * 2 * (1 + len(tests)) + len(GROUPED) * 2
    for name, method in METHODS.items():
        for k, value in enumerate(C[method.kind]):
            model = train(method, sets["2"].store(layout).bags(), sets["2"].labels, value, TOL)
            assert scores[f"used/{name}/{k}"] == model.n_virtual_
            for part in tests:
                expected = model.decision_function(sets[part].store(layout).features())
                assert np.array_equal(scores[f"{name}/{k}/{part}"], expected)


def test_controls_use_cropped_versions_and_the_selected_C(inputs, tmp_path, layout):
    outputs = [str(tmp_path / f"controls_{part}.npz") for part in "123"]
    train_controls.main(inputs, {"scores": outputs}, layout=layout, C=C, tol=TOL)
    sets = prepared_sets(inputs["sets"])
    for part, output in zip("123", outputs, strict=True):
        scores = np.load(output)
        assert set(scores.files) == {f"{name}/{test}" for name in CROPPED for test in ("T1", "T2")}
        for name in CROPPED:
            bags = sets[part].store(layout, "crop").bags()
            value = C["binary"][SELECTED[name]]
            model = train(METHODS[name], bags, sets[part].labels, value, TOL)
            for test in ("T1", "T2"):
                expected = model.decision_function(sets[test].store(layout, "crop").features())
                assert np.array_equal(scores[f"{name}/{test}"], expected)


@pytest.mark.parametrize("kind", GROUPED)
def test_groups_are_trained_alone_and_with_their_members(kind, inputs, tmp_path, layout):
    output = str(tmp_path / "groups.npz")
    inputs["scores"] = str(tmp_path / "scores.npz")
    train_stage.main(inputs, {"scores": inputs["scores"]}, part="2", layout=layout, C=C, tol=TOL)
    train_groups.main(
        inputs, {"scores": output}, part="2", kind=kind, layout=layout, C=C, groupings=[1, 0.5], tol=TOL
    )
    scores, sets = np.load(output), prepared_sets(inputs["sets"])
    assert scores["groups"].max(axis=1).tolist() == [3, 1]  # four images, then two groups
    assert {name for name in scores.files if name.startswith("used")} == {
        "used/alone/0",
        "used/alone/1",
        "used/natural/1",
    }
    # Each image alone: the method itself.
    name = GROUPED[kind]
    store = sets["2"].store(layout)
    model = train(METHODS[name], store.bags(), sets["2"].labels, C[kind][SELECTED[name]], TOL)
    assert scores["virtual/alone/0"] == model.n_virtual_
    for test in ("T1", "T2"):
        expected = model.decision_function(sets[test].store(layout).features())
        assert np.array_equal(scores[f"alone/0/{test}"], expected)
    assert scores["used/alone/1"] <= 2 < scores["used/alone/0"]


def test_C_has_the_smallest_mean_error_over_pairs_of_training_sets(folders, tmp_path):
    sets = prepared_sets(folders[:3])
    # The first C is wrong on one of six pairs; for the flips it is the second.
    for part in "123":
        scores = {}
        for name in METHODS:
            wrong_k = 1 if name == "flip" else 0
            for k in range(2):
                for held_out in set("123") - {part}:
                    sign = -1 if k == wrong_k and (part, held_out) == ("3", "2") else 1
                    scores[f"{name}/{k}/{held_out}"] = sign * sets[held_out].labels
        np.savez(tmp_path / f"scores_{part}.npz", **scores)
    inputs = {"sets": folders[:3], "scores": [str(tmp_path / f"scores_{part}.npz") for part in "123"]}
    outputs = {name: str(tmp_path / name) for name in ("selected", "validated")}
    select.main(inputs, outputs, C=C)
    assert read_json(outputs["selected"]) == {name: int(name != "flip") for name in METHODS}
    validated = pd.read_csv(outputs["validated"]).set_index(["method", "C"])
    assert validated.loc[("none", 0.1)].tolist() == pytest.approx([100 / 6, False])
    assert validated.loc[("none", 1.0)].tolist() == [0, True]
    assert validated.loc[("flip", 0.1)].tolist() == [0, True]
    assert validated.loc[("flip", 1.0)].tolist() == pytest.approx([100 / 6, False])
    assert validated.loc[("ranking", 10.0)].tolist() == [0, True]


def test_descriptors_are_compared_on_held_out_training_sets(folders, tmp_path, layout):
    output = str(tmp_path / "descriptors.csv")
    compare_descriptors.main(
        {"sets": folders[:3]},
        {"descriptors": output},
        layout=layout,
        other_descriptors=[{"levels": [[2, 1], [4, 2]], "root": False}],
        C=C,
        tol=TOL,
    )
    table = pd.read_csv(output)
    assert table["levels"].tolist() == ["4 x 2"] * 2 + ["2 x 1 + 4 x 2"] * 2
    assert table["blocks"].tolist() == ["2 x 1"] * 4
    assert table["dimension"].tolist() == [32, 32, 40, 40]
    assert table["chosen"].tolist() == table["root"].tolist() == [True, True, False, False]
    assert table["C"].tolist() == [0.1, 1, 0.1, 1]
    sets = {part: PreparedSet(folder) for part, folder in zip("123", folders, strict=False)}
    X = {part: small_hog(prepared.crops, layout) for part, prepared in sets.items()}
    errors = []
    for part, held_out in permutations("123", 2):
        model = InvariantSVM(1.0, tol=TOL, fit_intercept=True).fit(X[part][:, None], sets[part].labels)
        errors.append(error(sets[held_out].labels, model.decision_function(X[held_out])))
    assert table["eer"][1] == pytest.approx(np.mean(errors))
