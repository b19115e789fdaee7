"""Figure and tables of transfer show the numbers they are given."""

import numpy as np
import pandas as pd
import pytest

from reproduction.experiments.transfer.figures import (
    CURVES,
    curve_table,
    loss_table,
    plot_controls,
    plot_transfer,
    settings_table,
    size_table,
)
from reproduction.experiments.transfer.measures import summarise
from reproduction.experiments.transfer.protocol import SHARED, STRATEGIES

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
            lam, rho = rng.choice([1.0, 10.0]), 10.0 if name == "transfer" else np.inf
            row = {"study": study, "strategy": name, "draw": draw, "share": share, "lam": lam, "rho": rho}
            rows.append(row | {"loss": rng.uniform(1, 5), "published_loss": rng.uniform(1, 5)})
    return pd.DataFrame(rows)


def test_curves_are_means_over_draws(runs):
    fig = plot_transfer(runs, STUDIES)
    assert [ax.get_title() for ax in fig.axes] == list(STUDIES.values())
    lines = {line.get_label(): line for line in fig.axes[1].lines}
    some = runs[(runs.study == "migration") & (runs.strategy == "union")]
    np.testing.assert_allclose(lines["union"].get_xdata(), [10, 20, 50, 100])
    np.testing.assert_allclose(lines["union"].get_ydata(), some.groupby("share").loss.mean())
    target = runs[(runs.study == "migration") & (runs.strategy == "all_target")].loss.iloc[0]
    np.testing.assert_allclose(lines["all target"].get_ydata(), target)
    assert lines["partial target"].get_ydata()[-1] == target
    assert lines["published: transfer meets all target"].get_xdata()[0] == 20
    other = plot_transfer(runs, STUDIES, "published_loss").axes[1].lines
    assert not np.array_equal(other[-2].get_ydata(), lines["transfer"].get_ydata())


def test_controls_show_each_draw_and_the_mean(runs):
    (ax,) = plot_controls(runs, {"laboratories": "true", "shuffled": "wrong"}).axes
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["true", "wrong"]
    assert sum(len(line.get_xdata()) == 3 for line in ax.lines) == 2 * len(CURVES)


def test_the_table_of_the_figure(runs):
    table = curve_table(runs).set_index(["study", "strategy", "share"])
    row = table.loc["laboratories", "transfer", 0.2]
    losses = runs[(runs.study == "laboratories") & (runs.strategy == "transfer") & (runs.share == 0.2)].loss
    assert row.draws == 3
    assert (row.least, row.loss, row.most) == pytest.approx((losses.min(), losses.mean(), losses.max()))


def test_settings_beside_the_published_ones(runs):
    sizes = {"source": {"patches": 7}, "target": {"patches": 5}}
    table = settings_table(runs, "laboratories", sizes, STRATEGIES).set_index("strategy")
    assert table.loc["transfer", ["published lambda", "published rho", "our rho"]].tolist() == [
        0.5,
        2.5,
        "10",
    ]
    assert table.loc["union", "our lambda"] in ("1 (1 to 10)", "10 (1 to 10)")
    assert table.loc["all source", "our lambda"] in ("1", "10")
    assert table["patches"].tolist() == ["7", "5", "up to 5", "7 + up to 5", "7 + up to 5"]
    assert table.loc["union", ["published rho", "our rho"]].isna().all()


def test_losses_and_sizes(runs):
    facts = {
        name: summarise(some, list(SHARED))
        | {part: {"patches": 4, "events": 9, "complete": 3} for part in ("source", "target")}
        | {"test": {"pairs": 2, "events": 8}}
        for name, some in runs.groupby("study")
    }
    table = loss_table({"studies": facts}, STUDIES)
    assert len(table) == 6
    at_fifth = facts["laboratories"]["loss_at_fifth"]["partial_target"]["per_seed"]
    assert table["loss at 20 %"][0].startswith(f"{np.mean(at_fifth):.2f} (")
    names = ("dcelliq_nuclei", "mitocheck_nuclei", "ctc_sim_truth", "cell_migration")
    sizes = size_table(facts, STUDIES, dict.fromkeys(names, "simulated"))
    assert sizes["samples"].tolist() == [4, 4, 2] * 2
    assert sizes["film"][0] == "dcelliq_nuclei (simulated), film 1"
