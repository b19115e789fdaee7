"""Figures of CCCP: a function of one variable (C-fig-1.3), and Algorithm 1.1 (C-alg-1.1)."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter, NullLocator

from ermlab._utils.palette import BLUE, GREEN, GREY, ORANGE, PINK
from reproduction.plotting.style import PUBLISHED

_ABOVE_RIGHT = {"textcoords": "offset points", "ha": "right", "fontsize": 8}


def plot_cccp_precision(
    curves: pd.DataFrame, paths: pd.DataFrame, starts: pd.DataFrame, dimensions: pd.DataFrame
) -> Figure:
    """Draw two descents between the curves, the ratios over many starts, and over the number of weights.

    Parameters
    ----------
    curves : DataFrame
        Columns ``w``, ``convex``, ``reward``, ``objective``.
    paths : DataFrame
        Iterates of each ``variant``: columns ``iteration``, ``w``, ``convex``, ``reward``, ``slope`` and
        ``bounds``.
    starts : DataFrame
        One row per start; columns ``bounds_<variant>`` and ``iterations_<variant>``, which are missing where
        the optimum is not reached.
    dimensions : DataFrame
        Columns ``not_recycled`` and ``recycled``: bounds of adaptive over fixed precision, one row per number
        of weights.
    """
    fig, axes = plt.subplots(2, 2, figsize=(9, 7))
    for ax, variant, letter in zip(axes[0], ("fixed", "adaptive"), "ab", strict=True):
        path = paths[paths["variant"] == variant]
        _plot_descent(ax, curves, path)
        iterations, bounds = path["iteration"].iloc[-1], path["bounds"].iloc[-1]
        ax.set_title(f"({letter}) {variant} precision: {iterations} iterations, {bounds} bounds")
    axes[0, 0].legend(fontsize=8, loc="upper center")
    _plot_ratios(axes[1, 0], starts)
    _plot_dimensions(axes[1, 1], dimensions)
    return fig


def plot_algorithm(runs: pd.DataFrame) -> Figure:
    """Draw bounds and final objectives of Algorithm 1.1 against those of plain CCCP, one point per problem.

    Parameters
    ----------
    runs : DataFrame
        Columns ``bounds_<variant>`` and ``objective_<variant>``.
    """
    fig, axes = plt.subplots(1, 2, figsize=(8.4, 4))
    for ax, kind, title in zip(
        axes, ("bounds", "objective"), ("(a) bounds computed", "(b) objective at the end"), strict=True
    ):
        plain, variants = runs[f"{kind}_fixed"], ("fixed_recycled", "adaptive_recycled")
        for variant, color, label in zip(
            variants,
            (ORANGE, BLUE),
            ("recycled bounds", "Algorithm 1.1: and adaptive precision"),
            strict=True,
        ):
            ax.scatter(plain, runs[f"{kind}_{variant}"], s=14, color=color, alpha=0.7, label=label)
        shown = runs[[f"{kind}_{variant}" for variant in ("fixed", *variants)]]
        ends = [0.9 * shown.min(axis=None), 1.1 * shown.max(axis=None)]
        ax.plot(ends, ends, color=GREY, linewidth=1, label="equal")
        ax.set(xscale="log", yscale="log", xlabel="plain CCCP", ylabel="with the speed-up", title=title)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter(LogFormatter(minor_thresholds=(1.2, 0.5)))
    axes[0].legend(fontsize=8)
    return fig


def _plot_descent(ax: Axes, curves: pd.DataFrame, path: pd.DataFrame) -> None:
    """Draw each step: the tangent of ``R`` at a point, and the point of the other curve with that slope."""
    ax.plot(curves["w"], curves["convex"], color=BLUE, label=r"$\lambda\Omega(w) + P(w)$")
    ax.plot(curves["w"], curves["reward"], color=GREEN, label="$R(w)$")
    ax.plot(curves["w"], curves["objective"], color="black", linewidth=1, label="their difference")
    reach = 0.45
    for before, after in zip(path[:-1].itertuples(), path[1:].itertuples(), strict=True):
        for w, height in ((before.w, before.reward), (after.w, after.convex)):
            line = np.array([w - reach, w + reach])
            ax.plot(line, height + before.slope * (line - w), color=PINK, linewidth=1.2)
        ax.annotate(
            "",
            (after.w, after.convex),
            xytext=(before.w, before.reward),
            arrowprops={"arrowstyle": "->", "color": PINK, "linewidth": 0.9, "linestyle": "--"},
        )
    ax.plot(path["w"], path["reward"], "o", color=GREEN, markersize=4)
    ax.plot(path["w"][1:], path["convex"][1:], "o", color=BLUE, markersize=4)
    ax.annotate(
        "$w_0$", (path["w"].iloc[0], path["reward"].iloc[0]), xytext=(-4, 7), textcoords="offset points"
    )
    ax.set(xlabel="weight $w$", ylabel="value")


def _plot_ratios(ax: Axes, starts: pd.DataFrame) -> None:
    """Draw the ratio of adaptive to fixed precision for each start, in ascending order from left to right."""
    labels = []
    solved = starts.dropna()
    counts = ("bounds", "iterations")
    for place, (suffix, count) in enumerate((s, c) for s in ("", "_recycled") for c in counts):
        # A start near the optimum needs no iteration.
        adaptive, fixed = (solved[f"{count}_{name}{suffix}"].clip(lower=1) for name in ("adaptive", "fixed"))
        ratio = np.sort(adaptive / fixed)
        spread = np.linspace(-0.3, 0.3, len(ratio))
        ax.plot(place + spread, ratio, ".", color=BLUE if count == "bounds" else ORANGE, markersize=4)
        ax.plot([place - 0.3, place + 0.3], 2 * [np.median(ratio)], color="black", linewidth=1.5)
        labels.append(f"{count}\n{'recycled' if suffix else 'not recycled'}")
    ax.axhline(1, **PUBLISHED)
    ax.set_xticks(range(4), labels, fontsize=8)
    ax.set(yscale="log", ylim=(0.2, 12), ylabel="adaptive / fixed")
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_yticks([0.5, 1, 2, 5, 10], ["½", "1", "2", "5", "10"])
    ax.set_title(f"(c) {len(solved)} problems with one weight (bar: median)")


def _plot_dimensions(ax: Axes, dimensions: pd.DataFrame) -> None:
    for name, label, color in (("not_recycled", "not recycled", BLUE), ("recycled", "recycled", GREEN)):
        ax.plot(dimensions.index, dimensions[name], "o-", color=color, label=label)
    ax.axhline(1, **PUBLISHED)
    ax.annotate("published: below 1", (dimensions.index.max(), 1), xytext=(0, 3), **_ABOVE_RIGHT)
    ax.set(xscale="log", ylim=(0, None), xlabel="number of weights", ylabel="bounds, adaptive / fixed")
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticks(dimensions.index, dimensions.index.astype(str))
    ax.set_title("(d) more weights")
    ax.legend(fontsize=8, loc="upper right", title="bounds", title_fontsize=8)
