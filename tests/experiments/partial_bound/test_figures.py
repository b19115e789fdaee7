"""The figure of the partial bound draws the numbers it is given."""

import pandas as pd
from figure_fixtures import drawn

from reproduction.experiments.partial_bound.figures import plot_partial_bound


def test_partial_bound_leaves_out_what_a_logarithm_cannot_show():
    curves = pd.DataFrame(
        {
            "n": [10, 100],
            "published": [8.0, 4.0],
            "repaired": [2.0, 1.0],
            "largest_possible": [3.0, 3.0],
            "deviation_max": [0.5, 0.1],
            "excess_max": [0.2, 0.0],
        }
    )
    ax = plot_partial_bound(curves).axes[0]
    assert drawn(ax, "largest excess risk seen")[0].tolist() == [10]
    assert drawn(ax, "theorem 1.1 as published")[1].tolist() == [8, 4]
