"""Figures of the search: the set of boxes shown, the graph, and the curves."""

import numpy as np
import pandas as pd

from reproduction.experiments.detection_strategies.figures import (
    plot_areas,
    plot_costs,
    plot_detections,
    plot_search,
    plot_strategy_graph,
)

COSTS = np.array([[5.0, 9, 9], [np.nan, 4, 1], [np.nan, np.nan, 3]])
BOX = (3, 2, 17, 11)


def test_the_search_is_shown_with_falling_bounds():
    rng = np.random.default_rng(0)
    points = pd.DataFrame(rng.integers((20, 15), size=(60, 2)), columns=["x", "y"])
    fig = plot_search(np.zeros((15, 20, 3)), points.assign(weight=rng.normal(size=60)), BOX)
    bounds = [float(ax.get_title().split("bound ")[1].split(",")[0]) for ax in fig.axes[1:]]
    assert bounds == sorted(bounds, reverse=True)


def long_table(group):
    i, j = np.triu_indices(3)
    place = {"gamma": 0.5, "images": group}
    return pd.DataFrame(place | {"reset_before": i + 1, "detection": j + 1, "splits": COSTS[i, j]})


def test_the_graph_shows_every_cost():
    fig = plot_strategy_graph(COSTS)
    shown = [text.get_text() for text in fig.axes[0].texts]
    for cost in COSTS[np.triu_indices(3)]:
        assert any(text.endswith(f"\n{cost:.0f}") for text in shown)


def test_a_curve_for_each_reset():
    fig = plot_costs(pd.concat([long_table("present"), long_table("absent")]), "images")
    panels = [ax for ax in fig.axes if "gamma" in ax.get_title()]
    assert [ax.get_title().split(",")[0] for ax in panels] == ["present", "absent"]
    longest = panels[0].lines[0]
    np.testing.assert_array_equal(longest.get_ydata(), COSTS[0])


def test_detections_are_drawn_for_each_gamma():
    sides = dict(zip(("left", "top", "right", "bottom"), BOX, strict=True))
    rows = [
        {"class": "cat", "gamma": gamma, "rank": rank} | sides for gamma in (0.25, 0.5) for rank in (1, 2, 3)
    ]
    fig = plot_detections([np.zeros((15, 20, 3))], pd.DataFrame(rows))
    assert [len(ax.patches) for ax in fig.axes] == [3, 3]


def test_areas_are_drawn_with_published_medians():
    table = pd.DataFrame(
        {"gamma": [0.25, 0.25, 0.5], "box_area": [0.1, 0.2, 0.3], "all_reset": [2, 3, 4], "no_reset": 1.0}
    )
    fig = plot_areas(table, {"all_reset": [1.5, 1.6], "no_reset": [1.2, 1.1]})
    always, never = fig.axes
    assert [line.get_ydata()[0] for line in always.lines[1::2]] == [1.5, 1.6]
    assert always.lines[0].get_ydata().tolist() == [2, 3]
    assert never.lines[2].get_xdata().tolist() == [0.3]
