"""The figure of the window cascade draws the numbers it is given."""

import numpy as np
import pandas as pd
import pytest
from figure_fixtures import drawn

from reproduction.experiments.window_cascade.evaluate import SIDES
from reproduction.experiments.window_cascade.figures import plot_cascade
from reproduction.experiments.window_cascade.train import COUNTS, VARIANTS


@pytest.fixture
def cascade():
    """One image with two objects, found by the first ten windows and by the first thousand."""
    rows = [
        {"image": 5, "windows": count, "overlap": overlap}
        | {f"object_{side}": value for side, value in zip(SIDES, (1, 2, 11, 12), strict=True)}
        | {f"window_{side}": value + count // 10 for side, value in zip(SIDES, (1, 2, 11, 12), strict=True)}
        for count, overlaps in zip(COUNTS, ((0.6, 0.1), (0.6, 0.2), (0.7, 0.5)), strict=True)
        for overlap in overlaps
    ]
    names = [*VARIANTS, "chance", "all"]
    curves = pd.concat(
        pd.DataFrame({"variant": name, "windows": count, "overlap": [0.5, 1.0], "recall": [k / 10, 0.0]})
        for k, name in enumerate(names)
        for count in COUNTS
    )
    areas = pd.DataFrame(
        {"variant": name, "windows": count, "mean": k / 100 + count / 1e4, "se": 0.0}
        for k, name in enumerate(names)
        for count in COUNTS
    )
    pictures = {5: np.zeros((15, 22, 3), dtype=np.uint8)}
    return pictures, pd.DataFrame(rows), curves, areas


def test_curves_carry_their_areas(cascade):
    fig = plot_cascade(*cascade)
    panels = {ax.get_title(): ax for ax in fig.axes if ax.get_title().endswith(" windows")}
    assert list(panels) == ["10 windows", "100 windows", "1000 windows"]
    assert drawn(panels["100 windows"], "complete, slack (0.010)")[1].tolist() == [0, 0]
    assert drawn(panels["1000 windows"], "structured SVM (0.160)")[1].tolist() == [0.6, 0]
    assert drawn(panels["10 windows"], "all initial windows (0.081)")[1].tolist() == [0.8, 0]


def test_titles_say_how_many_objects_are_found(cascade):
    ax = next(ax for ax in plot_cascade(*cascade).axes if ax.images)
    assert ax.get_title() == "found: 1 of 2 with 10, 2 with 1000"
    corners = [patch.get_xy() for patch in ax.patches]
    # Objects, windows among the first 10, windows among the first 1000; half a pixel around each.
    assert corners == [(0.5, 1.5)] * 2 + [(1.5, 2.5)] * 2 + [(100.5, 101.5)] * 2
