"""The figures of the pedestrian experiment draw the numbers they are given."""

import numpy as np
import pandas as pd
import pytest

from reproduction.claims.results import repeated
from reproduction.experiments.pedestrians.figures import (
    KINDS,
    ROC_COLORS,
    plot_pedestrians,
    plot_versions,
)
from reproduction.experiments.pedestrians.protocol import TITLES


@pytest.fixture
def examples():
    crops = np.random.default_rng(0).integers(256, size=(40, 36, 18), dtype=np.uint8)
    groups = {f"group_{k + 1}": crops[:n] for k, n in enumerate((1, 3, 12, 40))}
    return {**groups, "versions_replicate": crops[:18], "versions_crop": crops[:18, 1:-1, 1:-1]}


@pytest.fixture
def roc():
    rates = np.linspace(0, 1, 11)
    return pd.DataFrame({"false_positive_rate": rates, **dict.fromkeys(ROC_COLORS, np.sqrt(rates))})


@pytest.fixture
def values():
    lines = {name: [repeated([k + i, k + i + 2]) for i in range(4)] for k, name in enumerate(KINDS)}
    return {
        "eer_of_all": {name: repeated([12.0, 14.0]) for name in TITLES},
        "grouped_eer": lines,
        "samples_used": lines,
        "groups": [repeated([8, 9])] * 4,
    }


def test_curves_groups_and_published_rates_are_drawn(examples, roc, values):
    fig = plot_pedestrians(examples, roc, values, {"none": 14, "flip": 13, "all": 11})
    titles = {ax.get_title(loc): ax for ax in fig.get_axes() for loc in ("left", "center")}
    assert {"grouping 1: 1 image", "grouping 4: 40 images, 12 shown"} <= set(titles)
    marked = [line for line in titles["(a) ROC"].lines if line.get_marker() == "o" and len(line.get_xdata())]
    dots = [line.get_xydata()[0].tolist() for line in marked]
    assert dots == [[14, 86], [13, 87], [11, 89]]
    lines = {line.get_label(): line.get_ydata().tolist() for line in titles["(b) error"].lines}
    assert lines["ranking natural"] == [4, 5, 6, 7]


def test_versions_are_shown_with_both_borders(examples):
    fig = plot_versions(examples)
    shapes = [ax.images[0].get_array().shape for ax in fig.axes]
    assert shapes == [(2 * 37, 9 * 19), (2 * 35, 9 * 17)]
