"""Learning from partial annotations: losses, times, and how the optimisers get there (C-fig-1.4 to 1.7)."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from ermlab._utils.palette import AMBER, BLUE, GREEN, GREY, ORANGE, PINK
from reproduction.plotting.style import PUBLISHED

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
_STARTS = {"guess": "from a guess", "faint": "from nearly 0", "zero": "from 0"}


def plot_annotation_losses(losses: pd.DataFrame) -> Figure:
    """Draw the test loss against the share of annotation, a panel for each study.

    Parameters
    ----------
    losses
        Rows ``study``, ``method``, ``share``, ``draw``, ``loss``.
    """
    fig, panels = _panels(losses)
    for ax, rows in panels:
        _plot_methods(ax, rows, "loss")
        full, guess = (rows.loc[rows["method"] == name, "loss"].item() for name in ("full", "guess"))
        ax.axhline(full, color="black", linestyle="--", linewidth=1.2, label="full annotation")
        ax.axhline(guess, color=GREY, linestyle="-.", linewidth=1, label="start, not learned")
        ax.axvline(_QUARTER, **PUBLISHED, label="published: as good as full from here on")
        ax.set(ylim=(0, None), ylabel="events missed (%)")
    _legend_below(fig)
    return fig


def plot_training_times(losses: pd.DataFrame) -> Figure:
    """Draw the seconds of the processor that training takes against the share of annotation."""
    fig, panels = _panels(losses)
    for ax, rows in panels:
        _plot_methods(ax, rows, "seconds")
        full = rows.loc[rows["method"] == "full", "seconds"].item()
        ax.axhline(full, color="black", linestyle="--", linewidth=1.2, label="full annotation")
        ax.plot([_QUARTER, 1], 2 * [2 * full], **PUBLISHED, label="published: twice that of full")
        ax.set(yscale="log", ylabel="training time (s of the processor)")
        _plain_ticks(ax.yaxis)
    _legend_below(fig)
    return fig


def _panels(losses: pd.DataFrame) -> tuple[Figure, list[tuple[Axes, pd.DataFrame]]]:
    """Return a figure with a panel for each study, and the panels with their rows."""
    studies = list(dict.fromkeys(losses["study"]))
    fig, axes = plt.subplots(1, len(studies), figsize=(0.4 + 4.3 * len(studies), 3.9), squeeze=False)
    for ax, study in zip(axes[0], studies, strict=True):
        ax.set_title(TITLES[study])
    return fig, [(ax, losses[losses["study"] == study]) for ax, study in zip(axes[0], studies, strict=True)]


def _legend_below(fig: Figure) -> None:
    fig.legend(*fig.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9)


def _plain_ticks(axis: Axis, subs: tuple[int, ...] = (1, 2, 5)) -> None:
    """Write these multiples of each power of ten at a logarithmic axis, as numbers."""
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


def _plot_methods(ax: Axes, rows: pd.DataFrame, column: str) -> None:
    """Draw the mean over draws of each method, and from the least to the largest."""
    for method, label, color, style in _METHODS:
        over_draws = rows[rows["method"] == method].groupby("share")[column]
        mean = over_draws.mean()
        ax.plot(mean.index, mean, style, color=color, label=label, markersize=4)
        if over_draws.size().max() > 1:
            ax.fill_between(
                mean.index, over_draws.min(), over_draws.max(), color=color, alpha=0.15, linewidth=0
            )
    shares = np.sort(rows.loc[rows["method"] == "partial", "share"].unique())
    ax.set(xscale="log", xlabel="share of the annotation (%)")
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticks(shares, [f"{100 * share:g}" for share in shares])


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
                "objective": last["objective"].round(5),
                "seconds": last["seconds"].round(2),
            }
        )
        for column in ("bounds", "seconds"):
            plain = last.xs("plain", level="variant")[column]
            ratio = table.index.get_level_values("solver").map(plain) / last[column]
            table[f"{column}, plain / this"] = ratio.round(2)
        tables.append(table.reset_index().assign(problem=problem))
    joined = pd.concat(tables, ignore_index=True)
    return joined[["problem", *joined.columns.drop("problem")]]


def variant_table(problems: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the bounds of each variant, and what both ideas save, a row for each problem and solver."""
    rows = {}
    for problem, ways in problems.items():
        for solver, paths in ways.groupby("solver", sort=False):
            last = paths.groupby("variant").last()
            bounds, seconds, objective = (last[name] for name in ("bounds", "seconds", "objective"))
            rows[problem, solver] = {
                **{f"bounds, {label}": f"{bounds[name]:g}" for name, (label, *_) in _VARIANTS.items()},
                "bounds, plain / both": f"{bounds['plain'] / bounds['both']:.1f}",
                "time, plain / both": f"{seconds['plain'] / seconds['both']:.1f}",
                "objectives, largest / least": f"{objective.max() / objective.min():.3f}",
            }
    return pd.DataFrame(rows).T


def control_table(values: Mapping[str, Mapping]) -> pd.DataFrame:
    """Return the losses that tell whether the others can be trusted, a row for each study."""
    columns = {
        "all_events": "bridge loss, all events",
        "full": "full annotation (hinge loss)",
        "guess": "the start, not learned",
        "wrong": "wrong annotation",
    }
    losses = {
        title: values["controls"][study] for study, title in TITLES.items() if study in values["controls"]
    }
    table = pd.DataFrame(losses).T[list(columns)].rename(columns=columns).round(2)
    return table.rename_axis("events missed (%)")


def plot_descents(descents: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw the objective against the time, a row of panels for each problem and a panel for each solver.

    Parameters
    ----------
    descents
        Name of each problem to its rows ``solver``, ``variant``, ``objective`` and ``seconds``.
    """
    columns = max(rows["solver"].nunique() for rows in descents.values())
    fig = plt.figure(figsize=(0.4 + 3.3 * columns, 0.7 + 2.7 * len(descents)))
    for part, (problem, rows) in zip(
        np.atleast_1d(fig.subfigures(len(descents))), descents.items(), strict=True
    ):
        part.suptitle(problem, fontsize=11)
        axes = part.subplots(1, columns, sharey=True, squeeze=False)[0]
        for ax, (solver, ways) in zip(axes, rows.groupby("solver", sort=False), strict=False):
            _plot_ways(ax, ways)
            ax.set_title(solver, fontsize=10)
        for ax in axes[rows["solver"].nunique() :]:
            ax.set_visible(False)
        _plain_ticks(axes[0].yaxis)
        axes[0].set_ylabel("objective")
    handles = [
        Line2D([], [], color=color, marker=marker, label=label) for label, color, marker in _VARIANTS.values()
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=9)
    return fig


def _plot_ways(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw how the objective falls at the end of each outer iteration."""
    for variant, path in rows.groupby("variant", sort=False):
        _, color, marker = _VARIANTS[variant]
        ax.step(path["seconds"], path["objective"], where="post", color=color, linewidth=1.3)
        ax.plot(path["seconds"].iloc[-1:], path["objective"].iloc[-1:], marker, color=color)
    ax.set(xscale="log", yscale="log", xlabel="seconds of the processor")
    _plain_ticks(ax.xaxis, subs=(1,))


def plot_bounds(descents: Mapping[str, pd.DataFrame], published: float) -> Figure:
    """Draw the bounds computed by each variant, those of the first outer iteration apart.

    Parameters
    ----------
    descents
        As in `plot_descents`; the rows have ``iteration`` and ``bounds`` so far, too.
    published
        How many bounds both ideas together are said to need.
    """
    fig, axes = plt.subplots(1, len(descents), figsize=(0.4 + 3.5 * len(descents), 4), squeeze=False)
    for ax, (problem, rows) in zip(axes[0], descents.items(), strict=True):
        solvers = list(dict.fromkeys(rows["solver"]))
        for place, (variant, (label, color, _)) in enumerate(_VARIANTS.items()):
            path = rows[rows["variant"] == variant].groupby("solver", sort=False)
            x = np.arange(len(solvers)) + 0.2 * (place - 1.5)
            total = path["bounds"].max().loc[solvers]
            ax.bar(x, total, 0.18, color=color, alpha=0.45)
            ax.bar(x, path["bounds"].nth(1).to_numpy(), 0.18, color=color, label=label)
            for at, height in zip(x, total, strict=True):
                ax.annotate(f"{height:g}", (at, height), ha="center", va="bottom", fontsize=7)
        ax.axhline(published, **PUBLISHED, label="published, both")
        ax.set_xticks(range(len(solvers)), [solver.replace(", ", ",\n") for solver in solvers], fontsize=8)
        ax.set(yscale="log", ylim=(1, None), ylabel="bounds computed")
        ax.set_title(problem.replace(", from", ",\nfrom"), fontsize=10)
        _plain_ticks(ax.yaxis)
    _legend_below(fig)
    return fig
