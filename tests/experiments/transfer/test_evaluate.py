"""The evaluation of transfer, from losses written by hand."""

import numpy as np
import pandas as pd
import pytest

from reproduction.claims.results import read_results, repeated, write_json
from reproduction.experiments.transfer.evaluate import (
    curve_table,
    describe_controls,
    describe_settings,
    learning_curves,
    loss_table,
    main,
    percent,
    settings_table,
    share_needed,
    size_table,
    summarize,
)

SHARES = (0.1, 0.2, 0.5, 1.0)
#: By strategy and draw, for each share.
LOSSES = {
    "partial_target": {0: (4.5, 4.0, 2.5, None), 1: (4.0, 3.0, 2.0, None)},
    "union": {0: (4.0, 3.0, 2.0, 1.5), 1: (3.0, 3.0, 1.0, None)},
    "transfer": {0: (3.0, 2.0, 1.0, 1.0), 1: (2.0, 2.2, 1.0, None)},
}
STUDIES = {"laboratories": "two laboratories", "migration": "a real film"}


@pytest.fixture
def runs():
    """The loss with the published setting is 10 more, that of validation 20 more."""
    cases = [
        (strategy, draw, share, loss)
        for strategy, draws in LOSSES.items()
        for draw, curve in draws.items()
        for share, loss in zip(SHARES, curve, strict=True)
        if loss is not None
    ]
    cases += [("all_source", 0, 0.0, 5.0), ("all_target", 0, 1.0, 2.0)]
    rows = [
        {
            "strategy": strategy,
            "draw": draw,
            "share": share,
            "lam": {0.5: 0.1, 0.1: 100.0}.get(share, 1.0),
            "rho": 10.0 if strategy == "transfer" else np.inf,
            "validation_loss": loss + 20,
            "loss": loss,
            "published_loss": loss + 10,
        }
        for strategy, draw, share, loss in cases
    ]
    return pd.DataFrame(rows)


def test_curves_end_with_all_of_the_target_in_every_draw(runs):
    curves = learning_curves(runs, "union")
    np.testing.assert_array_equal(curves.index, SHARES)
    np.testing.assert_array_equal(curves[1], [3.0, 3.0, 1.0, 1.5])
    np.testing.assert_array_equal(learning_curves(runs, "partial_target")[0], [4.5, 4.0, 2.5, 2.0])
    np.testing.assert_array_equal(learning_curves(runs, "union", "published_loss")[1], [13, 13, 11, 11.5])


@pytest.mark.parametrize(
    ("level", "expected"), [(4.0, 0.1), (5.0, 0.1), (3.5, 0.15), (2.0, 0.5), (1.75, 0.75), (1.0, 1.0)]
)
def test_share_needed_is_where_the_curve_crosses(level, expected):
    assert share_needed(SHARES, (4.0, 3.0, 2.0, 1.5), level) == pytest.approx(expected)


def test_a_curve_that_rises_again_is_taken_at_its_first_crossing():
    assert share_needed((0.1, 0.2, 0.3), (3.0, 1.0, 2.0), 1.5) == pytest.approx(0.175)


def test_summary(runs):
    found = summarize(runs, "draw")
    assert found["loss_all_source"] == repeated([5.0, 5.0], "draw")
    assert found["loss_all_target"] == repeated([2.0, 2.0], "draw")
    assert found["loss_at_fifth"] == {
        "partial_target": repeated([4.0, 3.0], "draw"),
        "union": repeated([3.0, 3.0], "draw"),
        "transfer": repeated([2.0, 2.2], "draw"),
    }
    assert found["loss_beyond_third"]["partial_target"] == repeated([2.25, 2.0], "draw")
    assert found["loss_beyond_third"]["union"] == repeated([1.75, 1.25], "draw")
    assert found["loss_beyond_fifth"]["transfer"] == repeated([1.0, 1.0], "draw")
    assert "loss_at_twentieth" not in found
    # Within a tenth of 2.0.
    assert found["share_needed"]["transfer"]["repeats"] == pytest.approx([0.18, 0.1])
    assert found["share_needed"]["union"]["repeats"] == pytest.approx([0.44, 0.32])


def test_studies_of_small_shares_are_compared_at_a_fifth_only(runs):
    small = runs[(runs.share == 0.2) | runs.strategy.isin(["all_source", "all_target"])]
    assert set(summarize(small, "draw")) == {"loss_all_source", "loss_all_target", "loss_at_fifth"}


def test_films_have_their_own_standard(runs):
    """In the second film training on all of the target has a loss of 1, and union one of 3."""
    second = [
        {"strategy": "all_target", "draw": 1, "share": 1.0, "loss": 1.0},
        {"strategy": "union", "draw": 1, "share": 1.0, "loss": 3.0},
    ]
    films = pd.concat([runs, pd.DataFrame(second)])
    found = summarize(films, "film")
    assert found["loss_all_target"] == repeated([2.0, 1.0], "film")
    assert found["loss_beyond_third"]["union"] == repeated([1.75, 2.0], "film")
    # Within a tenth of 1.0: on the way from 2.2 at a fifth to 1.0 at a half.
    assert found["share_needed"]["transfer"]["repeats"] == pytest.approx([0.18, 0.475])
    five = films.assign(share=films.share.replace(0.1, 0.05))
    assert summarize(five, "film")["loss_at_twentieth"]["transfer"] == repeated([3.0, 2.0], "film")


def test_controls_are_described():
    losses = {name: repeated([k, k + 1.0]) for k, name in enumerate(("partial_target", "union", "transfer"))}
    text = describe_controls(
        {"studies": {study: {"loss_at_fifth": losses} for study in ("shuffled", "same")}}
    )
    assert (
        "a loss of 1.50 % with union and of 2.50 % with transfer, where the patches alone have 0.50 %" in text
    )


def test_percent(runs):
    row = percent(runs.assign(loss=0.01, published_loss=0.02, validation_loss=0.03)).iloc[0]
    assert row[["loss", "published_loss", "validation_loss", "share"]].tolist() == [1.0, 2.0, 3.0, 0.1]


def facts(shift):
    return {
        "source": {"patches": shift + 7, "events": shift + 70, "complete": shift + 3},
        "target": {"patches": shift + 5, "events": shift + 50, "complete": shift + 2},
        "test": {"patches": shift + 4, "events": shift + 40, "complete": shift + 1},
        "union_limit_difference": shift / 100,
    }


def test_studies_are_joined_and_the_claims_are_about_the_laboratories(runs, tmp_path):
    shares = {name: runs[name] / 100 for name in ("loss", "published_loss", "validation_loss")}
    scenarios = ["migration", "laboratories"]
    for shift, scenario in enumerate(scenarios):
        table = runs.assign(study=scenario, **shares)
        table["loss"] += shift / 100
        table.to_csv(tmp_path / f"{scenario}.csv", index=False)
        write_json(tmp_path / f"{scenario}_facts.json", {scenario: facts(shift)})
        write_json(tmp_path / f"{scenario}_seconds.json", {"seconds": 60.0 + shift})
    write_json(tmp_path / "cell_migration.json", {"kind": "real"})
    folder = tmp_path / "transfer"
    folder.mkdir()
    inputs = {
        "runs": [tmp_path / f"{scenario}.csv" for scenario in scenarios],
        "facts": [tmp_path / f"{scenario}_facts.json" for scenario in scenarios],
        "timings": [tmp_path / f"{scenario}_seconds.json" for scenario in scenarios],
        "receipts": [tmp_path / "cell_migration.json"],
    }
    outputs = {"values": folder / "values.json", "runs": folder / "runs.csv"}
    main(inputs, outputs, scenarios=scenarios, alphas=[1, 2], rhos=[3])
    found = read_results(folder)
    assert found["datasets"] == {"cell_migration": "real"}
    assert found["timings"] == {"migration": 60.0, "laboratories": 61.0}
    values = found["values"]
    assert values["loss_all_target"]["repeats"] == pytest.approx([3.0, 3.0])
    assert values["loss_at_fifth"]["transfer"]["repeats"] == pytest.approx([3.0, 3.2])
    assert values["union_limit_difference"] == 0.01
    assert values["grids"] == {"lam": [1, 2], "rho": [3]}
    migration = values["studies"]["migration"]
    assert migration["loss_all_target"]["repeats"] == pytest.approx([2.0, 2.0])
    assert {name: migration[name] for name in facts(0)} == facts(0)
    written = pd.read_csv(folder / "runs.csv")
    assert written.groupby("study").loss.max().to_dict() == pytest.approx(
        {"laboratories": 6.0, "migration": 5.0}
    )


def test_the_table_of_the_figure(runs):
    table = curve_table(runs.assign(study="laboratories")).set_index(["study", "strategy", "share"])
    row = table.loc["laboratories", "transfer", 0.2]
    assert (row.least, row.loss, row.most, row.draws) == pytest.approx((2.0, 2.1, 2.2, 2))
    assert row.loss_published_setting == pytest.approx(12.1)


def test_settings_next_to_the_published_ones(runs):
    sizes = {"source": {"patches": 7}, "target": {"patches": 5}}
    other = runs.assign(study="migration", lam=3.0)
    # Each film has one setting for all shares; that of the second film is another one.
    films = runs.assign(study="laboratories", lam=np.where(runs.draw == 0, 1.0, 10.0))
    both = pd.concat([films, other])
    table = settings_table(both, "laboratories", sizes).set_index("strategy")
    assert table["published lambda"].tolist() == [1.0, 1.0, 2.5, 1.0, 0.5]
    assert table.loc["transfer", ["published rho", "our rho"]].tolist() == [2.5, "10"]
    assert table["our lambda"].tolist() == ["1", "1", *["1 (1 to 10)"] * 3]
    assert table["patches"].tolist() == ["7", "5", "up to 5", "7 + up to 5", "7 + up to 5"]
    assert table.loc["union", ["published rho", "our rho"]].isna().all()
    assert table.loc["transfer", "formulation"] == "eq. 1.9"


def test_settings_at_the_ends_of_their_grids_are_named(runs):
    """The second of two films has another lambda; rho is 10 for transfer, and infinite for others."""
    films = runs.assign(study="laboratories", lam=np.where(runs.draw == 0, 1.0, 10.0))
    both = pd.concat([films, runs.assign(study="migration", lam=0.5)])
    inside = describe_settings(both, "laboratories", {"lam": [0.1, 1, 10, 100], "rho": [1, 10, 100]})
    assert inside == "None of the chosen values is at an end of its grid."
    text = describe_settings(both, "laboratories", {"lam": [0.1, 1, 10], "rho": [1, 10]})
    assert "$\\lambda$ of union is the highest value tried, 10, for 1 of 2 films" in text
    assert "$\\rho$ of transfer is the highest value tried, 10, for 2 of 2 films." in text
    assert "lowest" not in text
    assert "all target" not in text


def test_tables_of_losses_and_sizes(runs):
    found = {name: summarize(runs, "draw") | facts(shift) for shift, name in enumerate(STUDIES)}
    table = loss_table({"studies": found}, STUDIES)
    assert len(table) == 6
    assert table.iloc[5].tolist() == [
        "a real film",
        "transfer",
        "2.10 (2.00 to 2.20)",
        "1.00",
        "14.00 (10.00 to 18.00)",
        "5.00",
        "2.00",
    ]
    names = ("dcelliq_nuclei", "mitocheck_nuclei", "ctc_sim_truth")
    sizes = size_table(found, STUDIES, {**dict.fromkeys(names, "simulated"), "cell_migration": "real"})
    assert sizes["patches"].tolist() == [7, 5, 4, 8, 6, 5]
    assert sizes["true events"].tolist() == [70, 50, 40, 71, 51, 41]
    assert sizes["completely known"].tolist()[:2] == [3, 2]
    assert sizes["film"][0] == "dcelliq_nuclei (simulated), first film"
    assert sizes["film"][5] == "cell_migration (real), second half"
