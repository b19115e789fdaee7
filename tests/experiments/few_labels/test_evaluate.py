import numpy as np
import pandas as pd
import pytest

from reproduction.claims.results import read_results
from reproduction.experiments.few_labels.evaluate import digits, main, sizes, summarize, unlabeled_gain
from reproduction.experiments.few_labels.figures import plot_semisupervised
from reproduction.experiments.few_labels.tables import accuracy_table, gain_table
from reproduction.experiments.semisupervised import CONTROLS, METHODS


def test_digits():
    X, y = digits()
    assert X.shape == (1797, 64)
    assert X.min() == 0
    assert X.max() == 1
    assert np.bincount(y).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_sizes():
    assert sizes([2, 5], [30, 100, 300]) == [(2, 300), (5, 300), (2, 30), (2, 100)]


def test_gain_of_more_unlabeled_samples():
    table = pd.DataFrame(
        {
            "repeat": [0, 0, 0, 1, 1, 1],
            "unlabeled": [10, 20, 40, 10, 20, 40],
            "accuracy": [0.5, 0.0, 0.9, 0.4, 1.0, 0.6],
        }
    )
    assert unlabeled_gain(table, 0.5) == {
        "repeats": pytest.approx([0.4, 0.2]),
        "unit": "repeat",
        "test_over_train": 0.5,
    }


def table():
    accuracies = dict(zip((*METHODS, *CONTROLS), (0.5, 0.8, 0.6, 0.7, 0.4, 0.3), strict=True))
    return pd.DataFrame(
        {
            "repeat": repeat,
            "labels": labels,
            "unlabeled": unlabeled,
            "method": method,
            "accuracy": accuracy + labels / 100 + (unlabeled / 1000 if "laplacian" in method else 0),
        }
        for repeat in range(3)
        for labels, unlabeled in sizes([2, 5], [30, 100])
        for method, accuracy in accuracies.items()
        if unlabeled == 100 or method in METHODS
    )


def test_values():
    found = summarize(table(), test_over_train=0.5)
    assert found["gain"]["ridge"]["repeats"] == pytest.approx([0.3 + 0.1] * 3)
    assert found["gain"]["svm"]["repeats"] == pytest.approx([0.1 + 0.1] * 3)
    assert found["gain_at_most_labels"]["svm"]["repeats"] == pytest.approx([0.2] * 3)
    assert found["unlabeled_gain"]["ridge"]["repeats"] == pytest.approx([0.07] * 3)
    assert found["shuffled_gain"]["svm"]["repeats"] == pytest.approx([-0.3] * 3)
    assert found["accuracy"]["ridge"][0]["repeats"] == pytest.approx([0.52] * 3)


def test_results_name_the_data_set(tmp_path):
    outputs = {
        "values": str(tmp_path / "few_labels/values.json"),
        "accuracies": str(tmp_path / "few_labels/a.csv"),
    }
    main({}, outputs, seed=0, repeats=2, labels=[2, 3], unlabeled=[20, 40], tested=100)
    document = read_results(tmp_path / "few_labels")
    assert document["datasets"] == {"digits": "real"}
    rows = pd.read_csv(outputs["accuracies"])
    assert len(rows) == 2 * (6 + 4 + 4)
    assert rows["accuracy"].between(0.3, 1).all()


def test_figure_shows_means_and_gains():
    accuracies = table()
    gains = {name: summarize(accuracies, 0.5)[name] for name in ("gain", "shuffled_gain")}
    axis = np.linspace(-1, 1, 5)
    example = {
        "X": np.zeros((4, 2)),
        "marked": np.array([0, 1, -1, -1]),
        "x": axis,
        "y": axis,
        "ridge": np.add.outer(axis, axis),
        "laplacian_ridge": np.subtract.outer(axis, axis),
    }
    axes = plot_semisupervised(accuracies[accuracies["unlabeled"] == 100], example, accuracies, gains).axes
    assert [container[0].get_ydata()[0] for container in axes[3].containers] == pytest.approx(
        [0.52, 0.92, 0.62, 0.82, 0.42, 0.32]
    )
    assert len(axes[4].containers) == 4
    assert [container[0].get_xdata()[0] for container in axes[5].containers] == pytest.approx(
        [0.4, 0.2, -0.1, -0.3]
    )
    assert [label.get_text() for label in axes[5].get_yticklabels()] == ["gain", "shuffled_gain"]


def test_tables_say_where_the_intervals_are():
    values = summarize(table(), 0.5)
    moons = {name: values[name] for name in ("gain", "shuffled_gain")}
    moons["gain"] = {loss: {"repeats": [0.09, 0.11]} for loss in ("ridge", "svm")}
    found = gain_table(moons, values)
    assert (
        found["95 % interval is"].tolist()
        == ["around 0"] * 2 + ["below 0"] * 2 + ["above 0"] * 6 + ["below 0"] * 2
    )
    assert found["difference of accuracy"][0] == "+10.0 points (-2.7 to +22.7)"
    accuracies = accuracy_table("digits", values, [2, 5])
    assert accuracies["ridge with Laplacian"].tolist() == pytest.approx([0.92, 0.95])
