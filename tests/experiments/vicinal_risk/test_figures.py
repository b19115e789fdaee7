"""The figure of the vicinal bound draws the numbers it is given."""

import numpy as np
import pandas as pd

from reproduction.experiments.vicinal_risk.figures import plot_vicinal_bound
from reproduction.plotting.style import save_figure


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
    assert {line.get_label(): line.get_ydata().tolist() for line in fig.axes[2].lines[:5]} == {
        "vicinal risk": [0.3, 0.3],
        "plain supremum": [1, 1],
        "lemma 1, unit steps": [0.4, 0.4],
        "lemma 1, multiples of $t^2$": [0.35, 0.35],
        "scaled steps (not ordered)": [0.2, 0.2],
    }
    save_figure(fig, tmp_path, "E-fig-4", data=spreads)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "E-fig-4.csv"), spreads)
    assert (tmp_path / "E-fig-4.svg").read_text().startswith("<?xml")
