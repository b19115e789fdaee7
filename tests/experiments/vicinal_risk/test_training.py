"""The loss of equation 11 in training, on weights and tables counted by hand and on a small run."""

import numpy as np
import pandas as pd
import pytest

from ermlab.structured import EquivariantTask, MultiClassTask
from reproduction.claims.results import repeated
from reproduction.experiments.vicinal_risk.training import (
    ANGLES,
    DEVIATION,
    METHODS,
    TITLES,
    DigitTask,
    RotatedDigits,
    Version,
    angle_probabilities,
    draw_splits,
    errors_by_angle,
    fit,
    loss_weights,
    rotated_digits,
    run_split,
    summarize_training,
    training_table,
)


@pytest.fixture(scope="module")
def digits():
    return rotated_digits()


def test_weights_are_the_closed_forms():
    P, size = angle_probabilities(), np.abs(ANGLES)
    np.testing.assert_array_equal(loss_weights("plain"), np.ones(7))
    np.testing.assert_allclose(loss_weights("step"), [P[size >= angle].sum() for angle in size])
    u = 1 + (ANGLES / DEVIATION) ** 2
    np.testing.assert_allclose(loss_weights("square"), P @ u / u, rtol=1e-12)
    assert P.sum() == pytest.approx(1)
    assert P[3] / P[4] == pytest.approx(np.exp(0.5))


def test_versions_are_rotated_images(digits):
    X, y = digits
    assert X.shape == (1797, 7, 65)
    assert len(y) == 1797
    assert (X[..., -1] == 1).all()
    upright = X[:, ANGLES == 0][:, 0, :-1].reshape(-1, 8, 8)
    assert upright.max() == 1
    # The center of mass rotates with the image, from the x to the negative y axis.
    before = center_of_mass(upright)
    for row in np.flatnonzero(np.abs(ANGLES) <= 15):  # larger rotations lose the corners
        angle = np.radians(ANGLES[row])
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        after = center_of_mass(X[:, row, :-1].reshape(-1, 8, 8))
        assert np.linalg.norm(after - before @ turn) < 0.3 * np.linalg.norm(before)


def center_of_mass(images):
    rows, columns = np.indices((8, 8)) - 3.5
    mass = images.sum(axis=(1, 2))
    return np.column_stack([(images * axis).sum(axis=(1, 2)) / mass for axis in (columns, rows)])


def test_the_task_is_multi_class_classification():
    fast, checked = DigitTask(3), MultiClassTask(10, 3)
    rng = np.random.default_rng(0)
    for _ in range(20):
        w, x, y = rng.normal(size=30), rng.normal(size=3), int(rng.integers(10))
        np.testing.assert_array_equal(fast.joint_feature(x, y), checked.joint_feature(x, y))
        tasks = [EquivariantTask(task, [Version(0)]) for task in (fast, checked)]
        planes = [task.virtual_plane(w, x[None], y, "slack") for task in tasks]
        heights = [max(a @ w + b, 0.0) for _, a, b in planes]
        assert heights[0] == pytest.approx(heights[1])


def test_rotations_that_are_scored_together_give_the_same_planes(digits):
    X, y = digits
    weights = loss_weights("square")
    together = RotatedDigits(DigitTask(65), weights)
    one_by_one = EquivariantTask(DigitTask(65), list(together.transformations), lambda t: weights[t.row])
    rng = np.random.default_rng(0)
    for i in range(20):
        w = rng.normal(size=650)
        found, expected = (task.virtual_plane(w, X[i], int(y[i]), "slack") for task in (together, one_by_one))
        assert found[0] == expected[0]
        np.testing.assert_allclose(found[1], expected[1])
        assert found[2] == expected[2]


def test_splits_share_the_test_digits_alone():
    parts = draw_splits(np.random.default_rng(0), 90, 3, 10)
    drawn = np.concatenate([part for train, valid, _ in parts for part in (train, valid)])
    assert len(np.unique(drawn)) == 60
    test = parts[0][2]
    assert len(test) == 30
    assert not np.isin(drawn, test).any()
    assert all(part[2] is test for part in parts)
    with pytest.raises(ValueError, match="4 splits of twice 10 digits: expected at most 60"):
        draw_splits(np.random.default_rng(0), 90, 4, 10)


def test_errors_and_bounds_of_a_split(digits):
    X, y = digits
    rows = run_split(X, y, *draw_splits(np.random.default_rng(0), len(X), 1, 20)[0], 0.2)
    assert [row["method"] for row in rows] == list(METHODS)
    for row in rows[1:]:
        assert row["training_violations"] == 0
        assert row["training_bound"] >= row["training_risk"]
    for row in rows:
        assert row["test_risk"] <= row["worst_risk"]
    weights = fit("plain", X[:20], y[:20], 1.0, 0.2)
    errors = errors_by_angle(weights, X[:5], y[:5])
    expected = [[np.argmax(weights @ X[i, k]) != y[i] for k in range(7)] for i in range(5)]
    np.testing.assert_array_equal(errors, expected)


def test_table_of_two_splits():
    trained = {"training_bound": 0.5, "training_risk": 0.25, "training_violations": 1}
    rows = [
        {
            "split": split,
            "method": method,
            "test_risk": 10.0 + split,
            "worst_risk": 40.0,
            "upright_error": 5.0,
            **(trained if method != "none" else {}),
        }
        for split in range(2)
        for method in METHODS
    ]
    values = summarize_training(pd.DataFrame(rows))
    assert values["training_violations"] == 6
    assert values["test_risk"]["step"] == repeated([10.0, 11.0], unit="split")
    assert set(values["training_bound"]) == {"plain", "step", "square"}
    table = training_table(values)
    assert table.loc[TITLES["none"], "bound, training"] == "-"
    assert table.loc[TITLES["step"], "vicinal risk, test (%)"] == "10.5 ± 0.71"
