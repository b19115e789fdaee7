"""Evaluation on masks that can be counted by hand: scores, paired comparisons, curves, examples."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from reproduction.claims.results import read_results, repeated
from reproduction.experiments.vessels import evaluate
from reproduction.experiments.vessels.evaluate import (
    METHODS,
    comparison_values,
    curve_table,
    example_arrays,
    mean_areas,
    score_table,
)
from reproduction.experiments.vessels.measures import METRICS
from reproduction.experiments.vessels.train_dense import dense_task
from reproduction.experiments.vessels.train_grid import grid_task


@pytest.fixture
def found(retinas):
    """Perfect segmentation by all methods, except for a threshold that finds everything."""
    perfect = [retinas.truth(i) for i in retinas.test_indices]
    return {**dict.fromkeys(METHODS, perfect), "threshold": [np.ones_like(truth) for truth in perfect]}


def test_scores_are_inside_the_field_of_view_and_against_the_first_observer(retinas, found):
    table = score_table(retinas, found)
    assert len(table) == 3 * 5
    assert (table.loc[table["method"] == "dense", list(METRICS)] == 1).all(axis=None)
    everything = table[table["method"] == "threshold"]
    assert (everything["sensitivity"] == 1).all()
    assert (everything["specificity"] == 0).all()
    np.testing.assert_allclose(everything["precision"], [retinas.truth(i).mean() for i in (8, 9, 10)])
    second = table[(table["method"] == "second") & (table["photograph"] == 1)]
    marked, truth = retinas.second[8][retinas.fields[8]], retinas.truth(8)
    assert second["sensitivity"].item() == (marked & truth).sum() / truth.sum()
    assert table.groupby("photograph")["pathological"].first().tolist() == [False, True, False]


def test_differences_are_paired_over_photographs():
    rows = []
    for photograph, base in ((1, 0.2), (2, 0.5), (3, 0.8)):
        for method, gain in {
            "threshold": -0.1,
            "linear": 0.0,
            "grid": 0.02,
            "dense": 0.05,
            "second": 0.0,
        }.items():
            noise = 0.01 * photograph if method == "dense" else 0.0
            rows.append(
                {"photograph": photograph, "method": method, **dict.fromkeys(METRICS, base + gain + noise)}
            )
    values = comparison_values(pd.DataFrame(rows))
    difference = values["difference"]["f1"]
    assert difference["mean"] == pytest.approx(0.07)
    # Standard deviation .01 of three differences, and 4.303 for the t distribution.
    assert difference["low"] == pytest.approx(0.07 - 4.3027 * 0.01 / np.sqrt(3), abs=1e-5)
    assert values["margin"]["mcc"] == pytest.approx(0.3)
    assert values["from_linear"]["grid"]["mcc"]["mean"] == pytest.approx(0.02)
    assert "linear" not in values["from_linear"]
    assert values["better_than_second"] == {"threshold": 0, "linear": 0, "grid": 3, "dense": 3}
    assert values["score"]["second"]["accuracy"] == pytest.approx(0.5)
    assert values["by_photograph"]["dense"]["mcc"]["repeats"] == pytest.approx([0.26, 0.57, 0.88])
    assert values["by_photograph"]["second"]["f1"] == repeated([0.2, 0.5, 0.8], "photograph")
    assert values["interval"]["second"]["f1"]["low"] < 0 < values["interval"]["second"]["f1"]["high"]


def test_areas_and_curves_of_perfect_and_reversed_scores(retinas):
    truth = np.concatenate([retinas.truth(i) for i in range(len(retinas))]).astype(float)
    scores = {"threshold": -truth, "linear": truth}
    assert mean_areas(retinas, scores) == {"threshold": 0.0, "linear": 1.0}
    curves = curve_table(retinas, scores)
    perfect = curves[(curves["method"] == "linear") & (curves["threshold"] == 0)].iloc[0]
    assert perfect["sensitivity"] == perfect["specificity"] == perfect["precision"] == 1
    assert (curves["sensitivity"].between(0, 1) & curves["precision"].between(0, 1)).all()


def test_curves_agree_with_the_scores_at_a_threshold(retinas):
    rng = np.random.default_rng(0)
    truth = np.concatenate([retinas.truth(i) for i in range(len(retinas))])
    values = (truth + rng.normal(size=len(truth))).astype(np.float32)
    curves = curve_table(retinas, {"linear": values})
    row = curves.iloc[150]
    found = [values[retinas.pixels(i)] > row["threshold"] for i in retinas.test_indices]
    expected = score_table(retinas, {"linear": found}).query("method == 'linear'")
    for metric in ("sensitivity", "specificity", "precision"):
        assert row[metric] == pytest.approx(expected[metric].mean(), abs=1e-6)


def test_examples_are_the_first_photographs_of_each_kind(retinas, found):
    arrays = example_arrays(retinas, found["dense"])
    assert (arrays["healthy_number"], arrays["pathological_number"]) == (1, 2)
    np.testing.assert_array_equal(arrays["pathological_first"], arrays["pathological_dense"])
    np.testing.assert_array_equal(arrays["pathological_image"], retinas.images[9])


def test_examples_without_disease(retinas, found):
    healthy = replace(retinas, pathological=np.zeros(len(retinas), dtype=bool))
    assert not any(name.startswith("pathological") for name in example_arrays(healthy, found["dense"]))


@pytest.fixture
def inputs(retinas, tmp_path):
    """Scores that are the truth plus noise, and fields that follow them."""
    rng = np.random.default_rng(0)
    truth = np.concatenate([retinas.truth(i) for i in range(len(retinas))])
    scores = {
        name: (2.0 * truth - 1 + rng.normal(0, 0.4, len(truth))).astype(np.float32)
        for name in ("threshold", "linear")
    }
    retinas.write(tmp_path / "retinas.npz")
    np.savez(tmp_path / "scores.npz", **scores)
    (tmp_path / "receipt.json").write_text(json.dumps({"kind": "simulated"}))
    fields = {
        "pixels": [1.0],
        "grid": np.zeros(grid_task().dimension),
        "dense": np.zeros(dense_task().dimension),
    }
    for name, w in fields.items():
        if name != "pixels":
            w[0], w[2] = -1, 1
        model = {"feature": "line 15", "threshold": 0.3, "C": 1.0, "class_weight": 2.0, "weights": list(w)}
        (tmp_path / f"{name}.json").write_text(json.dumps(model))
    trials = []
    for method in METHODS[1:]:
        path = tmp_path / f"trials_{method}.csv"
        pd.DataFrame([{"C": 1.0, "class_weight": 2.0, "validation_f1": 0.5, "chosen": True}]).to_csv(
            path, index=False
        )
        trials.append(str(path))
    names = ("retinas.npz", "scores.npz", "receipt.json", "pixels.json", "grid.json", "dense.json")
    return {name.partition(".")[0]: str(tmp_path / name) for name in names} | {"trials": trials}


def test_main_writes_all_results(inputs, tmp_path):
    folder = tmp_path / "vessels"
    names = ("values.json", "timings.json", "scores.csv", "curves.csv", "trials.csv", "examples.npz")
    evaluate.main(inputs, {name.partition(".")[0]: str(folder / name) for name in names})
    results = read_results(folder)
    assert results["datasets"] == {"drive_vessels": "simulated"}
    assert results["values"]["photographs"] == {
        "training": 8,
        "held_out": 2,
        "test": 3,
        "pathological_test": 1,
    }
    # Without weights of edges and kernels, both fields are the linear classifier.
    for method in ("grid", "dense"):
        assert results["values"]["score"][method] == results["values"]["score"]["linear"]
    assert results["values"]["score"]["linear"]["f1"] > 0.9
    assert set(results["timings"]) == {"grid_seconds", "dense_seconds"}
    assert pd.read_csv(folder / "trials.csv")["method"].tolist() == ["linear", "grid", "dense"]
    assert all((folder / name).exists() for name in names)
