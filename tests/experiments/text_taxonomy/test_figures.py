"""Figures of hierarchical text show the numbers they are given."""

import numpy as np
import pandas as pd
import pytest

from reproduction.experiments.text_taxonomy.figures import plot_iteration_times, plot_losses
from reproduction.experiments.text_taxonomy.protocol import CONTROLS

GIVEN = {"zero_one": [0.1, 0.2, 0.3, 0.4], "taxonomic": [1.1, 1.2, 1.3, 1.4]}


@pytest.fixture
def values():
    return {
        "loss": {loss: [{"repeats": [0.1 * i, 0.1 * i + 0.2]} for i in range(4)] for loss in GIVEN},
        "controls": {loss: {name: {"repeats": [0.7, 0.9]} for name in CONTROLS} for loss in GIVEN},
    }


def test_the_figure_has_one_row_per_covariance(values):
    fig = plot_losses(values, GIVEN)
    for ax, published in zip(fig.axes, GIVEN.values(), strict=True):
        assert len(ax.get_yticks()) == 6
        crosses = [line for line in ax.lines if line.get_marker() == "x"]
        assert list(crosses[0].get_xdata()) == published


def test_times_are_drawn_in_seconds_and_relative_to_the_first():
    seconds = {"kronecker": np.full(10, 0.01), "cached": 0.2 * np.arange(1, 11)}
    rows = [
        {"form": form, "iteration": i + 1, "seconds": of_form[i]}
        for form, of_form in seconds.items()
        for i in range(10)
    ]
    left, right = plot_iteration_times(pd.DataFrame(rows)).axes
    np.testing.assert_allclose(left.lines[1].get_ydata(), seconds["cached"])
    np.testing.assert_allclose(right.lines[1].get_ydata(), np.arange(1, 11))
