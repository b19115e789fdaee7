"""Figures of the aerial cars (E-fig-2): detections, precision and recall, false positives."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, GREEN, GREY, ORANGE, PINK, SKY, YELLOW
from reproduction.experiments.aerial_cars.evaluate import mean_over_scenes
from reproduction.experiments.aerial_cars.protocol import LATENT, LATENT_TITLE, TITLES
from reproduction.plotting.pictures import outline_boxes, show_image

METHOD_STYLES = {
    "linear": {"color": GREY, "linestyle": "--"},
    "linear_equivariant": {"color": BLUE, "linestyle": "-"},
    "slot": {"color": PINK, "linestyle": "--"},
    "slot_equivariant": {"color": GREEN, "linestyle": "-"},
    LATENT: {"color": ORANGE, "linestyle": ":"},
}
_LABELS = TITLES | {LATENT: LATENT_TITLE}
CORRECT, FALSE = SKY, ORANGE
_MISSED = {"linestyle": "", "marker": "o", "markersize": 3.5, "color": YELLOW, "markeredgecolor": "black"}
#: Half the side of a window in pixels.
_HALF = 17


def plot_aerial_cars(
    examples: Mapping[str, np.ndarray],
    precision: pd.DataFrame,
    rates: pd.DataFrame,
    values: Mapping,
    published: Mapping[str, float],
) -> Figure:
    """Draw the exhibit: detections of the equivariant slot detector, and two kinds of curves.

    The legend has the average precisions, and the gains over the linear detector beside the
    ``published`` ones.
    """
    scenes = values["scenes"]
    fig = plt.figure(figsize=(10, 7.3))
    top, bottom = fig.subfigures(2, 1, height_ratios=[1, 1.25])
    axes = top.subplots(1, len(scenes))
    for number, (ax, scene) in enumerate(zip(axes, scenes, strict=True)):
        show_detections(ax, examples, number, "slot_equivariant")
        ax.set_title(scene, fontsize=9)
    left, right = bottom.subplots(1, 2)
    plot_precision(left, mean_over_scenes(precision, "recall", "precision"))
    left.set_title("mean over the scenes")
    plot_rates(right, mean_over_scenes(rates, "rate", "recall"))
    right.set_title("mean over the scenes")
    bottom.legend(
        left.lines,
        [_with_precision(method, values, published) for method in METHOD_STYLES],
        title="average precision in percent (points over the linear detector)",
        title_fontsize=9,
        loc="outside lower center",
        ncols=2,
        fontsize=9,
    )
    return fig


def _with_precision(method: str, values: Mapping, published: Mapping[str, float]) -> str:
    """Return the title of a method with its average precision and gain."""
    title = f"{_LABELS[method]}: {np.mean(values['ap'][method]['repeats']):.0f}"
    if method not in published:
        return title
    gain = np.mean(values["ap_gain"][method]["repeats"])
    return f"{title} ({gain:+.0f}, published {published[method]:+g})"


def plot_scenes(precision: pd.DataFrame, scenes: Sequence[str]) -> Figure:
    """Plot precision against recall, one panel per scene."""
    fig, axes = plt.subplots(1, len(scenes), figsize=(10, 3.3), sharey=True, squeeze=False)
    for ax, scene in zip(axes[0], scenes, strict=True):
        plot_precision(ax, precision[precision["scene"] == scene])
        ax.set_title(f"test: {scene}", fontsize=10)
    for ax in axes[0, 1:]:
        ax.set_ylabel("")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    return fig


def plot_methods(examples: Mapping[str, np.ndarray], scenes: Sequence[str]) -> Figure:
    """Show the detections of the linear and of the equivariant slot detector, one row per scene."""
    methods = ("linear", "slot_equivariant")
    fig, axes = plt.subplots(len(scenes), 2, figsize=(9, 3.7 * len(scenes)), squeeze=False)
    for number, (row, scene) in enumerate(zip(axes, scenes, strict=True)):
        for ax, method in zip(row, methods, strict=True):
            show_detections(ax, examples, number, method)
            ax.set_title(f"{scene}: {TITLES[method]}", fontsize=9)
    handles = [
        plt.Line2D([], [], color=CORRECT, label="correct"),
        plt.Line2D([], [], color=FALSE, linestyle="--", label="false"),
        plt.Line2D([], [], label="missed car", **_MISSED),
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=9)
    return fig


def show_detections(ax: Axes, examples: Mapping[str, np.ndarray], number: int, method: str) -> None:
    """Show a part of a frame with correct and false detections as squares, and a dot on each missed car."""
    image, cars = examples[f"{number}_image"], examples[f"{number}_cars"]
    found = examples[f"{number}_{method}"]
    show_image(ax, image)
    centers, correct = found[:, :2], found[:, 2] > 0
    boxes = np.hstack([centers - _HALF, centers + _HALF])
    colors = np.where(correct, CORRECT, FALSE)
    styles = np.where(correct, "-", "--")
    outline_boxes(ax, boxes, styles=styles, colors=colors, linewidth=1.3)
    near = np.linalg.norm(cars[:, None] - centers[None, correct], axis=-1).min(axis=1, initial=np.inf)
    missed = cars[near > _HALF]
    ax.plot(*missed.T, **_MISSED)
    ax.set(xlim=(-0.5, image.shape[1] - 0.5), ylim=(image.shape[0] - 0.5, -0.5))


def plot_precision(ax: Axes, curves: pd.DataFrame) -> None:
    """Plot precision against recall, one line per method."""
    for method, style in METHOD_STYLES.items():
        curve = curves[curves["method"] == method]
        ax.plot(curve["recall"], curve["precision"], label=_LABELS[method], **style)
    ax.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.02))


def plot_rates(ax: Axes, curves: pd.DataFrame) -> None:
    """Plot recall against false positives per frame, one line per method."""
    for method, style in METHOD_STYLES.items():
        curve = curves[curves["method"] == method]
        ax.plot(curve["rate"], curve["recall"], label=_LABELS[method], **style)
    ax.set(xscale="log", xlabel="false positives per image", ylabel="recall", ylim=(0, 1.02))
