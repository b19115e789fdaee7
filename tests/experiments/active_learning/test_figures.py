"""Figures of active learning show the numbers that they are given."""

import numpy as np
import pandas as pd
import pytest

from reproduction.claims.results import repeated
from reproduction.experiments.active_learning.evaluate import STUDIES, TITLES
from reproduction.experiments.active_learning.figures import (
    plot_patches,
    plot_query_times,
    plot_rare_events,
    plot_test_errors,
    plot_uncertainty,
    query_times,
)

MEASURES = list(TITLES)
DATASETS = {"dcelliq_nuclei": "simulated", "mitocheck_nuclei": "simulated", "cell_migration": "real"}


@pytest.fixture
def values():
    study = {
        "summary": {"patches": 40},
        "all_data": repeated([1.0, 3.0]),
        "stop_share": {m: repeated([0.15, 0.25]) for m in MEASURES[1:]},
    }
    return {
        "shares": [0.17, 0.3, 0.4],
        "threshold": 1e-4,
        "window": 5,
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
                        }
                    )
                )
    return pd.concat(tables)


def test_a_patch_has_one_color_in_both_frames():
    cells = pd.DataFrame({"frame": [0, 1, 0, 1], "row": range(4), "column": range(4), "patch": [0, 0, 1, 1]})
    fig = plot_patches(pd.concat([cells.assign(study=study) for study in STUDIES]), DATASETS)
    colors = [line.get_color() for line in fig.axes[0].lines]
    assert colors[0] == colors[1] != colors[2] == colors[3]
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


def test_published_errors_are_drawn_with_the_first_study_only(values, curves):
    published = {m: [3.0, 2.0, 1.0] for m in MEASURES}
    fig = plot_test_errors(curves, values, DATASETS, published)
    crosses = [sum(line.get_marker() == "x" for line in ax.lines) for ax in fig.axes]
    assert crosses == [4, 0, 0, 0]
    mean = next(line for line in fig.axes[0].lines if len(line.get_xdata()) == 10)
    assert (mean.get_ydata() == 5.5).all()
    by_events = next(line for line in fig.axes[1].lines if len(line.get_xdata()) == 10)
    assert by_events.get_xdata()[-1] == pytest.approx(20 / 50)


def test_rare_events_of_each_measure(curves):
    fig = plot_rare_events(curves, DATASETS)
    assert [len(ax.lines) for ax in fig.axes] == [4, 4]
    assert fig.axes[0].lines[0].get_ydata()[-1] == pytest.approx(20 / 25)


def test_times_of_queries_are_medians_over_runs():
    runs = [[0.1, 0.2], [0.3, 0.4], [0.2]]  # the third pool has one patch less
    timings = {study: dict.fromkeys(MEASURES, runs) for study in STUDIES}
    times = query_times(timings)
    np.testing.assert_allclose(times.loc[times["query"] == 2, "seconds"], 0.3)
    ax = plot_query_times(times, DATASETS, published=9).axes[0]
    assert list(ax.lines[0].get_xdata()) == [1, 2]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.2, 0.3])
    assert set(ax.lines[-1].get_ydata()) == {9}
