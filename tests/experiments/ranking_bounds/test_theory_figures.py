"""The figures of the theory exhibits draw the numbers they are given."""

import numpy as np
import pandas as pd
import pytest

from reproduction.experiments.cccp_precision.figures import plot_cccp_precision
from reproduction.experiments.ranking_bounds.figures import plot_partial_bound, plot_ranking_bounds
from reproduction.experiments.structured_losses.figures import plot_rescaled_hinges
from reproduction.experiments.vicinal_risk.figures import plot_vicinal_bound
from reproduction.plotting.style import save_figure


def drawn(ax, label):
    """Return the data of the one line of ``ax`` with this label."""
    (line,) = [line for line in ax.get_lines() if line.get_label() == label]
    return np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)


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


def test_vicinal_bound_marks_the_risk_of_the_example(tmp_path):
    t = np.linspace(-1, 1, 5)
    example = pd.DataFrame(
        {"t": t, "density": 0.5, "loss": [0, 0, 0, 0.5, 1], "scaled_step": 0.1, "step": 0.4, "square": 0.3}
    ).assign(step_member=1.0, square_member=t**2)
    spreads = pd.DataFrame(
        {"deviation": [0.5, 1.0], "risk": 0.3, "plain": 1.0, "step": 0.4, "square": 0.35, "scaled_step": 0.2}
    )
    fig = plot_vicinal_bound(example, spreads, deviation=0.7)
    assert "0.300" in " ".join(text.get_text() for text in fig.axes[1].texts)
    assert drawn(fig.axes[2], "vicinal risk")[1].tolist() == [0.3, 0.3]
    save_figure(fig, tmp_path, "E-fig-4", data=spreads)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "E-fig-4.csv"), spreads)
    assert (tmp_path / "E-fig-4.svg").read_text().startswith("<?xml")


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
            for count, fixed, adaptive in (("bounds", [4, 4], [2, 6]), ("outer", [1, 1], [3, 5]))
            for variant, values in (
                ("fixed", fixed),
                ("adaptive", adaptive),
                ("fixed_recycled", fixed),
                ("adaptive_recycled", adaptive),
            )
        }
    )
    dimensions = pd.DataFrame({"dimension": [1, 2], "not_recycled": [2.0, 1.5], "recycled": [1.0, 0.5]})
    fig = plot_cccp_precision(curves, paths, starts, dimensions)
    titles = [ax.get_title() for ax in fig.axes]
    assert titles[:2] == [
        "(a) fixed precision: 1 iterations, 9 bounds",
        "(b) adaptive precision: 1 iterations, 7 bounds",
    ]
    assert fig.axes[2].get_lines()[0].get_ydata().tolist() == [0.5, 1.5]
    assert drawn(fig.axes[3], "recycled")[1].tolist() == [1.0, 0.5]
