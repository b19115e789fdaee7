"""The figure of the rescaled hinges draws the numbers it is given."""

import numpy as np
import pandas as pd
import pytest
from figure_fixtures import drawn

from reproduction.experiments.structured_losses.figures import plot_rescaled_hinges


@pytest.fixture
def hinges():
    difference = np.array([-1.0, 0.0, 1.0, 2.0])
    parts = [
        pd.DataFrame(
            {
                "delta": delta,
                "difference": difference,
                "step": delta * (difference < 0),
                "margin": np.maximum(delta - difference, 0),
                "slack": delta * np.maximum(1 - difference, 0),
            }
        )
        for delta in (0.5, 1.0, 2.0)
    ]
    return pd.concat(parts)


def test_hinges_have_a_panel_for_each_delta(hinges):
    fig = plot_rescaled_hinges(hinges, (0.5, 2))
    assert [ax.get_title() for ax in fig.axes] == [r"$\Delta = 0.5$", r"$\Delta = 2$"]
    assert drawn(fig.axes[1], "slack rescaling")[1].tolist() == [4, 2, 0, 0]
    # The step jumps: it is drawn as two pieces, the first of them left of 0.
    assert drawn(fig.axes[1], "scaled step")[0].tolist() == [-1]
