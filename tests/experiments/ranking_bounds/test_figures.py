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
    fig = plot_ranking_bounds(excess, ratios, changes)
    assert drawn(fig.axes[0], r"slack, $\sigma=2$")[1].tolist() == [0.2, 0.02]
    assert drawn(fig.axes[1], "tight constants")[1].tolist() == [0.125, 0.5, 2]
    assert drawn(fig.axes[2], "margin")[1].tolist() == [0.4]
