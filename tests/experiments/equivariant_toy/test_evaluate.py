"""Measures over triples and ranges, on tables counted by hand and on one small run."""

import numpy as np
import pandas as pd
import pytest

from reproduction.claims.results import read_results, repeated
from reproduction.experiments.equivariant_toy.evaluate import (
    RANGES,
    describe_measures,
    describe_virtual,
    main,
    measure_table,
    point_table,
    range_label,
    ring_table,
    solver_table,
    summarize_triples,
)
from reproduction.experiments.equivariant_toy.rings import RingModel

FILES = ("values.json", "triples.csv", "degrees.csv", "points.csv", "regions.npz")


def test_measures_of_two_triples_by_range():
    errors = {0: [0.5, 0.4, 0.4, 0.1, 0], 1: [0.5, 0.6, 0.2, 0.1, 0]}  # the second triple rises once
    rows = [
        (triple, part, error, None if triple else k)
        for triple, values in errors.items()
        for k, (part, error) in enumerate(zip(RANGES, values, strict=True))
    ]
    measured = pd.DataFrame(rows, columns=["triple", "range", "symmetry_error", "n_virtual"])
    assert summarize_triples(measured) == {
        "symmetry_error": [repeated(pair, unit="triple") for pair in zip(*errors.values(), strict=True)],
        "n_virtual": [repeated([k], unit="triple") for k in range(5)],  # counted for the first triple only
        "ordered_triples": 1,
    }


def test_points_of_each_range():
    given = np.array([[1.0, 2.0], [3.0, 4.0]])
    virtual = np.array([[5.0, 6.0]])
    model = RingModel(1, given, np.zeros((2, 3)), virtual, np.array([1]), objective=0.0, n_iter=0)
    table = point_table([model] * len(RANGES))
    assert table["range"].unique().tolist() == list(RANGES)
    rows = table[table["range"] == 1].drop(columns="range").values.tolist()
    assert rows == [["given", 0, 1, 2], ["given", 1, 3, 4], ["virtual", 1, 5, 6]]


def test_table_in_percent_with_labels():
    rows = [(2, 0, 0.5, 0.25), (2, 1, 0.1, 0.05), (4, 0, 0.4, 0.2), (4, 1, 0, 0.01)]
    table = ring_table(pd.DataFrame(rows, columns=["degree", "range", "symmetry_error", "ring_error"]))
    names = ("symmetry error (%)", "ring error (%)")
    assert list(table.columns) == [(name, label) for name in names for label in ("0", "±π")]
    assert table.loc[2].tolist() == [50, 10, 25, 5]
    assert table.loc[4].tolist() == [40, 0, 20, 1]
    assert [range_label(part) for part in (1 / 8, 1 / 2)] == ["±π/8", "±π/2"]


def test_both_measures_with_intervals_and_in_words():
    values = {
        "symmetry_error": [repeated([error, error + 0.02]) for error in (0.5, 0.6, 0.2, 0.2, 0)],
        "ring_error": [repeated([error]) for error in (0.5, 0.4, 0.3, 0.2, 0.1)],
    }
    table = measure_table(values)
    # Standard error 1, and t = 12.71 with one degree of freedom.
    assert table.loc["symmetry error (%)", "±π"] == "1.0 (-11.7 to 13.7)"
    assert table.loc["ring error (%)"].tolist() == ["50.0", "40.0", "30.0", "20.0", "10.0"]
    symmetry, ring = describe_measures(values).split(". ")
    assert symmetry == "The symmetry error does not fall from the range before to ±π/8, ±π/2"
    assert ring == "The ring error always falls."


def test_virtual_samples_of_joint_and_separate_constraints():
    rows = [(0, 0.5, 9, 99, 9, 99), (0, 1, 20, 30, 8, 5), (1, 1, 30, 40, 10, 6)]
    names = ["triple", "range", "n_virtual", "calls", "n_separate", "calls_separate"]
    assert solver_table(pd.DataFrame(rows, columns=names)).values.tolist() == [[25, 35], [9, 6]]


@pytest.mark.parametrize(
    ("below", "expected"), [(0.05, "sparse: up to 5.0%"), (0.3, "grows fast: up to 30.0%")]
)
def test_virtual_samples_are_described(below, expected):
    text = describe_virtual(
        {
            "degree": 4,
            "virtual_share": [repeated([share]) for share in (0.0, below, 0.01, 0.02, 0.25)],
            "n_virtual": [repeated([0.0])] * 4 + [repeated([260.0, 280.0])],
            "plain_virtual": repeated([15.0, 12.0, 15.0]),
        }
    )
    assert expected in text
    assert "it is 25%, 270 points" in text
    assert "needs 14 to come within 1%" in text
    assert "which 5 rotations of the 3 points" in text


def test_results_are_written_and_reproducible(tmp_path):
    folders = [tmp_path / run / "equivariant_toy" for run in ("first", "second")]
    for folder in folders:
        folder.mkdir(parents=True)
        outputs = {name.partition(".")[0]: str(folder / name) for name in FILES}
        main({}, outputs, seed=1, triples=1, degree=2, degrees=[3])
    for name in FILES[:-1]:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
    values = read_results(folders[0])["values"]
    assert values["ranges"] == ["0", "1/8", "1/4", "1/2", "1"]
    assert values["n_virtual"][0]["repeats"] == [3]
    # Without rotations the regions are wedges; with all of them they are rings, exactly.
    assert values["symmetry_error"][0]["repeats"][0] > 0.1
    assert values["symmetry_error"][-1]["repeats"][0] < 0.01
    # Three equal rotations are enough for degree 2, and two are not.
    ratios = values["equal_rotations_objective"]
    assert ratios["enough"]["repeats"][0] == pytest.approx(1, rel=2e-3)
    assert ratios["too_few"]["repeats"][0] < 0.99
    # So plain virtual sampling needs three rotations of three points; the optimizer uses more.
    assert values["plain_virtual"]["repeats"] == [9]
    assert min(values[name][-1]["repeats"][0] for name in ("n_virtual", "n_separate")) > 9
    assert set(pd.read_csv(outputs["degrees"])["degree"]) == {3}
    regions = [np.load(folder / "regions.npz") for folder in folders]
    assert regions[0]["classes"].shape == regions[0]["margins"].shape == (5, 241, 241)
    for name in regions[0].files:
        np.testing.assert_array_equal(regions[0][name], regions[1][name])
    # With the rotation as a latent variable the given points are right, and the problem is not convex.
    assert values["latent_midpoint_rise"]["repeats"][0] > 0
    timings = read_results(folders[0])["timings"]
    assert min(timings.values()) > 0
    # The class of the given points themselves, without and with rotations.
    points = pd.read_csv(outputs["points"]).query("kind == 'given' and range in (0, 1)")
    axis = regions[0]["axis"]
    for point in points.itertuples():
        row, column = np.abs(axis - point.y).argmin(), np.abs(axis - point.x).argmin()
        assert regions[0]["classes"][-1 if point.range else 0, row, column] == point.sample
        assert regions[0]["latent"][row, column] == point.sample
