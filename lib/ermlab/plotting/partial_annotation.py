"""Learning from partial annotations: losses, times, and how the optimisers get there (C-fig-1.4 to 1.7)."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ermlab.plotting.style import AMBER, BLUE, GREEN, GREY, ORANGE, PINK, PUBLISHED

#: Name in the tables, what a reader calls it, colour.
_METHODS = (
    ("partial", "bridge loss", BLUE, "o-"),
    ("perceptron", "perceptron", ORANGE, "s-"),
    ("averaged", "averaged perceptron", AMBER, "^--"),
)
_VARIANTS = {
    "plain": ("plain", GREY, "o"),
    "recycling": ("recycling", GREEN, "s"),
    "adaptive": ("adaptive precision", PINK, "^"),
    "both": ("both", BLUE, "D"),
}
_QUARTER = 0.25
#: What a study is called.
TITLES = {
    "nuclei": "nuclei, another laboratory",
    "migration_1": "migrating cells, every frame",
    "migration_2": "migrating cells, every 2nd frame",
    "migration_4": "migrating cells, every 4th frame",
}
_STARTS = {"guess": "from a plain guess", "zero": "from 0"}


def plot_annotation_losses(curves: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw the test loss against the share of annotation, a panel for each study.

    Parameters
    ----------
    curves
        Title of each panel to its rows ``method``, ``share``, ``draw``, ``loss``.
    """
    fig, axes = _panels(len(curves))
    for ax, (title, rows) in zip(axes, curves.items(), strict=True):
        _plot_methods(ax, rows, "loss")
        full = rows.loc[rows["method"] == "full", "loss"].item()
        ax.axhline(full, color="black", linestyle="--", linewidth=1.2, label="full annotation")
        guess = rows.loc[rows["method"] == "guess", "loss"].item()
        ax.axhline(guess, color=GREY, linestyle="-.", linewidth=1, label="start, not learned")
        ax.axvline(_QUARTER, **PUBLISHED)
        ax.set(title=title, ylim=(0, None), ylabel="events missed (%)")
        _annotate_quarter(ax)
    axes[0].legend(fontsize=7.5)
    return fig


def plot_training_times(curves: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw the seconds of the processor that training takes against the share of annotation."""
    fig, axes = _panels(len(curves))
    for ax, (title, rows) in zip(axes, curves.items(), strict=True):
        _plot_methods(ax, rows, "seconds")
        full = rows.loc[rows["method"] == "full", "seconds"].item()
        ax.axhline(full, color="black", linestyle="--", linewidth=1.2, label="full annotation")
        shares = rows.loc[rows["share"] >= _QUARTER, "share"]
        ax.plot(
            [shares.min(), shares.max()], 2 * [2 * full], **PUBLISHED, label="published: twice that of full"
        )
        ax.set(title=title, yscale="log", ylabel="training time (seconds of the processor)")
    axes[0].legend(fontsize=7.5)
    return fig


def _panels(n: int) -> tuple[Figure, Sequence[Axes]]:
    fig, axes = plt.subplots(1, n, figsize=(0.4 + 3.6 * n, 3.6), squeeze=False)
    return fig, axes[0]


def _plot_methods(ax: Axes, rows: pd.DataFrame, column: str) -> None:
    """Draw the mean over draws of each method, and from the least to the largest."""
    shares = np.sort(rows.loc[rows["method"] == "partial", "share"].unique())
    for method, label, color, style in _METHODS:
        over_draws = rows[rows["method"] == method].groupby("share")[column]
        mean = over_draws.mean()
        ax.plot(mean.index, mean, style, color=color, label=label, markersize=4)
        if method == "averaged":
            continue
        ax.fill_between(mean.index, over_draws.min(), over_draws.max(), color=color, alpha=0.15, linewidth=0)
    ax.set(xscale="log", xlabel="share of the annotation")
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticks(shares, [f"{100 * share:g} %" for share in shares], fontsize=8)


def _annotate_quarter(ax: Axes) -> None:
    ax.annotate(
        "published: as good\nas full from here on",
        (_QUARTER, 0.02),
        xycoords=("data", "axes fraction"),
        xytext=(3, 0),
        textcoords="offset points",
        fontsize=7.5,
    )


def problems_of(descents: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of each study and start under a name for readers."""
    return {
        f"{TITLES[study]}, {_STARTS[start]}": rows
        for (study, start), rows in descents.groupby(["study", "start"], sort=False)
    }


def bounds_table(problems: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return bounds, outer iterations, objective and seconds at the end of every descent."""
    tables = []
    for problem, rows in problems.items():
        paths = rows.groupby(["solver", "variant"], sort=False)
        last = paths.last()
        table = pd.DataFrame(
            {
                "bounds": last["bounds"],
                "of these in the first iteration": paths["bounds"].nth(1).to_numpy(),
                "iterations": last["iteration"],
                "objective": last["objective"],
                "seconds": last["seconds"],
            }
        )
        for column in ("bounds", "seconds"):
            plain = last.xs("plain", level="variant")[column]
            table[f"{column}, plain / this"] = (
                table.index.get_level_values("solver").map(plain) / table[column]
            )
        tables.append(table.reset_index().assign(problem=problem))
    joined = pd.concat(tables, ignore_index=True)
    return joined[["problem", *joined.columns.drop("problem")]]


def control_table(values: Mapping[str, Mapping]) -> pd.DataFrame:
    """Return the losses that tell whether the others can be trusted, a row for each study."""
    columns = {
        "all_events": "bridge loss, all events",
        "full": "full annotation (hinge loss)",
        "guess": "the start, not learned",
        "wrong": "wrong annotation",
    }
    table = pd.DataFrame(values["controls"]).T[list(columns)].rename(columns=columns)
    table.insert(0, "events missed (%)", [TITLES[study] for study in table.index])
    return table.reset_index(drop=True)


def plot_descents(descents: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw the objective against the time, a row of panels for each problem and a panel for each solver.

    Parameters
    ----------
    descents
        Name of each problem to its rows ``solver``, ``variant``, ``objective`` and ``seconds``.
    """
    solvers = list(dict.fromkeys(solver for rows in descents.values() for solver in rows["solver"]))
    fig, axes = plt.subplots(
        len(descents),
        len(solvers),
        figsize=(0.4 + 3.3 * len(solvers), 0.4 + 2.6 * len(descents)),
        squeeze=False,
    )
    for line, (problem, rows) in zip(axes, descents.items(), strict=True):
        for ax, solver in zip(line, solvers, strict=True):
            here = rows[rows["solver"] == solver]
            for variant, (label, color, marker) in _VARIANTS.items():
                path = here[here["variant"] == variant]
                ax.plot(path["seconds"], path["objective"], "-", color=color, label=label, linewidth=1.3)
                ax.plot(path["seconds"].iloc[-1:], path["objective"].iloc[-1:], marker, color=color)
            ax.set(xscale="log", yscale="log", title=f"{problem}\n{solver}")
            ax.title.set_fontsize(8.5)
    for ax in axes[:, 0]:
        ax.set_ylabel("objective")
    for ax in axes[-1]:
        ax.set_xlabel("seconds of the processor")
    axes[0, 0].legend(fontsize=7.5)
    return fig


def plot_bounds(descents: Mapping[str, pd.DataFrame], published: float) -> Figure:
    """Draw the bounds computed by each variant, those of the first outer iteration apart.

    Parameters
    ----------
    descents
        As in `plot_descents`; the rows have ``iteration`` and ``bounds`` so far, too.
    published
        How many bounds both ideas together are said to need.
    """
    fig, axes = plt.subplots(1, len(descents), figsize=(0.4 + 3.5 * len(descents), 3.6), squeeze=False)
    for ax, (problem, rows) in zip(axes[0], descents.items(), strict=True):
        solvers = list(dict.fromkeys(rows["solver"]))
        for place, (variant, (label, color, _)) in enumerate(_VARIANTS.items()):
            path = rows[rows["variant"] == variant].groupby("solver", sort=False)
            x = np.arange(len(solvers)) + 0.2 * (place - 1.5)
            total = path["bounds"].max().loc[solvers]
            first = path["bounds"].nth(1).to_numpy()
            ax.bar(x, total, 0.18, color=color, alpha=0.45)
            ax.bar(x, first, 0.18, color=color, label=label)
            for at, height in zip(x, total, strict=True):
                ax.annotate(f"{height:g}", (at, height), ha="center", va="bottom", fontsize=6.5)
        ax.axhline(published, **PUBLISHED)
        ax.set_xticks(range(len(solvers)), [solver.replace(", ", ",\n") for solver in solvers], fontsize=8)
        ax.set(title=problem, yscale="log", ylim=(1, None), ylabel="bounds computed")
        ax.title.set_fontsize(9)
    axes[0, 0].legend(fontsize=7.5, title="dark: first iteration", title_fontsize=7.5)
    axes[0, -1].annotate(
        "published, both: about 100",
        (1, published),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="right",
        fontsize=7.5,
    )
    return fig
