"""Losses of trackers (C-tab-1.1), and the candidate events of two frames as a factor graph (C-fig-1.2)."""

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, ConnectionPatch
from numpy.typing import NDArray

from ermlab._utils.palette import AMBER, BLUE, GREEN, GREY, ORANGE, PINK, SKY
from ermlab.tracking.assignment import EVENTS, NONE, Assignment, Hypotheses
from ermlab.tracking.events import Cells
from reproduction.experiments.tracking.evaluate import MAIN, STUDIES, TITLES
from reproduction.plotting.pictures import show_image, stretch
from reproduction.plotting.style import PUBLISHED

KIND_COLORS = dict(zip(EVENTS, (BLUE, ORANGE, GREEN, PINK, SKY, AMBER), strict=True))
_LEARNED = {"random_forest": GREEN, "l1": BLUE, "l2": BLUE}
_REJECTED = {"color": "0.72", "linestyle": (0, (3, 3)), "linewidth": 0.9}


def plot_losses(values: Mapping[str, Any], published: Mapping[str, float]) -> Figure:
    """Draw the loss of each tracker on each film with its spread, next to the published losses."""
    studies = values["studies"]
    fig, axes = plt.subplots(1, len(studies), figsize=(2.2 + 2.5 * len(studies), 3.3), sharey=True)
    places = np.arange(len(TITLES))[::-1]
    for ax, (study, found) in zip(np.atleast_1d(axes), studies.items(), strict=True):
        for place, method in zip(places, TITLES, strict=True):
            color = _LEARNED.get(method, GREY)
            ax.plot(
                found["interval"][method], [place] * 2, color=color, linewidth=2.5, solid_capstyle="round"
            )
            ax.plot(found["loss"][method], place, "o", color=color)
            if study == MAIN and method in published:
                ax.plot(published[method], place, "D", mfc="none", mec=PUBLISHED["color"], ms=6)
        ax.set(title=STUDIES[study], xlabel="events missed, %", yticks=places, yticklabels=TITLES.values())
        ax.set_xlim(left=0)
        ax.grid(visible=False, axis="y")
    first = np.atleast_1d(axes)[0]
    first.plot([], [], "D", mfc="none", mec=PUBLISHED["color"], label="published (DCellIQ)")
    first.plot([], [], "o-", color=GREY, linewidth=2.5, label="ours, 95 % interval of resampled frames")
    fig.legend(loc="outside lower center", ncols=2)
    return fig


def source_names(hypotheses: Hypotheses) -> list[str]:
    """Return numbers as names of the cells of the first frame."""
    return [str(i + 1) for i in range(hypotheses.n_sources)]


def target_names(hypotheses: Hypotheses) -> list[str]:
    """Return letters as names of the cells of the second frame."""
    return [ascii_lowercase[j % 26] * (1 + j // 26) for j in range(hypotheses.n_targets)]


def hypothesis_table(hypotheses: Hypotheses, scores: NDArray[np.float64], y: Assignment) -> pd.DataFrame:
    """Return the cells, the score and the indicator of each candidate event."""
    before, after = source_names(hypotheses), target_names(hypotheses)
    return pd.DataFrame(
        {
            "event": np.array(list(EVENTS))[hypotheses.kind],
            "from": [", ".join(before[i] for i in row if i != NONE) for row in hypotheses.sources],
            "to": [", ".join(after[j] for j in row if j != NONE) for row in hypotheses.targets],
            "score": scores,
            "y": y.astype(int),
        }
    )


def plot_hypotheses(
    images: Sequence[NDArray],
    before: Cells,
    after: Cells,
    hypotheses: Hypotheses,
    scores: NDArray[np.float64],
    y: Assignment,
) -> Figure:
    """Draw the frames with candidate events (a), their table (b), and the factor graph (c)."""
    fig = plt.figure(figsize=(11, 9.2))
    upper, lower = fig.subfigures(2, 1, height_ratios=[5.2, 4])
    left, right = upper.subfigures(1, 2, width_ratios=[1.55, 1])
    axes = left.subplots(1, 2)
    left.suptitle("(a) cells of two frames; solid: chosen, light: rejected", fontsize=10)
    _draw_frames(axes, images, (before, after), hypotheses)
    _draw_events(left, axes, (before, after), hypotheses, y)
    right.suptitle("(b) candidate events and the indicator y", fontsize=10)
    _draw_table(right.subplots(), hypothesis_table(hypotheses, scores, y))
    lower.suptitle(
        "(c) factor graph: variables y (circles), scores (small squares), one event per cell (large squares)",
        fontsize=10,
    )
    draw_factor_graph(lower.subplots(), hypotheses, y)
    return fig


def _draw_frames(
    axes: Sequence[Axes], images: Sequence[NDArray], frames: Sequence[Cells], hypotheses: Hypotheses
) -> None:
    names = (source_names(hypotheses), target_names(hypotheses))
    shown = stretch(np.stack(images))
    for ax, image, cells, labels, title in zip(
        axes, shown, frames, names, ("frame t", "frame t + 1"), strict=True
    ):
        show_image(ax, image, title)
        for (row, column), area, label in zip(cells.position, cells.area, labels, strict=True):
            radius = np.sqrt(area / np.pi)
            ax.add_patch(Circle((column, row), radius, fill=False, edgecolor="white", linewidth=1))
            ax.annotate(
                label,
                (column, row - radius),
                color="white",
                fontsize=9,
                ha="center",
                va="bottom",
                fontweight="bold",
            )


def _draw_events(
    fig: Figure, axes: Sequence[Axes], frames: Sequence[Cells], hypotheses: Hypotheses, y: Assignment
) -> None:
    """Draw the links of all events between the frames; rejected ones below the chosen."""
    names = list(EVENTS)
    for number in np.argsort(y, kind="stable"):
        kind = names[hypotheses.kind[number]]
        style = {"color": KIND_COLORS[kind], "linewidth": 2.2} if y[number] else _REJECTED
        for i in hypotheses.sources[number]:
            for j in hypotheses.targets[number]:
                if i != NONE and j != NONE:
                    _arrow(fig, axes, frames[0].position[i], frames[1].position[j], style)
        if y[number] and kind in ("appearance", "disappearance"):
            _draw_alone(axes, frames, hypotheses, number, style)


def _arrow(fig: Figure, axes: Sequence[Axes], start: NDArray, end: NDArray, style: dict) -> None:
    fig.add_artist(
        ConnectionPatch(
            start[::-1], end[::-1], "data", "data", axesA=axes[0], axesB=axes[1], arrowstyle="->", **style
        )
    )


def _draw_alone(
    axes: Sequence[Axes], frames: Sequence[Cells], hypotheses: Hypotheses, number: int, style: dict
) -> None:
    """Draw a circle around a cell that appears or disappears."""
    i, j = hypotheses.sources[number, 0], hypotheses.targets[number, 0]
    ax, cells, cell = (axes[0], frames[0], i) if i != NONE else (axes[1], frames[1], j)
    radius = 1.3 * np.sqrt(cells.area[cell] / np.pi)
    ax.add_patch(
        Circle(
            cells.position[cell][::-1],
            radius,
            fill=False,
            edgecolor=style["color"],
            linewidth=style["linewidth"],
        )
    )


def _draw_table(ax: Axes, table: pd.DataFrame) -> None:
    ax.set_axis_off()
    cells = [
        [str(number + 1), row["event"], row["from"], row["to"], f"{row['score']:.2f}", str(row["y"])]
        for number, row in table.iterrows()
    ]
    drawn = ax.table(
        cellText=cells,
        colLabels=["", "event", "from", "to", "score", "y"],
        colWidths=[0.08, 0.34, 0.15, 0.15, 0.16, 0.1],
        cellLoc="center",
        bbox=[0, 0, 1, 1],
    )
    drawn.auto_set_font_size(value=False)
    drawn.set_fontsize(8)
    for (row, _), cell in drawn.get_celld().items():
        cell.set_linewidth(0.4)
        if row == 0:
            cell.set_text_props(fontweight="bold")
        elif table["y"].iloc[row - 1]:
            cell.set_text_props(color=KIND_COLORS[table["event"].iloc[row - 1]], fontweight="bold")
        else:
            cell.set_text_props(color="0.45")


def draw_factor_graph(ax: Axes, hypotheses: Hypotheses, y: Assignment) -> None:
    """Draw variables in a row, factors of the cells of the first frame above and of the second below."""
    n = len(hypotheses)
    names = list(EVENTS)
    sides = (
        (hypotheses.sources, source_names(hypotheses), 1.5),
        (hypotheses.targets, target_names(hypotheses), -1.5),
    )
    for taken, labels, height in sides:
        places = (np.arange(len(labels)) + 0.5) * n / max(len(labels), 1) - 0.5
        for cell, place in enumerate(places):
            for number in np.flatnonzero((taken == cell).any(axis=1)):
                chosen = y[number]
                color = KIND_COLORS[names[hypotheses.kind[number]]] if chosen else "0.8"
                ax.plot(
                    [number, place],
                    [0, height],
                    color=color,
                    linewidth=1.8 if chosen else 0.7,
                    zorder=2 if chosen else 1,
                )
            ax.plot(place, height, "s", color="white", markeredgecolor="black", markersize=17, zorder=3)
            ax.annotate(
                labels[cell],
                (place, height),
                ha="center",
                va="center",
                fontsize=9,
                fontweight="bold",
                zorder=4,
            )
    for number in range(n):
        color = KIND_COLORS[names[hypotheses.kind[number]]]
        ax.plot([number, number + 0.36], [0, 0], color=GREY, linewidth=0.8, zorder=2)
        ax.plot(number + 0.36, 0, "s", color=color, markersize=5, zorder=3)
        ax.plot(
            number,
            0,
            "o",
            color=color if y[number] else "white",
            markeredgecolor=color,
            markersize=15,
            zorder=3,
        )
        ax.annotate(
            str(number + 1),
            (number, 0),
            ha="center",
            va="center",
            fontsize=7.5,
            color="white" if y[number] else "0.3",
            zorder=4,
        )
    used = sorted(set(hypotheses.kind.tolist()))
    for kind in used:
        ax.plot([], [], "o", color=KIND_COLORS[names[kind]], label=names[kind])
    ax.legend(ncols=len(used), loc="upper center", bbox_to_anchor=(0.5, 0.02), fontsize=8)
    ax.annotate("fate of each\ncell of frame t", (-0.9, 1.5), ha="right", va="center", fontsize=8)
    ax.annotate("past of each cell\nof frame t + 1", (-0.9, -1.5), ha="right", va="center", fontsize=8)
    ax.set(xlim=(-3.2, n - 0.2), ylim=(-2.3, 1.9))
    ax.set_axis_off()
