"""Figures of section 5.1: the search, the graph of strategies, and the costs of detections."""

from collections.abc import Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, COLORS, GREY, ORANGE, YELLOW
from ermlab.detection import best_strategy, linear, set_around
from reproduction.plotting.pictures import outline_boxes, show_image
from reproduction.plotting.style import PUBLISHED

#: Numbers of splits towards the best box after which the set of boxes is shown.
SHOWN_DEPTHS = (8, 14, 20)


def plot_search(image: np.ndarray, points: pd.DataFrame, box: Sequence[int]) -> Figure:
    """Show the weights of the points, and sets of boxes that contain the best one, with their bounds.

    ``points`` has columns x, y and weight.
    """
    fig, axes = plt.subplots(1, 1 + len(SHOWN_DEPTHS), figsize=(10, 2.9))
    show_image(axes[0], image, "weights of the words;\nthe best box")
    limit = np.percentile(np.abs(points["weight"]), 98)
    axes[0].scatter(
        points["x"], points["y"], c=points["weight"], s=4, cmap="RdBu", vmin=-limit, vmax=limit, linewidths=0
    )
    outline_boxes(axes[0], np.array([box]))
    shape = image.shape[:2]
    arguments = points[["x", "y"]].to_numpy(), points["weight"].to_numpy(), shape
    qualities = {bound: linear(*arguments, bound) for bound in ("classical", "tight")}
    score = qualities["tight"].score(box)
    for ax, depth in zip(axes[1:], SHOWN_DEPTHS, strict=True):
        l1, l2, t1, t2, r1, r2, b1, b2 = set_around(box, shape, depth)
        bounds = {
            name: quality.bound((l1, l2), (t1, t2), (r1, r2), (b1, b2)) for name, quality in qualities.items()
        }
        show_image(
            ax,
            image,
            f"after {depth} splits: best {score:.2f},\n"
            f"bound {bounds['classical']:.2f}, tight {bounds['tight']:.2f}",
        )
        outline_boxes(ax, np.array([[l1, t1, r2, b2]]), colors=[ORANGE])
        if l2 <= r1 and t2 <= b1:
            outline_boxes(ax, np.array([[l2, t2, r1, b1]]), colors=[BLUE], styles=["--"])
    return fig


def plot_detections(images: Sequence[np.ndarray], examples: pd.DataFrame) -> Figure:
    """Draw the detections of each class in its image, one column per gamma; the first detection is thick."""
    names, gammas = examples["class"].unique(), examples["gamma"].unique()
    fig, axes = plt.subplots(len(names), len(gammas), figsize=(9, 2.6 * len(names)), squeeze=False)
    for (name, gamma), part in examples.groupby(["class", "gamma"], sort=False):
        row, column = list(names).index(name), list(gammas).index(gamma)
        ax = axes[row, column]
        show_image(ax, images[row], f"{name}, $\\gamma = {gamma:g}$")
        boxes = part[["left", "top", "right", "bottom"]].to_numpy()
        outline_boxes(ax, boxes[1:], colors=[YELLOW] * (len(boxes) - 1), linewidth=1)
        outline_boxes(ax, boxes[:1], colors=[ORANGE], linewidth=2.5)
    return fig


def plot_strategy_graph(costs: np.ndarray) -> Figure:
    """Draw the graph of figure 5.2 with the cost of each node and the shortest path."""
    n = len(costs)
    fig, ax = plt.subplots(figsize=(8, 0.8 + 0.95 * n))
    ax.set(xlim=(-0.9, n + 0.1), ylim=(n - 0.4, -0.6))
    ax.set_axis_off()
    on_path = _path(best_strategy(costs).reset)
    for j in range(n - 1):
        for i in range(j + 1):
            for target in ((i, j + 1), (j + 1, j + 1)):
                chosen = (i, j) in on_path and target in on_path
                _arrow(ax, (j, i), target[::-1], chosen)
    for i in range(n):
        for j in range(i, n):
            chosen = (i, j) in on_path
            ax.text(
                j,
                i,
                f"$C_{{{i + 1}{j + 1}}}$\n{costs[i, j]:,.0f}",
                ha="center",
                va="center",
                fontsize=9,
                bbox={
                    "boxstyle": "round",
                    "facecolor": "#FBE3D6" if chosen else "white",
                    "edgecolor": ORANGE if chosen else GREY,
                },
            )
    _arrow(ax, (-0.9, 0), (0, 0), chosen=True)
    for j in range(n):
        ax.text(j, -0.52, f"detection {j + 1}", ha="center", fontsize=9, color=GREY)
    return fig


def _path(reset: str) -> set[tuple[int, int]]:
    """Return the nodes (i, j) on the path of a strategy."""
    last, nodes = 0, {(0, 0)}
    for j, digit in enumerate(reset, start=1):
        last = j if digit == "1" else last
        nodes.add((last, j))
    return nodes


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], chosen: bool) -> None:
    style = {
        "arrowstyle": "-|>",
        "color": ORANGE if chosen else GREY,
        "linewidth": 2.2 if chosen else 0.8,
        "shrinkA": 22 if start[0] >= 0 else 0,
        "shrinkB": 22,
    }
    ax.annotate("", xy=end, xytext=start, arrowprops=style)


def plot_costs(panels: pd.DataFrame, row_label: str) -> Figure:
    """Plot splits over detections, one curve per detection before which the queue was reset.

    Parameters
    ----------
    panels : DataFrame
        Splits in long form, with the columns ``gamma``, ``reset_before``, ``detection`` and ``splits``.
    row_label : str
        Column whose values, in order of appearance, have one row of panels each.
    """
    rows, gammas = panels[row_label].unique(), panels["gamma"].unique()
    fig, axes = plt.subplots(
        len(rows), len(gammas), figsize=(9, 0.6 + 2.1 * len(rows)), sharex=True, sharey="row", squeeze=False
    )
    last = panels["reset_before"].max()
    colors = mpl.colormaps["viridis"](np.linspace(0, 0.92, last))
    for (row, gamma), part in panels.groupby([row_label, "gamma"], sort=False):
        ax = axes[list(rows).index(row), list(gammas).index(gamma)]
        for first, curve in part.groupby("reset_before"):
            values = curve["detection"], curve["splits"]
            ax.plot(*values, color=colors[first - 1], linewidth=1.2)
            ax.plot(*(column[:1] for column in values), "o", color=colors[first - 1], markersize=3.5)
        ax.set_title(f"{row}, $\\gamma = {gamma:g}$", fontsize=9)
        ax.set_ylim(bottom=0)
        ax.yaxis.set_major_formatter(mpl.ticker.EngFormatter(sep=""))
        ax.set_xticks(range(1, last + 1))
    for ax in axes[-1]:
        ax.set_xlabel("detection")
    for ax in axes[:, 0]:
        ax.set_ylabel("splits")
    scale = mpl.cm.ScalarMappable(mpl.colors.Normalize(1, last), mpl.colormaps["viridis"])
    fig.colorbar(scale, ax=axes, label="queue reset before detection", aspect=40, ticks=range(1, last + 1))
    return fig


def plot_areas(strategies: pd.DataFrame, published: dict[str, Sequence[float]]) -> Figure:
    """Plot the costs of always and of never resetting over the area of boxes, and the published medians.

    Parameters
    ----------
    strategies : DataFrame
        One row per class and gamma, with ``box_area``, ``all_reset`` and ``no_reset``.
    published : dict of str to sequence of float
        The medians of ``all_reset`` and of ``no_reset``, one per gamma.
    """
    fig, axes = plt.subplots(1, 2, figsize=(9, 3.2))
    titles = {"all_reset": "always reset", "no_reset": "never reset"}
    for ax, (column, title) in zip(axes, titles.items(), strict=True):
        for k, (gamma, part) in enumerate(strategies.groupby("gamma")):
            ax.plot(
                part["box_area"],
                part[column],
                "o",
                color=COLORS[k],
                markersize=4,
                label=f"$\\gamma = {gamma:g}$",
            )
            ax.axhline(published[column][k], **(PUBLISHED | {"color": COLORS[k]}))
        ax.set(xscale="log", xlabel="median share of the image that a box covers", title=title)
    axes[0].set(ylabel="cost relative to the best strategy", yscale="log")
    axes[0].yaxis.set_major_formatter(mpl.ticker.ScalarFormatter())
    axes[0].yaxis.set_minor_formatter(mpl.ticker.NullFormatter())
    axes[0].set_yticks([1, 2, 5, 10])
    axes[0].legend()
    return fig
