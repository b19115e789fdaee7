"""Figures of learning from partial annotations: losses, times, descents and bounds (C-fig-1.4 to 1.7)."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from ermlab._utils.palette import BLUE, GREEN, GREY, ORANGE, PINK
from reproduction.experiments.partial_annotation.evaluate import TITLES, VARIANT_TITLES
from reproduction.experiments.partial_annotation.protocol import QUARTER
from reproduction.plotting.style import PUBLISHED

#: Name in the tables, label, color and line style.
_METHODS = (
    ("partial", "bridge loss", BLUE, "o-"),
    ("perceptron", "perceptron", ORANGE, "s-"),
)
_VARIANTS = {"plain": (GREY, "o"), "recycling": (GREEN, "s"), "adaptive": (PINK, "^"), "both": (BLUE, "D")}


def plot_annotation_losses(losses: pd.DataFrame) -> Figure:
    """Draw the test loss against the share of annotation, one panel per study.

    Parameters
    ----------
    losses : DataFrame
        Columns ``study``, ``method``, ``share``, ``draw``, ``loss``.
    """
    fig, panels = _panels(losses)
    for ax, rows in panels:
        _plot_methods(ax, rows, "loss")
        full, guess = (rows.loc[rows["method"] == name, "loss"].mean() for name in ("full", "guess"))
        ax.axhline(full, color="black", linestyle="--", linewidth=1.2, label="full annotation")
        ax.axhline(guess, color=GREY, linestyle="-.", linewidth=1, label="initial weights, not trained")
        ax.axvline(QUARTER, **PUBLISHED, label="published: as good as full from here on")
        ax.set(ylim=(0, None), ylabel="events missed (%)")
    _legend_below(fig)
    return fig


def plot_training_times(losses: pd.DataFrame) -> Figure:
    """Draw the CPU time of training against the share of annotation, one panel per study."""
    fig, panels = _panels(losses)
    for ax, rows in panels:
        _plot_methods(ax, rows, "seconds")
        full = rows.loc[rows["method"] == "full", "seconds"].mean()
        ax.axhline(full, color="black", linestyle="--", linewidth=1.2, label="full annotation")
        ax.plot([QUARTER, 1], 2 * [2 * full], **PUBLISHED, label="published: twice that of full")
        ax.set(yscale="log", ylabel="training time (s of CPU time)")
        _plain_ticks(ax.yaxis)
    _legend_below(fig)
    return fig


def _panels(losses: pd.DataFrame) -> tuple[Figure, list[tuple[Axes, pd.DataFrame]]]:
    """Return a figure with one panel per study, and the panels with their rows."""
    studies = list(dict.fromkeys(losses["study"]))
    fig, axes = plt.subplots(1, len(studies), figsize=(0.4 + 4.3 * len(studies), 3.9), squeeze=False)
    for ax, study in zip(axes[0], studies, strict=True):
        ax.set_title(TITLES[study])
    return fig, [(ax, losses[losses["study"] == study]) for ax, study in zip(axes[0], studies, strict=True)]


def _legend_below(fig: Figure) -> None:
    fig.legend(*fig.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9)


def _plain_ticks(axis: Axis, subs: tuple[int, ...] = (1, 2, 5)) -> None:
    """Label multiples of the powers of ten on a logarithmic axis with plain numbers."""
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())


def _plot_methods(ax: Axes, rows: pd.DataFrame, column: str) -> None:
    """Draw the mean of each method over draws, and the range as a band."""
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


def plot_descents(descents: Mapping[str, pd.DataFrame]) -> Figure:
    """Draw the objective against the time, one row of panels per problem and one panel per solver.

    Parameters
    ----------
    descents : mapping
        Title of each problem to a table with columns ``solver``, ``variant``, ``objective`` and ``seconds``.
    """
    columns = max(rows["solver"].nunique() for rows in descents.values())
    fig = plt.figure(figsize=(0.4 + 3.3 * columns, 0.7 + 2.7 * len(descents)))
    subfigures = np.atleast_1d(fig.subfigures(len(descents)))
    for subfigure, (problem, rows) in zip(subfigures, descents.items(), strict=True):
        subfigure.suptitle(problem, fontsize=11)
        axes = subfigure.subplots(1, columns, sharey=True, squeeze=False)[0]
        for ax, (solver, paths) in zip(axes, rows.groupby("solver", sort=False), strict=False):
            _plot_paths(ax, paths)
            ax.set_title(solver, fontsize=10)
        for ax in axes[rows["solver"].nunique() :]:
            ax.set_visible(False)
        _plain_ticks(axes[0].yaxis)
        axes[0].set_ylabel("objective")
    handles = [
        Line2D([], [], color=color, marker=marker, label=VARIANT_TITLES[name])
        for name, (color, marker) in _VARIANTS.items()
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=9)
    return fig


def _plot_paths(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw the objective at the end of each outer iteration, for each variant."""
    for variant, path in rows.groupby("variant", sort=False):
        color, marker = _VARIANTS[variant]
        ax.step(path["seconds"], path["objective"], where="post", color=color, linewidth=1.3)
        ax.plot(path["seconds"].iloc[-1:], path["objective"].iloc[-1:], marker, color=color)
    ax.set(xscale="log", yscale="log", xlabel="seconds of CPU time")
    _plain_ticks(ax.xaxis, subs=(1,))


def plot_bounds(descents: Mapping[str, pd.DataFrame], published: float) -> Figure:
    """Draw the number of bounds computed by each variant, and dark those of the first outer iteration.

    Parameters
    ----------
    descents : mapping
        As in `plot_descents`, with columns ``iteration`` and ``bounds``.
    published : float
        Published number of bounds with both ideas.
    """
    fig, axes = plt.subplots(1, len(descents), figsize=(0.4 + 3.5 * len(descents), 4), squeeze=False)
    for ax, (problem, rows) in zip(axes[0], descents.items(), strict=True):
        solvers = list(dict.fromkeys(rows["solver"]))
        for place, (variant, (color, _)) in enumerate(_VARIANTS.items()):
            path = rows[rows["variant"] == variant].groupby("solver", sort=False)
            x = np.arange(len(solvers)) + 0.2 * (place - 1.5)
            total = path["bounds"].max().loc[solvers]
            ax.bar(x, total, 0.18, color=color, alpha=0.45)
            ax.bar(x, path["bounds"].nth(1).to_numpy(), 0.18, color=color, label=VARIANT_TITLES[variant])
            for at, height in zip(x, total, strict=True):
                ax.annotate(f"{height:g}", (at, height), ha="center", va="bottom", fontsize=7)
        ax.axhline(published, **PUBLISHED, label="published, both")
        ax.set_xticks(range(len(solvers)), [solver.replace(", ", ",\n") for solver in solvers], fontsize=8)
        ax.set(yscale="log", ylim=(1, None), ylabel="bounds computed")
        ax.set_title(problem.replace(", from", ",\nfrom"), fontsize=10)
        _plain_ticks(ax.yaxis)
    _legend_below(fig)
    return fig
