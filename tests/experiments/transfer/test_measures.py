"""Numbers of the transfer curves, from losses written by hand."""

import numpy as np
import pandas as pd
import pytest

from reproduction.experiments.transfer.measures import learning_curves, percent, share_needed, summarise

SHARES = (0.1, 0.2, 0.5, 1.0)


@pytest.fixture
def runs():
    losses = {  # by strategy and draw, for each share
        "union": {0: (4.0, 3.0, 2.0, 1.5), 1: (3.0, 3.0, 1.0, None)},
        "transfer": {0: (3.0, 2.0, 1.0, 1.0), 1: (2.0, 2.2, 1.0, None)},
    }
    rows = [
        {"strategy": name, "draw": draw, "share": share, "loss": loss}
        for name, draws in losses.items()
        for draw, curve in draws.items()
        for share, loss in zip(SHARES, curve, strict=True)
        if loss is not None
    ]
    rows += [
        {"strategy": "all_source", "draw": 0, "share": 0.0, "loss": 5.0},
        {"strategy": "all_target", "draw": 0, "share": 1.0, "loss": 2.0},
    ]
    return pd.DataFrame(rows)


def test_curves_end_with_all_of_the_target_in_every_draw(runs):
    curves = learning_curves(runs, "union")
    np.testing.assert_array_equal(curves.index, SHARES)
    np.testing.assert_array_equal(curves[1], [3.0, 3.0, 1.0, 1.5])
    alone = runs[(runs.strategy == "union") & (runs.share < 1)].assign(strategy="partial_target")
    curves = learning_curves(pd.concat([runs, alone]), "partial_target")
    np.testing.assert_array_equal(curves[0], [4.0, 3.0, 2.0, 2.0])


@pytest.mark.parametrize(
    ("level", "expected"), [(4.0, 0.1), (5.0, 0.1), (3.5, 0.15), (2.0, 0.5), (1.75, 0.75), (1.0, 1.0)]
)
def test_share_needed_is_where_the_curve_crosses(level, expected):
    assert share_needed(SHARES, (4.0, 3.0, 2.0, 1.5), level) == pytest.approx(expected)


def test_a_curve_that_rises_again_is_taken_at_its_first_crossing():
    assert share_needed((0.1, 0.2, 0.3), (3.0, 1.0, 2.0), 1.5) == pytest.approx(0.175)


def test_summary(runs):
    found = summarise(runs, ["union", "transfer"])
    assert found["loss_all_source"] == 5.0
    assert found["loss_all_target"] == 2.0
    assert found["loss_at_fifth"]["transfer"] == {"per_seed": [2.0, 2.2]}
    assert found["loss_beyond_third"]["union"] == {"per_seed": [1.75, 1.25]}
    # Within a tenth of 2.0.
    assert found["share_needed"]["transfer"]["per_seed"] == pytest.approx([0.18, 0.1])
    assert found["share_needed"]["union"]["per_seed"] == pytest.approx([0.44, 0.32])


def test_of_small_shares_only_the_fifth_is_told(runs):
    some = runs[(runs.share == 0.2) | runs.strategy.isin(["all_source", "all_target"])]
    assert set(summarise(some, ["union"])) == {"loss_all_source", "loss_all_target", "loss_at_fifth"}


def test_percent():
    runs = pd.DataFrame(
        {"loss": [0.01], "published_loss": [0.02], "validation_loss": [np.nan], "share": [0.5]}
    )
    assert percent(runs).loc[0, ["loss", "published_loss", "share"]].tolist() == [1.0, 2.0, 0.5]
