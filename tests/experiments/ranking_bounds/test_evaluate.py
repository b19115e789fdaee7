"""The evaluation of the ranking bounds against values counted by hand."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from reproduction.claims.results import read_results
from reproduction.experiments.ranking_bounds.evaluate import (
    excess_curves,
    informative_from,
    loss_changes,
    main,
    ratio_curves,
    summarize_measured,
    tight_crossing,
    trained_changes,
)


def test_excess_is_that_of_equations_3_25_and_3_26():
    curves = excess_curves()
    row = curves[(curves["sigma"] == 2) & (curves["n"] == 10)].iloc[0]
    root = np.sqrt(2 * np.log(20) / 10)
    assert row["slack"] == pytest.approx(32 * 4 / (0.01 * 10) + (16 * 4 / 0.01 + 2) * root)
    assert row["margin"] == pytest.approx(32 / (0.01 * 10) + (16 / 0.01 + 2) * root)


def test_ratios_are_slack_over_margin():
    ratios = ratio_curves().set_index("sigma").round(2)
    # The term with 16 sigma^2 / lambda dominates; the tight stabilities are 1/4 and 1/2 of the published.
    assert ratios.loc[4].to_dict() == pytest.approx({"published": 16, "tight": 8}, rel=0.01)
    assert ratios.loc[1].to_dict() == pytest.approx({"published": 1, "tight": 0.5}, rel=0.01)


def test_the_crossing_is_where_the_tight_ratio_is_one():
    ratios = pd.DataFrame({"sigma": [1.0, 4.0], "published": [0.1, 10.0], "tight": [0.25, 1.0]})
    assert tight_crossing(ratios) == pytest.approx(4)
    assert tight_crossing(ratios.assign(tight=[0.5, 2.0])) == pytest.approx(2)


def test_informative_from_the_first_size_with_a_slack_bound_below_one():
    excess = pd.DataFrame({"n": [10, 100, 1000] * 2, "sigma": [1.0] * 3 + [2.0] * 3})
    excess["slack"] = [5, 1, 0.5, 0.1, 0.1, 0.1]
    excess["margin"] = [0.1] * 6
    assert informative_from(excess) == 1000


def test_every_tenth_exchange_is_the_worst_and_attains_the_tight_stability():
    changes = pd.DataFrame(trained_changes(np.random.default_rng(0), 11))
    assert Counter(zip(changes["exchange"], changes["rescaling"], strict=True)) == {
        ("worst", "slack"): 2,
        ("worst", "margin"): 2,
        ("random", "slack"): 9,
        ("random", "margin"): 9,
    }
    for rescaling, tight in (("slack", 0.25), ("margin", 0.5)):
        of_rescaling = changes[changes["rescaling"] == rescaling]
        worst, random = (of_rescaling[of_rescaling["exchange"] == kind] for kind in ("worst", "random"))
        np.testing.assert_allclose(worst["ratio"], tight)
        assert (random["ratio"] < tight).all()


def test_changes_of_losses_never_exceed_the_bound():
    ratios = loss_changes(np.random.default_rng(0), 50)
    assert len(ratios) == 100
    assert max(ratios) == pytest.approx(1)


def test_the_largest_shares_of_measured_risks_count():
    rows = [("slack", 2.0, 1.0, 0.1), ("slack", 4.0, 3.0, 0.0), ("margin", 1.0, -1.0, 0.2)]
    measured = pd.DataFrame(rows, columns=["rescaling", "bound", "quantile", "violations"])
    assert summarize_measured(measured) == {
        "violation_share_max": {"slack": 0.1, "margin": 0.2},
        "quantile_over_bound_max": {"slack": 0.75, "margin": -1.0},
    }


def test_values_and_tables_of_a_small_run(tmp_path):
    names = ("excess", "ratios", "changes", "measured")
    outputs = {name: str(tmp_path / f"{name}.csv") for name in names}
    main({}, {"values": str(tmp_path / "values.json"), **outputs}, seed=1, trials=12, problems=2, draws=3)
    values = read_results(tmp_path)["values"]
    excess, ratios, changes, measured = (pd.read_csv(outputs[name]) for name in names)
    assert values["slack_minus_margin_sigma_half_max"] < 0 < values["slack_minus_margin_sigma_two_min"]
    assert values["slack_minus_margin_sigma_one_abs_max"] == 0
    # The difference is largest where n is small and lambda weak: smallest for n = 1e8, lambda = 10.
    n, regularization = 1e8, 10.0
    difference = 32 * 3 / (regularization * n) + 16 * 3 / regularization * np.sqrt(2 * np.log(20) / n)
    assert values["slack_minus_margin_sigma_two_min"] == pytest.approx(difference)
    assert values["violation_share_max"] == {"margin": 0, "slack": 0}
    assert values["measured_samples"] == 3 * len(measured) == 3 * 2 * 5 * 2
    assert values["stability_ratio_max"] <= 1
    assert values["trained_stability_ratio_slack_max"] == 0.25
    assert values["trained_stability_ratio_margin_max"] == values["trained_stability_ratio_max"] == 0.5
    assert values["tight_crossing"] == pytest.approx(np.sqrt(2), rel=1e-3)
    assert values["informative_from"] == informative_from(excess)
    assert (values["trials"], len(changes), len(ratios)) == (12, 24, 81)


def test_the_same_seed_writes_the_same_bytes(tmp_path):
    runs = []
    for turn in ("once", "twice"):
        folder = tmp_path / turn / "ranking_bounds"
        folder.mkdir(parents=True)
        outputs = {name: str(folder / f"{name}.csv") for name in ("excess", "ratios", "changes", "measured")}
        main({}, {"values": str(folder / "values.json"), **outputs}, seed=1, trials=3, problems=2, draws=2)
        runs.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert runs[0] == runs[1]
    assert len(runs[0]) == 5
