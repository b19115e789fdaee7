"""Figures of active learning: times, uncertainty, stops, test errors (C-alg-1.2, C-fig-1.8, C-fig-1.9)."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, PercentFormatter

from ermlab._utils.palette import BLUE, COLORS, GREEN, GREY, ORANGE
from reproduction.experiments.active_learning.evaluate import STUDIES, TITLES, study_title
from reproduction.plotting.style import PUBLISHED

MEASURE_COLORS = {"random": GREY, "scoring": BLUE, "best_worst": ORANGE, "best_second": GREEN}
#: Lower limits of the axes.
_FLOORS = {"log_average": 1e-20, "log_eta": 1e-16}


def plot_patches(cells: pd.DataFrame, datasets: Mapping[str, str]) -> Figure:
    """Draw the cells of a pair of frames in the colors of their patches, one panel per study.

    Parameters
    ----------
    cells : DataFrame
        Columns ``study``, ``frame`` (0 or 1), ``row``, ``column`` and ``patch``.
    """
    fig, axes = plt.subplots(1, len(STUDIES), figsize=(9.5, 4.8), squeeze=False)
    for ax, name in zip(axes[0], STUDIES, strict=True):
        here = cells[cells["study"] == name]
        for number, patch in here.groupby("patch"):
            color = COLORS[number % len(COLORS)]
            first, second = (patch[patch["frame"] == frame] for frame in (0, 1))
            ax.plot(first["column"], first["row"], "o", color=color, markersize=4, fillstyle="none")
            ax.plot(second["column"], second["row"], "+", color=color, markersize=5)
        ax.set(title=study_title(name, datasets), xlabel="column (pixels)", ylabel="row (pixels)")
        ax.invert_yaxis()
        ax.set_aspect("equal", adjustable="datalim")
        ax.grid(visible=False)
    handles = [
        plt.Line2D([], [], color=GREY, marker=marker, linestyle="", fillstyle="none", label=label)
        for marker, label in (("o", "cell of the first frame"), ("+", "cell of the second frame"))
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=9)
    return fig


def query_times(timings: Mapping[str, Any]) -> pd.DataFrame:
    """Return the CPU time of each query in seconds, median over runs: columns study, measure, query."""
    tables = [
        # Films have pools of different sizes, so that some runs have fewer queries.
        pd.DataFrame({"seconds": pd.DataFrame(timings[study][measure]).median()})
        .rename_axis("query")
        .reset_index()
        .assign(study=study, measure=measure)
        for study in STUDIES
        for measure in TITLES
    ]
    return pd.concat(tables).assign(query=lambda table: table["query"] + 1)


def plot_query_times(times: pd.DataFrame, datasets: Mapping[str, str], published: float) -> Figure:
    """Draw the time of each query, one panel per study, with the published limit.

    Parameters
    ----------
    times : DataFrame
        As `query_times` returns it.
    datasets : mapping
        Whether the data sets are real.
    published : float
        Published limit in seconds.
    """
    fig, axes = plt.subplots(1, len(STUDIES), figsize=(9, 3.4), sharey=True)
    for ax, study in zip(axes, STUDIES, strict=True):
        for measure, curve in times[times["study"] == study].groupby("measure", sort=False):
            ax.plot(
                curve["query"], curve["seconds"], color=MEASURE_COLORS[measure], label=TITLES[measure], lw=1
            )
        ax.axhline(published, **PUBLISHED, label=f"published: less than {published:g} s")
        ax.set(yscale="log", xlabel="query", title=study_title(study, datasets))
    axes[0].set_ylabel("CPU time per query (s)")
    axes[0].legend(fontsize=8, ncols=2, loc="center left", bbox_to_anchor=(0, 0.72))
    return fig


def plot_uncertainty(
    curves: pd.DataFrame, values: Mapping[str, Any], datasets: Mapping[str, str], published: float
) -> Figure:
    """Draw average uncertainty and convergence measure against the share of patches, one line per seed.

    Parameters
    ----------
    curves : DataFrame
        One row per study, measure, seed and query.
    values, datasets : mapping
        Values of the results, and whether the data sets are real.
    published : float
        Published share at which all measures stop.
    """
    fig, axes = plt.subplots(len(STUDIES), 2, figsize=(9.5, 3.2 * len(STUDIES)), squeeze=False, sharex=True)
    for row, name in zip(axes, STUDIES, strict=True):
        study, patches = values["studies"][name], values["studies"][name]["summary"]["patches"]
        here = curves[curves["study"] == name]
        for ax, column in zip(row, _FLOORS, strict=True):
            _plot_seeds(ax, here, column, [m for m in TITLES if column == "log_average" or m != "random"])
            ax.axvline(published, **PUBLISHED)
            ax.set(yscale="log", xlim=(0, here["share"].max()), title=study_title(name, datasets))
            ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        row[0].set(ylabel="average uncertainty", ylim=(_FLOORS["log_average"], 1e8))
        row[1].set(ylabel=r"convergence measure $\eta$", ylim=(_FLOORS["log_eta"], 1e4))
        row[1].axhline(values["threshold"], color="black", linewidth=0.8)
        row[1].axvspan(0, (values["window"] + 1) / patches, color=GREY, alpha=0.15, linewidth=0)
        for measure, stops in study["stop_share"].items():
            heights = np.full(len(stops["repeats"]), values["threshold"])
            row[1].plot(stops["repeats"], heights, "v", color=MEASURE_COLORS[measure], markersize=7)
    for ax in axes[-1]:
        ax.set_xlabel("share of patches annotated")
    handles = [
        *_measure_handles(),
        plt.Line2D([], [], color="black", linewidth=0.8, label=f"threshold {values['threshold']:g}"),
        plt.Line2D([], [], color="black", marker="v", linestyle="", label="stop"),
        plt.Rectangle(
            (0, 0), 1, 1, color=GREY, alpha=0.15, label=f"fewer than T + 1 = {values['window'] + 1} queries"
        ),
        plt.Line2D([], [], **PUBLISHED, label=f"published stop, {published:.0%}"),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=9)
    return fig


def _plot_seeds(ax: Axes, curves: pd.DataFrame, column: str, measures: Sequence[str]) -> None:
    """Draw the exponential of a column, one line per measure and seed."""
    for measure in measures:
        for _, run in curves[curves["measure"] == measure].groupby("seed"):
            logs = np.maximum(run[column].to_numpy(), np.log(_FLOORS[column]) - 5)
            heights = np.exp(np.where(np.isfinite(logs), np.minimum(logs, 50), np.nan))
            ax.plot(run["share"], heights, color=MEASURE_COLORS[measure], linewidth=0.9, alpha=0.8)


def plot_rare_events(curves: pd.DataFrame, datasets: Mapping[str, str]) -> Figure:
    """Draw the share of the events other than moves that each measure has queried, one panel per study."""
    fig, axes = plt.subplots(1, len(STUDIES), figsize=(9.5, 3.4), squeeze=False, sharey=True)
    for ax, name in zip(axes[0], STUDIES, strict=True):
        for measure, color in MEASURE_COLORS.items():
            curve = curves[(curves["study"] == name) & (curves["measure"] == measure)]
            _plot_band(ax, curve, "share", "rare", color)
        ax.set(title=study_title(name, datasets), xlabel="share of patches annotated", ylim=(0, 1))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes[0, 0].set_ylabel("queried share of the\nevents other than moves")
    fig.legend(handles=_measure_handles(), loc="outside lower center", ncols=4, fontsize=9)
    return fig


def plot_test_errors(
    curves: pd.DataFrame,
    values: Mapping[str, Any],
    datasets: Mapping[str, str],
    published: Mapping[str, Sequence[float]],
) -> Figure:
    """Draw test errors against the share of patches and of events annotated.

    Lines are means over films or seeds, bands show the range.

    Parameters
    ----------
    curves : DataFrame
        One row per study, measure, seed and query.
    values, datasets : mapping
        Values of the results, and whether the data sets are real.
    published : mapping
        Published errors of active learning at the shares of table 1.3, in percent.
    """
    fig, axes = plt.subplots(len(STUDIES), 2, figsize=(9.5, 3.3 * len(STUDIES)), squeeze=False, sharey="row")
    for row, name in zip(axes, STUDIES, strict=True):
        tested = curves[curves["study"] == name].dropna(subset="test_error")
        for ax, (x, what) in zip(row, (("share", "patches"), ("events", "events")), strict=True):
            for measure, color in MEASURE_COLORS.items():
                _plot_band(ax, tested[tested["measure"] == measure], x, "test_error", color)
            ax.axhline(np.mean(values["studies"][name]["all_data"]["repeats"]), color="black", linewidth=1)
            ax.set(yscale="log", xlabel=f"share of {what} annotated", xlim=(0, None))
            ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
            ax.set_yticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
            ax.yaxis.set_minor_formatter(NullFormatter())
            ax.set_ylim(bottom=max(ax.get_ylim()[0], 0.1))  # a short film may be tracked without an error
        row[0].set(ylabel="test error (%)", title=study_title(name, datasets))
        row[1].set_title("the same, by events")
    for measure, losses in published.items():
        axes[0, 0].plot(values["shares"], losses, "x", color=MEASURE_COLORS[measure], markersize=6)
    handles = [
        *_measure_handles(),
        plt.Line2D([], [], color="black", linewidth=1, label="max-margin on all patches"),
        plt.Line2D([], [], color="black", marker="x", linestyle="", label="published (other films)"),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=6, fontsize=9)
    return fig


def _measure_handles() -> list[plt.Line2D]:
    return [plt.Line2D([], [], color=MEASURE_COLORS[m], label=title) for m, title in TITLES.items()]


def _plot_band(ax: Axes, curves: pd.DataFrame, x: str, y: str, color: str) -> None:
    by_query = curves.groupby("query")
    place, low, high = by_query[x].mean(), by_query[y].min(), by_query[y].max()
    ax.fill_between(place, low, high, color=color, alpha=0.2, linewidth=0)
    ax.plot(place, by_query[y].mean(), color=color)
