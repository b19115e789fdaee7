"""The figure of the CCCP precision draws the numbers it is given."""

import numpy as np
import pandas as pd
from figure_fixtures import drawn

from reproduction.experiments.cccp_precision.figures import plot_algorithm, plot_cccp_precision


def test_cccp_counts_stand_in_the_titles_and_ratios_in_the_panels():
    w = np.array([-1.0, 0.0, 1.0])
    curves = pd.DataFrame({"w": w, "convex": w**2 + 1, "reward": np.abs(w)}).eval(
        "objective = convex - reward"
    )
    path = {"iteration": [0, 1], "w": [-1.0, 0.5], "convex": [2, 1.25], "reward": [1, 0.5], "slope": [-1, 1]}
    paths = pd.concat(
        pd.DataFrame({"variant": variant, **path, "bounds": [1, bounds]})
        for variant, bounds in (("fixed", 9), ("adaptive", 7))
    )
    starts = pd.DataFrame(
        {
            f"{count}_{variant}": values
            for count, fixed, adaptive in (
                ("bounds", [4, 4, 4], [2, 6, 9]),
                ("iterations", [1, 1, None], [3, 5, 7]),
            )
            for variant, values in (
                ("fixed", fixed),
                ("adaptive", adaptive),
                ("fixed_recycled", fixed),
                ("adaptive_recycled", adaptive),
            )
        }
    )
    dimensions = pd.DataFrame({"not_recycled": [2.0, 1.5], "recycled": [1.0, 0.5]}, index=[1, 2])
    fig = plot_cccp_precision(curves, paths, starts, dimensions)
    titles = [ax.get_title() for ax in fig.axes]
    assert titles[:2] == [
        "(a) fixed precision: 1 iterations, 9 bounds",
        "(b) adaptive precision: 1 iterations, 7 bounds",
    ]
    # The third start does not reach the optimum.
    assert fig.axes[2].get_lines()[0].get_ydata().tolist() == [0.5, 1.5]
    assert drawn(fig.axes[3], "recycled")[1].tolist() == [1.0, 0.5]


def test_each_problem_is_a_point_against_plain_cccp():
    columns = {
        "bounds_fixed": [100, 200],
        "bounds_fixed_recycled": [60, 90],
        "bounds_adaptive_recycled": [30, 40],
        "objective_fixed": [0.5, 0.4],
        "objective_fixed_recycled": [0.5, 0.3],
        "objective_adaptive_recycled": [0.45, 0.4],
    }
    bounds, objectives = plot_algorithm(pd.DataFrame(columns)).axes
    assert bounds.collections[1].get_offsets().tolist() == [[100, 30], [200, 40]]
    assert objectives.collections[0].get_offsets().tolist() == [[0.5, 0.5], [0.4, 0.3]]
