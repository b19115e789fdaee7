"""The comparison of the rescaled hinges with the step, on curves small enough to count."""

import pandas as pd
import pytest

from reproduction.claims.results import read_results
from reproduction.experiments.structured_losses.evaluate import DELTAS, compare_losses, main


def test_the_losses_are_compared_column_by_column():
    curves = pd.DataFrame(
        {
            "delta": 1.0,
            "difference": [-1.0, 0.0, 1.0, 2.0],
            "step": [1.0, 0.0, 0.0, 0.0],
            "margin": [5.0, 3.5, 3.0, 2.5],  # convex, at least 2.5 above the step
            "slack": [1.25, 1.0, 2.0, 1.75],  # 0.25 above the step at least; bends down by 1.25 at 1
        }
    )
    assert compare_losses(curves) == {
        "margin_minus_step_min": 2.5,
        "slack_minus_step_min": 0.25,
        "distance_from_delta_at_margin_point": 2.5,
        "convexity_violation": 1.25,
    }


def test_the_curves_are_those_of_equations_2_14_and_2_16(tmp_path):
    outputs = {name: str(tmp_path / name) for name in ("values.json", "curves.csv")}
    main({}, {"values": outputs["values.json"], "curves": outputs["curves.csv"]}, points=3)
    curves = pd.read_csv(outputs["curves.csv"])
    assert curves["delta"].unique().tolist() == list(DELTAS)
    quarter, four = curves[curves["delta"] == 0.25], curves[curves["delta"] == 4]
    assert quarter["difference"].tolist() == [-3, -2, -1, 0, 1, 2, 3]
    assert four["step"].tolist() == [4, 4, 4, 0, 0, 0, 0]
    assert four["margin"].tolist() == [7, 6, 5, 4, 3, 2, 1]
    assert four["slack"].tolist() == [16, 12, 8, 4, 0, 0, 0]
    assert quarter["margin"].tolist() == [3.25, 2.25, 1.25, 0.25, 0, 0, 0]
    assert quarter["slack"].tolist() == [1, 0.75, 0.5, 0.25, 0, 0, 0]
    values = read_results(tmp_path)["values"]
    assert values == pytest.approx(dict.fromkeys(values, 0.0), abs=1e-12)
