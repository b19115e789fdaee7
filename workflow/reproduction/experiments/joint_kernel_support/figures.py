"""Figures of section 3.1: cars in images, and precision against recall under label noise."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, GREEN, GREY, ORANGE, PINK, SKY, YELLOW
from reproduction.experiments.joint_kernel_support.evaluate import example_names
from reproduction.plotting.pictures import outline_boxes, show_image

TITLES = {"ssvm": "S-SVM (linear)", "jkse_linear": "JKSE (linear)", "jkse_chi2": "JKSE (χ²)"}
METHOD_COLORS = {"ssvm": BLUE, "jkse_linear": GREEN, "jkse_chi2": ORANGE}


def plot_examples(examples: Mapping[str, np.ndarray]) -> Figure:
    """Show training images with their cars and, dashed, their labels if all boxes are exchanged."""
    names = example_names(examples, "train")
    fig, axes = plt.subplots(2, -(-len(names) // 2), figsize=(9, 3.8), squeeze=False)
    for ax in axes.flat:
        ax.set_axis_off()
    for ax, name in zip(axes.flat, names, strict=False):
        show_image(ax, examples[f"{name}_image"])
        outline_boxes(ax, examples[f"{name}_cars"])
        swapped = examples[f"{name}_swapped"]
        outline_boxes(ax, swapped, styles=["--"] * len(swapped), colors=[PINK] * len(swapped))
    return fig


def plot_detections(examples: Mapping[str, np.ndarray], noise: Sequence[float]) -> Figure:
    """Show test images with the cars and the best boxes of each method, one row per noise level."""
    names = example_names(examples, "test")
    fig, axes = plt.subplots(len(noise), len(names), figsize=(10, 1.6 * len(noise)), squeeze=False)
    for r, row in zip(noise, axes, strict=True):
        for ax, name in zip(row, names, strict=True):
            show_image(ax, examples[f"{name}_image"])
            outline_boxes(ax, examples[f"{name}_cars"], linewidth=3)
            for method, color in METHOD_COLORS.items():
                boxes = examples[f"{name}_{method}_{r}"]
                outline_boxes(ax, boxes, colors=[color] * len(boxes), linewidth=1.2)
        row[0].set_title(f"$r = {r:g}$", fontsize=9, loc="left")
    handles = [plt.Line2D([], [], color=color, label=TITLES[name]) for name, color in METHOD_COLORS.items()]
    handles.insert(0, plt.Line2D([], [], color=YELLOW, linewidth=3, label="car"))
    fig.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=9)
    return fig


def plot_precision_recall(curves: pd.DataFrame, methods: Sequence[str]) -> Figure:
    """Plot precision against recall, one panel per method and one line per noise level.

    ``curves`` has columns ``method``, ``noise``, ``recall`` and ``precision``.
    """
    width = 4.4 * len(methods) + 1
    fig, axes = plt.subplots(1, len(methods), figsize=(width, 3.8), sharey=True, squeeze=False)
    levels = sorted(curves["noise"].unique())
    shades = plt.colormaps["viridis"](np.linspace(0, 0.92, len(levels)))
    for ax, method, letter in zip(axes[0], methods, "abc", strict=False):
        for r, shade in zip(levels, shades, strict=True):
            curve = curves[(curves["method"] == method) & (curves["noise"] == r)]
            ax.plot(curve["recall"], curve["precision"], color=shade, label=f"$r = {r:g}$")
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle="--")
        title = TITLES[method] if len(methods) == 1 else f"({letter}) {TITLES[method]}"
        ax.set(xlabel="recall", title=title, xlim=(0, 1), ylim=(0, 1.02))
    axes[0, 0].set_ylabel("precision")
    axes[0, -1].legend(fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    return fig


def plot_errors(errors: pd.DataFrame) -> Figure:
    """Plot equal error rates against noise: ours with standard deviation, the published ones dotted.

    ``errors`` is a table as returned by ``evaluate.error_table``.
    """
    fig, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharey=True)
    for ax, (method, color) in zip(axes, METHOD_COLORS.items(), strict=True):
        _plot_error(ax, errors[errors["method"] == method], color)
        ax.set(xlabel="share of exchanged boxes $r$", title=TITLES[method], ylim=(0, 1))
    axes[0].set_ylabel("equal error rate")
    axes[0].legend(fontsize=9, loc="upper left")
    return fig


def _plot_error(ax: Axes, rows: pd.DataFrame, color: str) -> None:
    ax.plot(
        rows["noise"], rows["published"], "k:", marker="o", markersize=3, linewidth=1.2, label="published"
    )
    ax.plot(rows["noise"], rows["ellipse"], color=SKY, linewidth=1, label="here, ellipse rule")
    ax.errorbar(
        rows["noise"],
        rows["here"],
        rows["sd"].fillna(0),
        color=color,
        marker="s",
        markersize=4,
        capsize=2,
        label="here, overlap .5",
    )
