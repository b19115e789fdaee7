"""Figures of partial annotations show the numbers that they are given."""

import numpy as np
import pandas as pd
import pytest

from reproduction.experiments.partial_annotation.evaluate import TITLES
from reproduction.experiments.partial_annotation.figures import (
    plot_annotation_losses,
    plot_bounds,
    plot_descents,
    plot_training_times,
)
from reproduction.experiments.partial_annotation.protocol import SOLVERS, VARIANTS

SHARES = [0.1, 0.25, 1.0]


@pytest.fixture
def curve():
    rows = [
        {"method": method, "share": share, "draw": draw, "loss": base - share + draw, "seconds": 1 + base}
        for method, base in (("partial", 3.0), ("perceptron", 5.0))
        for share in SHARES
        for draw in range(2)
    ]
    rows += [{"method": "full", "share": 1.0, "draw": 0, "loss": 2.0, "seconds": 0.5}]
    rows += [{"method": "guess", "share": 0.0, "draw": 0, "loss": 6.0, "seconds": 0.0}]
    table = pd.DataFrame(rows)
    return pd.concat([table.assign(study=study) for study in ("nuclei", "migration_4")])


@pytest.fixture
def descents():
    rows = [
        {
            "solver": solver,
            "variant": variant,
            "iteration": i,
            "objective": 1 / (i + 1),
            "bounds": 1 + i * (10 - place),
            "seconds": 0.1 * (i + 1),
        }
        for solver in SOLVERS
        for place, variant in enumerate(VARIANTS)
        for i in range(3)
    ]
    return pd.DataFrame(rows)


def line_of(ax, label):
    return next(line for line in ax.lines if line.get_label() == label)


def test_losses_are_means_over_draws(curve):
    axes = plot_annotation_losses(curve).axes
    assert [ax.get_title() for ax in axes] == [TITLES["nuclei"], TITLES["migration_4"]]
    bridge = line_of(axes[0], "bridge loss")
    assert list(bridge.get_xdata()) == SHARES
    np.testing.assert_allclose(bridge.get_ydata(), [3.4, 3.25, 2.5])
    assert set(line_of(axes[0], "full annotation").get_ydata()) == {2.0}
    assert [tick.get_text() for tick in axes[0].get_xticklabels()] == ["10", "25", "100"]


def test_times_are_drawn_next_to_twice_that_of_full_annotation(curve):
    ax = plot_training_times(curve).axes[0]
    assert set(line_of(ax, "published: twice that of full").get_ydata()) == {1.0}
    assert set(line_of(ax, "perceptron").get_ydata()) == {6.0}


def test_descents_have_a_panel_for_each_problem_and_solver(descents):
    few = descents[descents["solver"] == SOLVERS[1]]
    axes = plot_descents({"one": descents, "two": few}).axes
    assert [ax.get_visible() for ax in axes] == [True, True, True, True, False, False]
    both = axes[0].lines[2 * list(VARIANTS).index("both")]
    np.testing.assert_allclose(both.get_xdata(), [0.1, 0.2, 0.3])
    np.testing.assert_allclose(both.get_ydata(), [1, 1 / 2, 1 / 3])


def test_bars_show_all_bounds_and_those_of_the_first_iteration(descents):
    (ax,) = plot_bounds({"one": descents}, published=100).axes
    heights = [[bar.get_height() for bar in bars] for bars in ax.containers]
    assert heights[0] == 3 * [21]  # plain, all
    assert heights[1] == 3 * [11]  # plain, first iteration
    assert heights[-2] == 3 * [15]  # both, all
    assert list(ax.lines[0].get_ydata()) == [100, 100]
