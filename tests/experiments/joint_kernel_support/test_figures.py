"""The figures of section 3.1 draw the numbers they are given."""

import numpy as np
import pandas as pd
import pytest

from reproduction.claims.results import over_seeds
from reproduction.experiments.joint_kernel_support.figures import (
    METHOD_COLORS,
    TITLES,
    error_table,
    example_boxes,
    plot_detections,
    plot_errors,
    plot_examples,
    plot_precision_recall,
)

NOISE = [0.0, 0.5]


@pytest.fixture
def examples():
    rng = np.random.default_rng(0)
    arrays = {}
    for name in ("train_0", "train_1", "train_2", "test_0", "test_1"):
        arrays[f"{name}_image"] = rng.integers(256, size=(20, 30)).astype(np.uint8)
        arrays[f"{name}_cars"] = np.array([[2, 3, 12, 8]])
        arrays[f"{name}_swapped"] = np.array([[5, 5, 15, 10]])
        for method in TITLES:
            for r in NOISE:
                arrays[f"{name}_{method}_{r}"] = np.array([[1, 1, 11, 6]])
    return arrays


@pytest.fixture
def values():
    rates = {method: [over_seeds([0.1 * i, 0.1 * i + 0.2]) for i in range(2)] for method in TITLES}
    names = ("eer", "eer_ellipse", "recall_reached", "parameter", "area")
    return {"noise": NOISE, **dict.fromkeys(names, rates)}


def test_examples_show_cars_and_exchanged_boxes(examples):
    shown = [ax for ax in plot_examples(examples).axes if ax.images]
    assert len(shown) == 3
    solid, dashed = shown[0].patches
    assert (solid.get_x(), solid.get_width()) == (1.5, 11)
    assert (dashed.get_x(), dashed.get_linestyle()) == (4.5, "--")
    table = example_boxes(examples)
    assert len(table) == sum(len(ax.patches) for ax in shown)
    assert table.iloc[1].tolist() == ["train_0", "swapped", 5, 5, 15, 10]


def test_detections_of_every_method_are_outlined(examples):
    fig = plot_detections(examples, NOISE)
    assert len(fig.axes) == 4
    for ax in fig.axes:
        assert len(ax.patches) == 1 + len(METHOD_COLORS)


def test_curves_are_those_given():
    curves = pd.DataFrame(
        [(method, r, x, 1 - r * x) for method in TITLES for r in NOISE for x in (0.0, 0.4, 0.8)],
        columns=["method", "noise", "recall", "precision"],
    )
    fig = plot_precision_recall(curves, ["ssvm", "jkse_linear"])
    assert [ax.get_title() for ax in fig.axes] == ["(a) S-SVM (linear)", "(b) JKSE (linear)"]
    for ax in fig.axes:
        (line,) = [line for line in ax.get_lines() if line.get_label() == "$r = 0.5$"]
        np.testing.assert_allclose(line.get_ydata(), [1, 0.8, 0.6])


def test_errors_are_means_over_seeds_beside_the_published(values):
    published = {method: [0.3, 0.4] for method in TITLES}
    table = error_table(values, published)
    assert len(table) == 6
    first, second = table.iloc[:2].to_dict("records")
    assert (first["here"], first["published"]) == (0.1, 0.3)
    assert second["here"] == pytest.approx(0.2)
    assert second["sd"] == pytest.approx(0.1 * np.sqrt(2))
    ax = plot_errors(table).axes[0]
    (line,) = [line for line in ax.get_lines() if line.get_label() == "published"]
    np.testing.assert_allclose(np.asarray(line.get_ydata(), float), [0.3, 0.4])
    np.testing.assert_allclose(np.asarray(ax.containers[0].lines[0].get_ydata(), float), [0.1, 0.2])
