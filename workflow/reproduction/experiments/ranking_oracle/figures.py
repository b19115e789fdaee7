"""Figures of the ranking oracle's cost: Algorithms 1 and 2 (T-alg-1, T-alg-2), recursion (T-fig-3.4)."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from ermlab._utils.palette import BLUE, GREEN, GREY, ORANGE, SKY
from reproduction.plotting.style import PUBLISHED

#: Last level of the recursion whose nodes are drawn one by one, and last level with node sizes.
_DRAWN_LEVELS, _NAMED_LEVELS = 8, 3
#: "A fraction of a second for 10^5 samples" (thesis, 3.2.2).
_PUBLISHED_SIZE, _PUBLISHED_SECONDS = 1e5, 1.0


def plot_bipartite_time(times: pd.DataFrame) -> Figure:
    """Plot the time of Algorithm 1 on sorted samples, in total and per sample.

    ``times`` has columns ``n`` and ``bipartite_seconds``.
    """
    n, seconds = times["n"].to_numpy(), times["bipartite_seconds"].to_numpy()
    fig, (total, each) = plt.subplots(1, 2, figsize=(9, 3.5))
    line = n * np.median(seconds / n)
    total.plot(n, line, color=GREY, linestyle="--", linewidth=1.2, label="proportional to n")
    total.plot(n, seconds, "o-", color=GREEN, label="Algorithm 1")
    total.set(ylabel="processor seconds", yscale="log", title="(a) time after sorting")
    each.plot(n, 1e9 * seconds / n, "o-", color=GREEN)
    each.axhline(1e9 * line[0] / n[0], color=GREY, linestyle="--", linewidth=1.2)
    each.set(ylabel="nanoseconds per sample", title="(b) per sample", ylim=(0, None))
    _share_sizes(total, each)
    return fig


def plot_oracle_time(times: pd.DataFrame) -> Figure:
    """Plot the time of Algorithm 2 and of the library's oracle, sorting included, and of NumPy's sort alone.

    ``times`` has columns ``n``, ``algorithm_seconds``, ``oracle_seconds`` and ``argsort_seconds``.
    """
    n = times["n"].to_numpy()
    steps = n * np.log2(n)
    fig, (total, each) = plt.subplots(1, 2, figsize=(9, 3.7))
    series = (
        ("algorithm_seconds", GREEN, "D", "Algorithm 2, sorting included"),
        ("oracle_seconds", BLUE, "o", "oracle of the library, sorting included"),
        ("argsort_seconds", ORANGE, "s", "np.argsort of the scores"),
    )
    line = np.median(times["algorithm_seconds"] / steps)
    total.plot(
        n, line * steps, color=GREY, linestyle="--", linewidth=1.2, label=r"proportional to $n \log n$"
    )
    for column, color, marker, label in series:
        total.plot(n, times[column], marker=marker, color=color, label=label)
        each.plot(n, 1e9 * times[column] / steps, marker=marker, color=color)
    total.plot([n[0], _PUBLISHED_SIZE], [_PUBLISHED_SECONDS] * 2, **PUBLISHED)
    total.plot(
        _PUBLISHED_SIZE, _PUBLISHED_SECONDS, "v", color="black", label="published: less, at $n = 10^5$"
    )
    total.set(ylabel="processor seconds", yscale="log", title="(a) time of one call")
    each.axhline(1e9 * line, color=GREY, linestyle="--", linewidth=1.2)
    each.set(ylabel=r"nanoseconds over $n \log_2 n$", title=r"(b) divided by $n \log_2 n$", ylim=(0, None))
    _share_sizes(total, each)
    return fig


def plot_recursion(levels: pd.DataFrame) -> Figure:
    """Draw the recursion tree of Algorithm 2 and the cost of each of its levels.

    ``levels`` has columns ``level``, ``nodes``, ``samples`` and ``seconds``.
    """
    n = int(levels["samples"].iloc[0])
    fig, (tree, samples, time) = plt.subplots(
        1, 3, figsize=(11, 0.8 + 0.22 * len(levels)), width_ratios=[3, 1, 1], sharey=True
    )
    _draw_tree(tree, levels)
    samples.barh(levels["level"], levels["samples"] / n, color=SKY)
    samples.set(xlabel="samples, as a share of $n$", title="work")
    time.barh(levels["level"], 1e3 * levels["seconds"], color=BLUE)
    time.axvline(1e3 * levels["seconds"].mean(), **PUBLISHED)
    time.set(xlabel="milliseconds (dotted: mean)", title="measured time")
    tree.set(
        ylabel="level of the recursion",
        title=f"nodes and their number (n = {n:,})",
        xticks=[],
        ylim=(len(levels) - 0.4, -0.6),
    )
    tree.yaxis.set_major_locator(MultipleLocator(2))
    for ax in (tree, samples, time):
        ax.grid(visible=False, axis="y")
    return fig


def _draw_tree(ax: Axes, levels: pd.DataFrame) -> None:
    """Draw the upper levels node by node, and the lower ones as lines; each level has its number of nodes."""
    for level, nodes in zip(levels["level"], levels["nodes"], strict=True):
        if level <= _DRAWN_LEVELS:
            places = (np.arange(nodes) + 0.5) / nodes
            if level > 0:
                parents = (np.arange(nodes) // 2 + 0.5) / (nodes // 2)
                edges = [((a, level - 1), (b, level)) for a, b in zip(parents, places, strict=True)]
                ax.add_collection(LineCollection(edges, colors=GREY, linewidths=0.5, zorder=1))
            ax.scatter(places, np.full(nodes, level), s=max(260 / 2**level, 3), color=BLUE, zorder=2)
        else:
            ax.plot([0, 1], [level, level], color=BLUE, linestyle=(0, (1, 1)), linewidth=1.5)
        if level <= _NAMED_LEVELS:
            name = "$n$" if level == 0 else f"$n/{nodes}$"
            ax.text(0.5 / nodes - 0.025, level - 0.1, name, ha="right", va="bottom", fontsize=8)
        ax.text(1.02, level, f"{nodes:,}", va="center", fontsize=8)
    ax.set_xlim(0, 1.14)


def _share_sizes(total: Axes, each: Axes) -> None:
    for ax in (total, each):
        ax.set(xscale="log", xlabel="samples n")
    # Below the panels, since the curves leave no free place inside.
    lines = total.get_legend_handles_labels()
    total.figure.legend(*lines, loc="outside lower center", ncols=3, fontsize=8)
