"""Tables and figures of hierarchical text show the numbers that they are given."""

import numpy as np
import pandas as pd
import pytest

from reproduction.experiments.text_taxonomy.figures import (
    TITLES,
    loss_table,
    plot_iteration_times,
    plot_losses,
    time_table,
)
from reproduction.experiments.text_taxonomy.protocol import CONTROLS, PUBLISHED

NAMES = PUBLISHED + CONTROLS
GIVEN = {"zero_one": [0.1, 0.2, 0.3, 0.4], "taxonomic": [1.1, 1.2, 1.3, 1.4]}


@pytest.fixture
def values():
    def splits(start):
        return {"per_seed": [start, start + 0.2]}

    return {
        "loss": {loss: [splits(0.1 * i) for i in range(4)] for loss in GIVEN},
        "controls": {loss: {name: splits(0.7) for name in CONTROLS} for loss in GIVEN},
        "validation": {loss: {name: splits(0.5) for name in NAMES} for loss in GIVEN},
        "price": {loss: {name: [1.0, 3.0] for name in NAMES} for loss in GIVEN},
        "timed_posts": 100,
        "timed_iterations": 10,
    }


def test_the_table_has_ours_beside_the_published(values):
    table = loss_table(values, GIVEN)
    assert len(table) == 12
    row = table[(table["loss"] == "taxonomic loss") & (table["covariance"] == "H V D* V' H")].iloc[0]
    assert row["published"] == 1.3
    assert row["ours"] == pytest.approx(0.3)
    assert row["spread"] == pytest.approx(np.std([0.2, 0.4], ddof=1))
    assert row["C"] == 2.0
    assert table[table["covariance"] == TITLES["permuted"]]["published"].isna().all()


def test_the_figure_has_a_row_a_covariance(values):
    fig = plot_losses(values, GIVEN)
    for ax, published in zip(fig.axes, GIVEN.values(), strict=True):
        assert len(ax.get_yticks()) == 6
        crosses = [line for line in ax.lines if line.get_marker() == "x"]
        assert list(crosses[0].get_xdata()) == published


def test_times_are_drawn_as_they_are_and_over_the_first(values):
    seconds = {"kronecker": np.full(10, 0.01), "cached": 0.2 * np.arange(1, 11)}
    rows = [
        {"form": form, "iteration": i + 1, "seconds": some[i]}
        for form, some in seconds.items()
        for i in range(10)
    ]
    left, right = plot_iteration_times(pd.DataFrame(rows)).axes
    np.testing.assert_allclose(left.lines[1].get_ydata(), seconds["cached"])
    np.testing.assert_allclose(right.lines[1].get_ydata(), np.arange(1, 11))
    table = time_table(
        values, {"kronecker_slope": 0.001, "cached_slope": 0.1, "cached_over_kronecker": 123.4}
    )
    assert list(table) == ["100", "10", "0.10 %", "10.00 %", "123"]
