import numpy as np
import pandas as pd
import pytest

from ermlab.semisupervised import graph_laplacian
from reproduction.claims.results import read_results
from reproduction.experiments.semisupervised import CONTROLS, METHODS
from reproduction.experiments.two_moons.evaluate import main, moons_task, roughness, summarize


def test_roughness_of_two_nodes():
    # f' L f = (3 - 1)^2 and |f - 2|^2 = 2.
    L = graph_laplacian([[0, 1], [1, 0]], normalized=False)
    assert roughness(np.array([1.0, 3.0]), L) == pytest.approx(2)


def test_points_do_not_depend_on_the_number_of_labels():
    few, more = moons_task(2, 30, 20, [0, 1]), moons_task(5, 30, 20, [0, 1])
    np.testing.assert_array_equal(few.X_new, more.X_new)
    assert len(few.X) == 34
    assert not np.array_equal(few.X_new, moons_task(2, 30, 20, [0, 2]).X_new)


def test_values_at_the_fewest_labels():
    rows = [
        {"repeat": repeat, "labels": labels, "method": method, "accuracy": accuracy + labels / 100}
        for labels in (2, 5)
        for repeat in range(2)
        for method, accuracy in zip(
            (*METHODS, *CONTROLS), (0.5, 0.5 + 1 / labels, 0.5, 0.6, 0.4, 0.5), strict=True
        )
    ]
    found = summarize(pd.DataFrame(rows))
    assert found["gain"]["ridge"]["repeats"] == pytest.approx([0.5, 0.5])
    assert found["gain"]["svm"]["repeats"] == pytest.approx([0.1, 0.1])
    assert found["shuffled_gain"]["ridge"]["repeats"] == pytest.approx([-0.1, -0.1])
    assert found["accuracy"]["laplacian_ridge"][1]["repeats"] == pytest.approx([0.75, 0.75])


def test_results_are_complete_and_repeatable(tmp_path):
    values = []
    for run in ("first", "second"):
        folder = tmp_path / run / "two_moons"
        outputs = {name: str(folder / name) for name in ("values.json", "accuracies.csv", "example.npz")}
        outputs = {name.split(".")[0]: path for name, path in outputs.items()}
        main({}, outputs, seed=0, repeats=2, labels=[2, 3], unlabeled=40, tested=30)
        values.append((folder / "values.json").read_bytes())
        assert len(pd.read_csv(outputs["accuracies"])) == 2 * (6 + 4)
        with np.load(outputs["example"]) as example:
            assert example["ridge"].shape == example["laplacian_ridge"].shape == (120, 120)
            assert np.count_nonzero(example["marked"] >= 0) == 4
    assert values[0] == values[1]
    rough = read_results(folder)["values"]["roughness"]
    assert np.mean(rough["laplacian_ridge"]["repeats"]) < np.mean(rough["ridge"]["repeats"])
