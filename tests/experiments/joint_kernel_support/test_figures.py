"""The figures of section 3.1 draw the numbers they are given."""

import numpy as np
import pandas as pd
import pytest
from figure_fixtures import drawn

from reproduction.experiments.joint_kernel_support.figures import (
    METHOD_COLORS,
    TITLES,
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


def test_examples_show_cars_and_exchanged_boxes(examples):
    shown = [ax for ax in plot_examples(examples).axes if ax.images]
    assert len(shown) == 3
    solid, dashed = shown[0].patches
    assert (solid.get_x(), solid.get_width()) == (1.5, 11)
    assert (dashed.get_x(), dashed.get_linestyle()) == (4.5, "--")


def test_detections_of_every_method_are_outlined(examples):
    fig = plot_detections(examples, NOISE)
    assert len(fig.axes) == 4
    for ax in fig.axes:
        assert len(ax.patches) == 1 + len(METHOD_COLORS)


def test_curves_are_those_given():
    curves = pd.DataFrame(
        [
            (reading, method, r, x, 1 - slope * r * x)
            for reading, slope in (("free", 1), ("known", 0.5))
            for method in TITLES
            for r in NOISE
            for x in (0.0, 0.4, 0.8)
        ],
        columns=["reading", "method", "noise", "recall", "precision"],
    )
    axes = plot_precision_recall(curves, ["ssvm", "jkse_linear"]).axes
    assert [ax.get_title() for ax in axes] == [
        "S-SVM (linear), any size",
        "JKSE (linear), any size",
        "S-SVM (linear), known size",
        "JKSE (linear), known size",
    ]
    for ax, expected in zip(axes, [[1, 0.8, 0.6]] * 2 + [[1, 0.9, 0.8]] * 2, strict=True):
        np.testing.assert_allclose(drawn(ax, "$r = 0.5$")[1], expected)
    axes = plot_precision_recall(curves, ["jkse_chi2"]).axes
    assert [ax.get_title() for ax in axes] == ["JKSE (χ²), any size", "JKSE (χ²), known size"]


def test_errors_are_drawn_beside_the_published():
    errors = pd.DataFrame(
        [
            (reading, method, r, 0.3 + r, shift + r + m / 10)
            for reading, shift in (("free", 0.1), ("known", 0.05))
            for m, method in enumerate(TITLES)
            for r in (0.0, 0.1)
        ],
        columns=["reading", "method", "noise", "published", "here"],
    ).assign(sd=0.05)
    axes = plot_errors(errors).axes
    assert [ax.get_title() for ax in axes] == list(TITLES.values())
    np.testing.assert_allclose(drawn(axes[1], "published")[1], [0.3, 0.4])
    for container, expected in zip(axes[1].containers, ([0.2, 0.3], [0.15, 0.25]), strict=True):
        np.testing.assert_allclose(np.asarray(container.lines[0].get_ydata(), float), expected)
