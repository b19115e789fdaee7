"""Figures of section 3.1: cars in images, and precision against recall under label noise."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, GREEN, GREY, ORANGE, PINK, SKY, YELLOW
from reproduction.plotting.pictures import outline_boxes, show_image

TITLES = {"ssvm": "S-SVM (linear)", "jkse_linear": "JKSE (linear)", "jkse_chi2": "JKSE (χ²)"}
METHOD_COLORS = {"ssvm": BLUE, "jkse_linear": GREEN, "jkse_chi2": ORANGE}


def plot_examples(examples: Mapping[str, np.ndarray]) -> Figure:
    """Show training images with their cars and, dashed, the boxes that they have if all are exchanged."""
    names = _shown(examples, "train")
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
    """Show test images, a row a level of noise, with the cars and the best boxes of each method."""
    names = _shown(examples, "test")
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
    """Plot precision against recall, a panel a method and a line a level of noise.

    ``curves`` has ``method``, ``noise``, ``recall`` and ``precision``.
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
    """Plot equal error rates over the noise: ours with a standard deviation, the published ones dotted.

    ``errors`` is a table of `error_table`.
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


def error_table(values: Mapping, published: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """Return a row for each method and level of noise: published and own rates, over seeds."""
    rows = []
    for method in TITLES:
        for i, r in enumerate(values["noise"]):
            rates = values["eer"][method][i]["per_seed"]
            rows.append(
                {
                    "method": method,
                    "noise": r,
                    "published": published[method][i],
                    "here": np.mean(rates),
                    "sd": np.std(rates, ddof=1) if len(rates) > 1 else np.nan,
                    "ellipse": np.mean(values["eer_ellipse"][method][i]["per_seed"]),
                    "recall_reached": np.mean(values["recall_reached"][method][i]["per_seed"]),
                    "parameter": np.median(values["parameter"][method][i]["per_seed"]),
                    "area_on_crops": np.mean(values["area"][method][i]["per_seed"]),
                }
            )
    return pd.DataFrame(rows)


def example_boxes(examples: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """Return the boxes that `plot_examples` draws, a row each."""
    rows = []
    for name in _shown(examples, "train"):
        for kind in ("cars", "swapped"):
            table = pd.DataFrame(examples[f"{name}_{kind}"], columns=["left", "top", "right", "bottom"])
            table.insert(0, "kind", kind)
            table.insert(0, "image", name)
            rows.append(table)
    return pd.concat(rows, ignore_index=True)


def _shown(examples: Mapping[str, np.ndarray], part: str) -> list[str]:
    """Return the names of the example images of a part, in order."""
    names = {key.removesuffix("_image") for key in examples if key.endswith("_image")}
    return sorted(name for name in names if name.startswith(f"{part}_"))
