"""Active learning: measures of uncertainty, when to stop, test errors (C-tab-1.2, 1.3, C-fig-1.8, 1.9)."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, PercentFormatter

from ermlab._utils.palette import BLUE, COLORS, GREEN, GREY, ORANGE
from reproduction.plotting.style import PUBLISHED

#: Study to its title and the data sets that it is made of.
STUDIES = {
    "nuclei": ("nuclei of two laboratories", ("dcelliq_nuclei", "mitocheck_nuclei")),
    "migration": ("migrating cells, every 4th frame", ("cell_migration",)),
}
TITLES = {
    "random": "random",
    "scoring": "scoring",
    "best_worst": "best vs. worst",
    "best_second": "best vs. 2nd",
}
FORMULAS = {
    "random": "q ~ uniform(0, 1)",
    "scoring": "q = exp(-max_y w'Φ(x, y))",
    "best_worst": "q = exp(-(max_y w'Φ(x, y) - min_y w'Φ(x, y)))",
    "best_second": "q = exp(-(max_y w'Φ(x, y) - second best w'Φ(x, y)))",
}
COLOURS = {"random": GREY, "scoring": BLUE, "best_worst": ORANGE, "best_second": GREEN}
#: Values of the axes below which a curve is not followed.
_FLOORS = {"log_average": 1e-20, "log_eta": 1e-16}
_LENGTHS = {"0.01": "÷ 100", "0.1": "÷ 10", "1": "as it is", "10": "× 10", "100": "× 100", "unit": "set to 1"}


def study_title(name: str, datasets: Mapping[str, str]) -> str:
    """Return the title of a study, and whether its data are real."""
    title, needed = STUDIES[name]
    kinds = {datasets[dataset] for dataset in needed}
    return f"{title} ({'real' if kinds == {'real'} else 'simulated'})"


def study_table(values: Mapping[str, Any], datasets: Mapping[str, str]) -> pd.DataFrame:
    """Return how much each study learns from and tests on, and what the patches lose."""
    rows = []
    for name in STUDIES:
        summary = values["studies"][name]["summary"]
        rows.append(
            {
                "study": study_title(name, datasets),
                "pairs of frames (train, test)": f"{summary['pairs']['train']}, {summary['pairs']['test']}",
                "patches": summary["patches"],
                "cells a patch": f"{summary['cells_per_patch']:.1f}",
                "annotated completely": f"{summary['complete_patches']:.0%}",
                "true events": summary["true_events"],
                "lost to gates": f"{summary['lost_to_gates']:.1%}",
                "lost to borders of patches": f"{summary['lost_to_borders']:.1%}",
                "events tested": summary["test_events"],
            }
        )
    return pd.DataFrame(rows)


def plot_patches(cells: pd.DataFrame, datasets: Mapping[str, str]) -> Figure:
    """Draw the cells of a pair of frames in the colours of their patches, a panel a study.

    Parameters
    ----------
    cells
        Columns ``study``, ``frame`` (0 or 1), ``row``, ``column`` and ``patch``.
    """
    fig, axes = plt.subplots(1, len(STUDIES), figsize=(9.5, 4.8), squeeze=False)
    for ax, name in zip(axes[0], STUDIES, strict=True):
        here = cells[cells["study"] == name]
        for number, patch in here.groupby("patch"):
            colour = COLORS[number % len(COLORS)]
            first, second = (patch[patch["frame"] == frame] for frame in (0, 1))
            ax.plot(first["column"], first["row"], "o", color=colour, markersize=4, fillstyle="none")
            ax.plot(second["column"], second["row"], "+", color=colour, markersize=5)
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


def measure_table(values: Mapping[str, Any], curves: pd.DataFrame) -> pd.DataFrame:
    """Return the four measures, and what each asks for up to the first share of table 1.3.

    Parameters
    ----------
    curves
        A row for each study, measure, seed and query.
    """
    share = min(values["shares"])
    rows = []
    for measure, formula in FORMULAS.items():
        row = {"measure": TITLES[measure], "formula": formula}
        for name in STUDIES:
            asked = curves[(curves["study"] == name) & (curves["measure"] == measure)]
            last = asked[asked["share"] <= share + 0.5 / values["studies"][name]["summary"]["patches"]]
            last = last.groupby("seed").last()
            row[f"{name}: events annotated"] = f"{last['events'].mean():.0%}"
            row[f"{name}: of those that are no moves"] = f"{last['rare'].mean():.0%}"
        rows.append(row)
    return pd.DataFrame(rows)


def timing_table(timings: Mapping[str, Any]) -> pd.DataFrame:
    """Return the milliseconds from an annotation to the next query, mean over all queries."""
    return pd.DataFrame(
        {
            "measure": list(TITLES.values()),
            **{
                f"ms a query, {name}": [f"{1000 * np.mean(timings[name][m]):.0f}" for m in TITLES]
                for name in STUDIES
            },
        }
    )


def plot_uncertainty(
    curves: pd.DataFrame, values: Mapping[str, Any], datasets: Mapping[str, str], published: float
) -> Figure:
    """Draw average uncertainty and convergence measure against the share of patches, a line a seed.

    Parameters
    ----------
    published
        Share at which all measures are said to stop.
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
            shares = np.array(stops["per_seed"])
            ax = row[1]
            ax.plot(
                shares, np.full(len(shares), values["threshold"]), "v", color=COLOURS[measure], markersize=7
            )
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
    """Draw the exponential of a column, a line for each measure and seed."""
    for measure in measures:
        for _, run in curves[curves["measure"] == measure].groupby("seed"):
            logs = np.maximum(run[column].to_numpy(), np.log(_FLOORS[column]) - 5)
            heights = np.exp(np.where(np.isfinite(logs), np.minimum(logs, 50), np.nan))
            ax.plot(run["share"], heights, color=COLOURS[measure], linewidth=0.9, alpha=0.8)


def plot_rare_events(curves: pd.DataFrame, datasets: Mapping[str, str]) -> Figure:
    """Draw how many of the events that are no moves each measure has asked for, a panel a study."""
    fig, axes = plt.subplots(1, len(STUDIES), figsize=(9.5, 3.4), squeeze=False, sharey=True)
    for ax, name in zip(axes[0], STUDIES, strict=True):
        for measure, colour in COLOURS.items():
            some = curves[(curves["study"] == name) & (curves["measure"] == measure)]
            _plot_band(ax, some, "share", "rare", colour)
        ax.set(title=study_title(name, datasets), xlabel="share of patches annotated", ylim=(0, 1))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes[0, 0].set_ylabel("events asked for\nthat are no moves")
    fig.legend(handles=_measure_handles(), loc="outside lower center", ncols=4, fontsize=9)
    return fig


def plot_test_errors(
    curves: pd.DataFrame,
    values: Mapping[str, Any],
    datasets: Mapping[str, str],
    published: Mapping[str, Sequence[float]],
) -> Figure:
    """Draw test errors against the share of patches and of events annotated, and those of averaged weights.

    Lines are means over seeds, bands go from the least to the largest.

    Parameters
    ----------
    published
        Losses of active learning at the shares of table 1.3, in per cent.
    """
    fig, axes = plt.subplots(len(STUDIES), 3, figsize=(11, 3.3 * len(STUDIES)), squeeze=False, sharey="row")
    views = (
        ("share", "test_error", "patches annotated"),
        ("events", "test_error", "events annotated"),
        ("share", "averaged_error", "patches annotated"),
    )
    for row, name in zip(axes, STUDIES, strict=True):
        tested = curves[curves["study"] == name].dropna(subset="test_error")
        for ax, (x, y, what) in zip(row, views, strict=True):
            for measure, colour in COLOURS.items():
                _plot_band(ax, tested[tested["measure"] == measure], x, y, colour)
            ax.axhline(values["studies"][name]["summary"]["all_data"], color="black", linewidth=1)
            ax.set(yscale="log", xlabel=f"share of {what}", xlim=(0, None))
            ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
            ax.set_yticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
            ax.yaxis.set_minor_formatter(NullFormatter())
        row[0].set(ylabel="test error (%)", title=study_title(name, datasets))
        row[1].set_title("the same, by events")
        row[2].set_title("averaged weights")
    for measure, losses in published.items():
        axes[0, 0].plot(values["shares"], losses, "x", color=COLOURS[measure], markersize=6)
    handles = [
        *_measure_handles(),
        plt.Line2D([], [], color="black", linewidth=1, label="max-margin on all patches"),
        plt.Line2D([], [], color="black", marker="x", linestyle="", label="published (other films)"),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=6, fontsize=9)
    return fig


def _measure_handles() -> list[plt.Line2D]:
    return [plt.Line2D([], [], color=COLOURS[m], label=title) for m, title in TITLES.items()]


def _plot_band(ax: Axes, curves: pd.DataFrame, x: str, y: str, colour: str) -> None:
    by_query = curves.groupby("query")
    place, low, high = by_query[x].mean(), by_query[y].min(), by_query[y].max()
    ax.fill_between(place, low, high, color=colour, alpha=0.2, linewidth=0)
    ax.plot(place, by_query[y].mean(), color=colour)


def comparison_table(
    values: Mapping[str, Any], name: str, published: Mapping[str, Any] | None = None
) -> pd.DataFrame:
    """Return losses (per cent) of active and combined learning at each share, mean and deviation over seeds.

    Parameters
    ----------
    published
        Losses of the chapter, shown beside ours.
    """
    study = values["studies"][name]
    rows = []
    for measure, title in TITLES.items():
        row = {"measure": title}
        for k, share in enumerate(values["shares"]):
            for kind, label in (("active", "AL"), ("averaged", "AL, averaged"), ("combined", "CL")):
                if published is not None and kind in published:
                    row[f"{share:.0%} {label}, published"] = f"{published[kind][measure][k]:.2f}"
                row[f"{share:.0%} {label}"] = _plus_minus(study[kind][measure][k]["per_seed"])
        rows.append(row)
    return pd.DataFrame(rows)


def summary_table(values: Mapping[str, Any], published: float) -> pd.DataFrame:
    """Return losses (per cent) without a choice: means over the curves, and of training on all patches.

    Parameters
    ----------
    published
        Loss of training on all data in the chapter.
    """
    rows = []
    for name, (title, _) in STUDIES.items():
        study = values["studies"][name]
        row = {"study": title}
        for measure, label in TITLES.items():
            row[f"{label}, mean of the curve"] = _plus_minus(study["test_error"][measure]["per_seed"])
            row[f"{label}, averaged weights"] = _plus_minus(study["averaged_error"][measure]["per_seed"])
        rows.append(row)
    table = pd.DataFrame(rows).set_index("study").T
    for place, key in (
        ("max-margin", "all_data"),
        ("perceptron", "perceptron"),
        ("averaged perceptron", "averaged_perceptron"),
    ):
        table.loc[f"all patches, {place}"] = [
            f"{values['studies'][name]['summary'][key]:.2f}" for name in STUDIES
        ]
    table["published"] = ""
    table.loc["all patches, max-margin", "published"] = f"{published:.2f}"
    return table.reset_index(names="")


def stop_table(stops: pd.DataFrame, values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the share at which each measure would stop with longer or shorter weights, mean over seeds.

    Where not all runs stop before they end, how many do.

    Parameters
    ----------
    stops
        A row for each study, measure, seed and ``scale`` of the weights.
    """
    rows = []
    for name in STUDIES:
        patches = values["studies"][name]["summary"]["patches"]
        here = stops[stops["study"] == name].astype({"scale": str})
        for scale, label in _LENGTHS.items():
            row = {"study": STUDIES[name][0], "length of w": label}
            for measure in values["stop_share"]:
                at = here[(here["measure"] == measure) & (here["scale"] == scale)]["stop"]
                row[TITLES[measure]] = (
                    f"{at.mean() / patches:.1%}"
                    if at.notna().all()
                    else f"{at.notna().sum()} of {len(at)} runs"
                )
            rows.append(row)
    return pd.DataFrame(rows)


def _plus_minus(repeats: Sequence[float]) -> str:
    return f"{np.mean(repeats):.2f} ± {np.std(repeats, ddof=1):.2f}"
