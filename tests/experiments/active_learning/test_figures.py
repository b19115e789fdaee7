"""Figures and tables of active learning show the numbers that they are given."""

import numpy as np
import pandas as pd
import pytest

from reproduction.claims.results import over_seeds
from reproduction.experiments.active_learning.figures import (
    STUDIES,
    TITLES,
    comparison_table,
    measure_table,
    plot_patches,
    plot_rare_events,
    plot_test_errors,
    plot_uncertainty,
    stop_table,
    study_table,
    summary_table,
    timing_table,
)

MEASURES = list(TITLES)
DATASETS = {"dcelliq_nuclei": "simulated", "mitocheck_nuclei": "simulated", "cell_migration": "real"}


@pytest.fixture
def values():
    study = {
        "summary": {
            "pairs": {"train": 9, "test": 8},
            "patches": 40,
            "cells_per_patch": 5.25,
            "complete_patches": 0.9,
            "true_events": 200,
            "lost_to_gates": 0.001,
            "lost_to_borders": 0.045,
            "test_events": 150,
            "all_data": 2.0,
            "perceptron": 3.0,
            "averaged_perceptron": 2.5,
        },
        "stop_share": {m: over_seeds([0.15, 0.25]) for m in MEASURES[1:]},
        **{kind: {m: over_seeds([4.0, 6.0]) for m in MEASURES} for kind in ("test_error", "averaged_error")},
        **{
            kind: {m: [over_seeds([k + 1.0, k + 2.0]) for k in range(3)] for m in MEASURES}
            for kind in ("active", "averaged", "combined")
        },
    }
    return {
        "shares": [0.17, 0.3, 0.4],
        "threshold": 1e-4,
        "window": 5,
        "stop_share": study["stop_share"],
        "studies": dict.fromkeys(STUDIES, study),
    }


@pytest.fixture
def curves():
    tables = []
    for study in STUDIES:
        for measure in MEASURES:
            for seed in range(2):
                query = np.arange(1, 21)
                tables.append(
                    pd.DataFrame(
                        {
                            "study": study,
                            "measure": measure,
                            "seed": seed,
                            "query": query,
                            "share": query / 40,
                            "events": query / 50,
                            "rare": query / 25,
                            "log_average": -3.0 * query,
                            "log_eta": np.where(query > 5, -2.0 * query, np.inf),
                            "test_error": np.where(query % 2 == 0, 5.0 + seed, np.nan),
                            "averaged_error": np.where(query % 2 == 0, 3.0 + seed, np.nan),
                        }
                    )
                )
    return pd.concat(tables)


def test_the_table_of_studies(values):
    table = study_table(values, DATASETS).set_index("study")
    assert list(table.index) == [
        "nuclei of two laboratories (simulated)",
        "migrating cells, every 4th frame (real)",
    ]
    assert (table["lost to borders of patches"] == "4.5%").all()


def test_what_each_measure_asks_for(values, curves):
    table = measure_table(values, curves).set_index("measure")
    # 17 % of 40 patches are 7 queries.
    assert table.loc["best vs. 2nd", "nuclei: events annotated"] == "14%"
    assert table.loc["best vs. 2nd", "nuclei: of those that are no moves"] == "28%"


def test_seconds_stand_in_a_table_of_their_own():
    timings = {study: {measure: [0.01, 0.03] for measure in MEASURES} for study in STUDIES}
    assert (timing_table(timings)["ms a query, migration"] == "20").all()


def test_active_and_combined_losses_stand_beside_the_published(values):
    published = {"active": {m: [7.0, 8.0, 9.0] for m in MEASURES}}
    table = comparison_table(values, "nuclei", published).set_index("measure")
    assert table.loc["scoring", "30% AL, published"] == "8.00"
    assert table.loc["scoring", "30% AL"] == "2.50 ± 0.71"
    assert "30% CL, published" not in table
    assert not any("published" in name for name in comparison_table(values, "migration"))


def test_all_patches_stand_below_the_means_of_the_curves(values):
    table = summary_table(values, published=1.07).set_index("")
    assert table.loc["best vs. 2nd, mean of the curve", STUDIES["nuclei"][0]] == "5.00 ± 1.41"
    assert table.loc["all patches, max-margin"].tolist() == ["2.00", "2.00", "1.07"]
    assert table.loc["all patches, averaged perceptron", "published"] == ""


def test_runs_that_do_not_stop_are_counted(values):
    stops = pd.DataFrame(
        [
            {"study": study, "measure": measure, "seed": seed, "scale": scale, "stop": stop}
            for study in STUDIES
            for measure in MEASURES[1:]
            for scale, both in (("1", (8, 12)), ("unit", (8, np.nan)))
            for seed, stop in enumerate(both)
        ]
    )
    table = stop_table(stops, values).set_index(["study", "length of w"])["scoring"]
    assert table["nuclei of two laboratories", "as it is"] == "25.0%"
    assert table["nuclei of two laboratories", "set to 1"] == "1 of 2 runs"


def test_a_patch_has_one_colour_in_both_frames():
    cells = pd.DataFrame({"frame": [0, 1, 0, 1], "row": range(4), "column": range(4), "patch": [0, 0, 1, 1]})
    fig = plot_patches(pd.concat([cells.assign(study=study) for study in STUDIES]), DATASETS)
    colours = [line.get_color() for line in fig.axes[0].lines]
    assert colours[0] == colours[1] != colours[2] == colours[3]
    assert fig.axes[0].yaxis_inverted()


def test_uncertainty_marks_stops_and_the_threshold(values, curves):
    fig = plot_uncertainty(curves, values, DATASETS, published=0.17)
    eta = fig.axes[1]
    stops = [line for line in eta.lines if line.get_marker() == "v"]
    assert [list(line.get_xdata()) for line in stops] == [[0.15, 0.25]] * 3
    assert all((line.get_ydata() == 1e-4).all() for line in stops)
    # Random has an average uncertainty, but no convergence measure.
    curves_of = [sum(len(line.get_xdata()) == 20 for line in ax.lines) for ax in fig.axes[:2]]
    assert curves_of == [8, 6]
    drawn = next(line for line in eta.lines if len(line.get_xdata()) == 20)
    assert np.isnan(drawn.get_ydata()[:5]).all()
    assert drawn.get_ydata()[5] == pytest.approx(np.exp(-12.0))


def test_test_errors_show_published_losses_with_the_stand_in_only(values, curves):
    published = {m: [3.0, 2.0, 1.0] for m in MEASURES}
    fig = plot_test_errors(curves, values, DATASETS, published)
    crosses = [sum(line.get_marker() == "x" for line in ax.lines) for ax in fig.axes]
    assert crosses == [4, 0, 0, 0, 0, 0]
    mean = next(line for line in fig.axes[0].lines if len(line.get_xdata()) == 10)
    assert (mean.get_ydata() == 5.5).all()
    by_events = next(line for line in fig.axes[1].lines if len(line.get_xdata()) == 10)
    assert by_events.get_xdata()[-1] == pytest.approx(20 / 50)
    averaged = next(line for line in fig.axes[2].lines if len(line.get_xdata()) == 10)
    assert (averaged.get_ydata() == 3.5).all()


def test_rare_events_of_each_measure(curves):
    fig = plot_rare_events(curves, DATASETS)
    assert [len(ax.lines) for ax in fig.axes] == [4, 4]
    assert fig.axes[0].lines[0].get_ydata()[-1] == pytest.approx(20 / 25)
