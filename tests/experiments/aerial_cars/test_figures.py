"""The figures of the aerial cars draw the numbers they are given."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from reproduction.claims.results import repeated
from reproduction.experiments.aerial_cars.figures import (
    CORRECT,
    FALSE,
    METHOD_STYLES,
    plot_aerial_cars,
    plot_methods,
    plot_scenes,
    show_detections,
)
from reproduction.experiments.aerial_cars.protocol import TITLES

SCENES = ["a", "b"]


@pytest.fixture
def examples():
    arrays = {}
    for number in range(2):
        arrays[f"{number}_image"] = np.zeros((60, 90, 3), dtype=np.uint8)
        arrays[f"{number}_cars"] = np.array([[20.0, 20.0], [70.0, 40.0]])
        for method in TITLES:
            arrays[f"{number}_{method}"] = np.array([[22, 19, 1], [45, 45, 0]])
    return arrays


@pytest.fixture
def precision():
    rows = [
        {"scene": scene, "method": method, "recall": r, "precision": 1 - r * (1 + i)}
        for i, scene in enumerate(SCENES)
        for method in METHOD_STYLES
        for r in (0.0, 0.5)
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def rates():
    rows = [
        {"scene": scene, "method": method, "rate": rate, "recall": 0.1 * rate}
        for scene in SCENES
        for method in METHOD_STYLES
        for rate in (1.0, 5.0)
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def values():
    precisions = {method: repeated([20 + 10 * i, 22 + 10 * i]) for i, method in enumerate(METHOD_STYLES)}
    gains = {method: repeated([10.0 * i]) for i, method in enumerate(TITLES) if i}
    return {"scenes": SCENES, "ap": precisions, "ap_gain": gains}


def test_correct_and_false_detections_and_missed_cars(examples):
    _, ax = plt.subplots()
    show_detections(ax, examples, 0, "slot")
    assert [to_hex(patch.get_edgecolor()).lower() for patch in ax.patches] == [CORRECT.lower(), FALSE.lower()]
    assert [patch.get_xy() for patch in ax.patches] == [(4.5, 1.5), (27.5, 27.5)]
    (missed,) = ax.lines
    assert missed.get_xydata().tolist() == [[70, 40]]


def test_the_exhibit_has_pictures_and_a_line_for_each_method(examples, precision, rates, values):
    fig = plot_aerial_cars(examples, precision, rates, values, {"slot": 25})
    images = [ax for sub in fig.subfigs for ax in sub.axes if ax.images]
    curves = [ax for sub in fig.subfigs for ax in sub.axes if not ax.images]
    assert len(images) == len(SCENES)
    assert [len(ax.lines) for ax in curves] == [5, 5]
    assert curves[0].lines[0].get_ydata().tolist() == [1, 0.25]
    assert curves[1].lines[0].get_ydata().tolist() == [0.1, 0.5]
    (legend,) = fig.subfigs[1].legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "linear: 21",
        "linear, equivariant: 31",
        "slot: 41 (+20, published +25)",
        "slot, equivariant: 51",
        "linear, latent pose: 61",
    ]


def test_scenes_and_methods_side_by_side(examples, precision):
    fig = plot_scenes(precision, SCENES)
    assert [ax.lines[0].get_ydata().tolist() for ax in fig.axes] == [[1, 0.5], [1, 0]]
    assert len(plot_methods(examples, SCENES).axes) == 4
