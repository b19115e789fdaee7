"""The figure of the ranking bounds draws the numbers it is given."""

import numpy as np
import pandas as pd
from figure_fixtures import drawn

from reproduction.experiments.ranking_bounds.figures import plot_ranking_bounds


def test_ranking_bounds_show_both_rescalings():
    n = np.array([10.0, 100.0])
    excess = pd.concat(
        pd.DataFrame({"n": n, "sigma": sigma, "slack": sigma / n, "margin": 1 / n})
        for sigma in (0.5, 1.0, 2.0)
    )
    ratios = pd.DataFrame({"sigma": [0.5, 1, 2], "published": [0.25, 1, 4], "tight": [0.125, 0.5, 2]})
    changes = pd.DataFrame({"rescaling": ["slack", "margin"], "regularization": [1, 2], "ratio": [0.2, 0.4]})
    measured = pd.DataFrame(
        {"rescaling": ["slack", "margin"], "n": [10, 10], "bound": [2.0, 4.0], "quantile": [1.0, -1.0]}
    )
    fig = plot_ranking_bounds(excess, ratios, changes, measured)
    assert drawn(fig.axes[0], r"slack, $\sigma=2$")[1].tolist() == [0.2, 0.02]
    assert drawn(fig.axes[1], "tight constants")[1].tolist() == [0.125, 0.5, 2]
    assert drawn(fig.axes[2], "margin")[1].tolist() == [0.4]
    assert drawn(fig.axes[3], "slack")[1].tolist() == [0.5]
    assert drawn(fig.axes[3], "margin")[1].tolist() == [-0.25]
