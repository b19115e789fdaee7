"""Figures of section 3.1: cars in images, and precision against recall under label noise."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, GREEN, GREY, ORANGE, PINK, YELLOW
from reproduction.experiments.joint_kernel_support.evaluate import example_names
from reproduction.plotting.pictures import outline_boxes, show_image

TITLES = {"ssvm": "S-SVM (linear)", "jkse_linear": "JKSE (linear)", "jkse_chi2": "JKSE (χ²)"}
READING_TITLES = {"free": "any size", "known": "known size"}
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
    """Plot precision against recall: a row per reading, a panel per method and a line per noise level.

    ``curves`` has columns ``reading``, ``method``, ``noise``, ``recall`` and ``precision``.
    """
    readings, levels = list(dict.fromkeys(curves["reading"])), sorted(curves["noise"].unique())
    # A single method has its readings side by side.
    panels = [[(reading, method) for method in methods] for reading in readings]
    panels = [[panel for row in panels for panel in row]] if len(methods) == 1 else panels
    shape = len(panels), len(panels[0])
    size = (4.4 * shape[1] + 1, 3.5 * shape[0])
    fig, axes = plt.subplots(*shape, figsize=size, sharex=True, sharey=True, squeeze=False)
    shades = plt.colormaps["viridis"](np.linspace(0, 0.92, len(levels)))
    for ax, (reading, method) in zip(axes.flat, (panel for row in panels for panel in row), strict=True):
        chosen = curves[(curves["method"] == method) & (curves["reading"] == reading)]
        for r, shade in zip(levels, shades, strict=True):
            curve = chosen[chosen["noise"] == r]
            ax.plot(curve["recall"], curve["precision"], color=shade, label=f"$r = {r:g}$")
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle="--")
        ax.set(title=f"{TITLES[method]}, {READING_TITLES[reading]}", xlim=(0, 1), ylim=(0, 1.02))
    for ax in axes[-1]:
        ax.set_xlabel("recall")
    for ax in axes[:, 0]:
        ax.set_ylabel("precision")
    axes[0, -1].legend(fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
    return fig


def plot_errors(errors: pd.DataFrame) -> Figure:
    """Plot equal error rates against noise: both readings with standard deviation, the published ones dotted.

    ``errors`` is a table as returned by ``evaluate.error_table``.
    """
    fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True)
    for ax, (method, color) in zip(axes, METHOD_COLORS.items(), strict=True):
        of_method = errors[errors["method"] == method]
        of_readings = [of_method[of_method["reading"] == reading] for reading in READING_TITLES]
        ax.plot(
            of_readings[0]["noise"],
            of_readings[0]["published"],
            "k:",
            marker="o",
            markersize=3,
            linewidth=1.2,
            label="published",
        )
        for rows, title, shade, marker in zip(
            of_readings, READING_TITLES.values(), (color, GREY), "s^", strict=True
        ):
            _plot_error(ax, rows, shade, marker, title)
        ax.set(xlabel="share of exchanged boxes $r$", title=TITLES[method], ylim=(0, 1))
        ax.legend(fontsize=8, loc="upper left")
    axes[0].set_ylabel("equal error rate")
    return fig


def _plot_error(ax: Axes, rows: pd.DataFrame, color: str, marker: str, label: str) -> None:
    ax.errorbar(
        rows["noise"],
        rows["here"],
        rows["sd"].fillna(0),
        color=color,
        marker=marker,
        markersize=4,
        capsize=2,
        label=label,
    )
