"""The tables and figures of Laplacian KCCA show the numbers they are given."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from nibabel import Nifti1Image

from reproduction.claims.results import over_seeds
from reproduction.experiments.laplacian_kcca.figures import (
    EXPERIMENTS,
    OUTPUTS,
    PUBLISHED,
    correlation_table,
    edge_table,
    exhibit_table,
    map_data,
    map_figure,
    plot_correlations,
    plot_sweep,
    right_centre,
    share_table,
    sweep_gains,
    sweep_table,
)

NAMES = ("motion", "faces")
GIVEN = {"exp1": [0.1, 0.2], "exp2": [0.3, 0.4], "exp3": [0.5, 0.6]}


@pytest.fixture
def ours():
    return {
        name: [over_seeds([0.1 * i, 0.1 * i + 0.2]), over_seeds([0.0, 0.0])]
        for i, name in enumerate(EXPERIMENTS)
    }


@pytest.fixture
def sweep():
    rows = [
        {"scenario": name, "signal": signal, "sharing": sharing, "seed": 0, "experiment": e, "output": o}
        | {"correlation": signal * (0.5 + gain)}
        for name, signal, sharing in (("main", 1.0, 0.8), ("null", 0.0, 0.8), ("unshared", 1.0, 0.0))
        for e, gain in (("exp1", 0.0), ("exp2", 0.1), ("exp3", -0.2 if name == "unshared" else 0.2))
        for o in NAMES
    ]
    return pd.DataFrame(rows)


@pytest.fixture
def maps():
    mask = np.ones((6, 5, 4), dtype=bool)
    target = np.zeros(120, dtype=bool)
    target[[0, 100]] = True
    weights = np.zeros(120)
    weights[[0, 50]] = 3.0, 1.0
    affine = np.diag([10.0, 10.0, 10.0, 1.0])
    affine[0, 3] = -25.0
    arrays = {f"faces_{name}": weights.astype(np.float32) for name in PUBLISHED}
    return arrays | {"faces_target": target, "mask": mask, "affine": affine}


def test_a_table_has_published_ours_and_permuted(ours):
    permuted = {name: [over_seeds([0.9]), over_seeds([0.8])] for name in PUBLISHED}
    table = correlation_table(ours, NAMES, GIVEN, permuted)
    assert list(table.index) == ["motion", "faces"]
    assert table.loc["motion", ("published", "3")] == "0.500\u00a0±\u00a00.07"
    assert table.loc["faces", ("published", "1")] == "0.200\u00a0±\u00a00.07"
    assert table.loc["motion", ("ours", EXPERIMENTS["exp2"])] == "0.300\u00a0±\u00a00.14"
    assert table.loc["faces", ("permuted volumes", "1")] == "0.800"
    assert correlation_table(ours, NAMES).shape == (2, len(EXPERIMENTS))


def test_the_exhibit_has_a_row_for_every_number(ours):
    one = {name: [over_seeds([0.7])] for name in EXPERIMENTS}
    spread = {name: dict.fromkeys(NAMES, 0.05) for name in EXPERIMENTS}
    parts = {("film", "fair"): ours, ("film", "permuted"): ours, ("haxby", "runs"): one}
    table = exhibit_table(parts, {"film": NAMES, "haxby": ["face"]}, GIVEN, spread)
    assert len(table) == 5 * (2 + 2 + 1)
    row = table.query("data == 'film' and protocol == 'fair' and experiment == 'exp3' and output == 'motion'")
    assert row[["correlation", "published", "sd_over_folds"]].to_numpy().tolist() == [[0.4, 0.5, 0.05]]
    assert row["published_spread"].tolist() == [0.074]
    assert table[table["data"] == "haxby"][["published", "published_spread"]].isna().all(axis=None)


def test_points_stand_at_the_means_and_crosses_at_the_published_values(ours):
    fig = plot_correlations(ours, NAMES, GIVEN, "title")
    heights = np.concatenate([line.get_ydata() for line in fig.axes[0].lines if len(line.get_ydata())])
    for value in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6):
        assert np.isclose(heights, value).any()
    labels = [label.get_text() for label in fig.axes[0].get_xticklabels()]
    assert labels == [OUTPUTS[name] for name in NAMES]
    plt.close(fig)


def test_gains_are_over_experiment_1(sweep):
    gains = sweep_gains(sweep).set_index(["scenario", "experiment"])["gain"]
    assert gains["main", "exp2"] == pytest.approx(0.1)
    assert gains["unshared", "exp3"] == pytest.approx(-0.2)
    assert gains["null", "exp3"] == pytest.approx(0)
    table = sweep_table(sweep).set_index("scenario")
    assert table.loc["main", EXPERIMENTS["exp3"]] == pytest.approx(0.7)
    assert (table["scans"] == 1).all()


def test_each_panel_of_the_sweep_changes_one_thing(sweep):
    fig = plot_sweep(sweep)
    signal, sharing = ({*np.concatenate([line.get_xdata() for line in ax.lines[:-1]])} for ax in fig.axes)
    assert signal == {0.0, 1.0}
    assert sharing == {0.0, 0.8}
    plt.close(fig)


def test_edges_are_told_in_percent():
    shares = {"eps at its least": 0.5, "gamma at its least": 0.25}
    table = edge_table({"folds": {"exp1": shares, "exp1_matched": shares}})
    assert table.to_numpy().tolist() == [["50 %", "25 %"]]


def test_shares_stand_beside_chance():
    values = {
        "target_share": {"faces": [over_seeds([0.1]), over_seeds([0.2]), over_seeds([0.3])]},
        "target_chance": {"faces": 0.004},
    }
    assert share_table(values).loc["faces"].tolist() == ["10.0", "20.0", "30.0", "0.4"]


def test_a_figure_of_maps_has_three_rows_and_their_numbers(maps):
    anatomy = Nifti1Image(np.ones((6, 5, 4), dtype=np.float32), maps["affine"])
    fig = map_figure(maps, "faces", anatomy, (5.0, 10.0, 10.0))
    assert [text.get_text()[:12] for text in fig.texts] == ["Experiment 3", "Experiment 2", "Experiment 1"]
    plt.close(fig)
    values = {"target_share": {"faces": [over_seeds([0.75])] * 3}, "target_chance": {"faces": 2 / 120}}
    data = map_data(maps, "faces", values)
    assert data["voxels_above_2_sd"].tolist() == [2, 2, 2]
    assert data["of_them_in_target"].tolist() == [1, 1, 1]
    assert data["largest_in_target_sd"].iloc[0] == pytest.approx(3 / maps["faces_exp1"].std())


def test_cuts_go_through_the_right_half_of_the_target(maps):
    assert right_centre(maps, "faces") == (25.0, 0.0, 0.0)
