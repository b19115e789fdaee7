"""Figure of the windows that a cascade passes on: detections, and recall against overlap (T-fig-3.5)."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from ermlab._utils.palette import BLUE, GREEN, GREY, ORANGE, SKY, YELLOW
from reproduction.experiments.window_cascade.evaluate import NAMES, SIDES
from reproduction.plotting.pictures import outline_boxes

#: Colors distinguish graphs, line styles rescalings.
_LINES = {
    "complete_slack": (BLUE, "-"),
    "complete_margin": (BLUE, "--"),
    "bipartite_slack": (ORANGE, "-"),
    "bipartite_margin": (ORANGE, "--"),
    "star_slack": (GREEN, "-"),
    "star_margin": (GREEN, "--"),
    "sosvm": ("black", "-."),
    "chance": (GREY, ":"),
    "all": (GREY, (0, (5, 1))),
}
_OBJECT, _FEW, _MANY = YELLOW, ORANGE, SKY
#: Minimum overlap of a window that finds an object.
_FOUND = 0.5


def plot_cascade(
    pictures: Mapping[int, np.ndarray], examples: pd.DataFrame, curves: pd.DataFrame, areas: pd.DataFrame
) -> Figure:
    """Draw detections in images (a), and recall over overlap for each number of windows (b).

    Parameters
    ----------
    pictures : mapping of int to ndarray of shape (height, width, 3)
        RGB images at half resolution, by their index in the data set.
    examples : DataFrame
        As returned by ``evaluate.example_detections``.
    curves : DataFrame
        Columns ``variant``, ``windows``, ``overlap``, ``recall``.
    areas : DataFrame
        As returned by ``evaluate.area_table``.
    """
    rows = -(-len(pictures) // 4)
    fig = plt.figure(figsize=(11, 2.2 * rows + 5.2))
    upper, lower = fig.subfigures(2, 1, height_ratios=[2.2 * rows + 0.5, 4.7])
    _draw_examples(upper, pictures, examples, rows)
    lower.suptitle(
        "(b) objects found among the first 10, 100 and 1000 windows; area under each curve", fontsize=10
    )
    counts = sorted(curves["windows"].unique())
    axes = lower.subplots(1, len(counts), sharey=True)
    for ax, count in zip(axes, counts, strict=True):
        _draw_curves(ax, curves[curves["windows"] == count], areas[areas["windows"] == count])
        ax.set(title=f"{count} windows", xlabel="overlap at least", xlim=(0.5, 1), ylim=(0, 1))
    axes[0].set_ylabel("share of objects (recall)")
    return fig


def _draw_examples(
    part: SubFigure, pictures: Mapping[int, np.ndarray], examples: pd.DataFrame, rows: int
) -> None:
    part.suptitle(
        "(a) complete graph, slack rescaling: the window that overlaps each object most", fontsize=10
    )
    axes = part.subplots(rows, 4, squeeze=False).flat
    few, many = examples["windows"].min(), examples["windows"].max()
    for ax, (number, picture) in zip(axes, pictures.items(), strict=False):
        of_image = examples[examples["image"] == number]
        few_rows, many_rows = (of_image[of_image["windows"] == count] for count in (few, many))
        _show_half(ax, picture)
        _outline(ax, few_rows, "object", _OBJECT)
        _outline(ax, few_rows, "window", _FEW)
        _outline(ax, many_rows, "window", _MANY)
        found = [int((table["overlap"] >= _FOUND).sum()) for table in (few_rows, many_rows)]
        ax.set_title(f"found: {found[0]} of {len(few_rows)} with {few}, {found[1]} with {many}", fontsize=8)
    for ax in axes:
        ax.set_axis_off()
    lines = [Line2D([], [], color=color, linewidth=2) for color in (_OBJECT, _FEW, _MANY)]
    labels = ["object", f"best of the first {few} windows", f"best of the first {many}"]
    part.legend(lines, labels, loc="outside lower center", ncols=3, fontsize=8)


def _draw_curves(ax: Axes, curves: pd.DataFrame, areas: pd.DataFrame) -> None:
    for variant, (color, style) in _LINES.items():
        curve = curves[curves["variant"] == variant]
        area = areas.loc[areas["variant"] == variant, "mean"].item()
        width = 1.0 if color == GREY else 1.6
        ax.plot(
            curve["overlap"],
            curve["recall"],
            color=color,
            linestyle=style,
            linewidth=width,
            label=f"{NAMES[variant]} ({area:.3f})",
        )
    # Below the panel, since the curves leave no free place inside.
    ax.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, handlelength=2.4)


def _show_half(ax: Axes, picture: np.ndarray) -> None:
    """Show an image of half resolution in the pixel coordinates of the full one."""
    height, width = (2 * side for side in picture.shape[:2])
    ax.imshow(picture, extent=(-0.5, width - 0.5, height - 0.5, -0.5))
    ax.set_axis_off()


def _outline(ax: Axes, rows: pd.DataFrame, kind: str, color: str) -> None:
    boxes = rows[[f"{kind}_{side}" for side in SIDES]].to_numpy()
    outline_boxes(ax, boxes, colors=[color] * len(boxes))
