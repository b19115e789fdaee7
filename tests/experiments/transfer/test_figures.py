"""Figures of transfer show the numbers that they are given."""

import numpy as np
import pandas as pd
import pytest

from reproduction.experiments.transfer.figures import CURVES, plot_controls, plot_transfer
from reproduction.experiments.transfer.protocol import SHARED

STUDIES = {"laboratories": "one", "migration": "two"}


@pytest.fixture
def runs():
    rng = np.random.default_rng(0)
    rows = []
    for study in (*STUDIES, "shuffled"):
        whole = [("all_source", 0.0), ("all_target", 1.0), ("union", 1.0), ("transfer", 1.0)]
        cases = [(name, 0, share) for name, share in whole]
        cases += [(name, draw, share) for name in SHARED for draw in range(3) for share in (0.1, 0.2, 0.5)]
        for name, draw, share in cases:
            row = {"study": study, "strategy": name, "draw": draw, "share": share}
            rows.append(row | {"loss": rng.uniform(1, 5), "published_loss": rng.uniform(1, 5)})
    return pd.DataFrame(rows)


def test_curves_are_means_over_draws(runs):
    fig = plot_transfer(runs, STUDIES)
    assert [ax.get_title() for ax in fig.axes] == list(STUDIES.values())
    lines = {line.get_label(): line for line in fig.axes[1].lines}
    union = runs[(runs.study == "migration") & (runs.strategy == "union")]
    np.testing.assert_allclose(lines["union"].get_xdata(), [10, 20, 50, 100])
    np.testing.assert_allclose(lines["union"].get_ydata(), union.groupby("share").loss.mean())
    target = runs[(runs.study == "migration") & (runs.strategy == "all_target")].loss.iloc[0]
    np.testing.assert_allclose(lines["all target"].get_ydata(), target)
    assert lines["partial target"].get_ydata()[-1] == target
    assert lines["published: transfer reaches all target"].get_xdata()[0] == 20
    other = plot_transfer(runs, STUDIES, "published_loss").axes[1].lines
    assert not np.array_equal(other[-2].get_ydata(), lines["transfer"].get_ydata())


def test_controls_show_each_draw_and_the_mean(runs):
    (ax,) = plot_controls(runs, {"laboratories": "true", "shuffled": "wrong"}).axes
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["true", "wrong"]
    assert sum(len(line.get_xdata()) == 3 for line in ax.lines) == 2 * len(CURVES)
