"""Figures of the pedestrian experiment (E-fig-3): groups, versions, ROC curves, errors by grouping."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import AMBER, BLUE, GREEN, GREY, ORANGE, PINK, SKY
from reproduction.experiments.pedestrians.protocol import TITLES

ROC_COLORS = {"none": GREY, "flip": SKY, "all": BLUE, "all_mean": ORANGE, "ranking": GREEN}
KINDS = {
    "binary": ("binary", SKY, "--"),
    "binary_natural": ("binary natural", BLUE, "-"),
    "ranking": ("ranking", AMBER, "--"),
    "ranking_natural": ("ranking natural", ORANGE, "-"),
}
#: Crops in a row of the figure, and of the sheet of versions.
_SHOWN, _SHEET = 12, 9


def plot_pedestrians(
    examples: Mapping[str, np.ndarray],
    roc: pd.DataFrame,
    values: Mapping[str, Any],
    published: Mapping[str, float],
) -> Figure:
    """Draw the exhibit: a growing group, ROC curves, errors and used samples by grouping.

    ``published`` has the equal error rates of the paper in percent, by set of transformations.
    """
    fig = plt.figure(figsize=(11, 6.6))
    above, below = fig.subfigures(2, 1, height_ratios=(1, 1.5))
    _plot_groups(above, examples)
    axes = below.subplots(1, 3)
    _plot_roc(axes[0], roc, values, published)
    for ax, name, label in zip(
        axes[1:],
        ("grouped_eer", "samples_used"),
        ("equal error rate (%)", "pedestrian images used"),
        strict=True,
    ):
        _plot_grouping(ax, values[name])
        ax.set(xlabel="grouping", ylabel=label, xticks=range(1, len(values["groups"]) + 1))
    axes[1].set_title("(b) error")
    axes[2].set_title("(c) samples used by the optimizer")
    axes[2].set_ylim(bottom=0)
    axes[1].legend(fontsize=8)
    return fig


def plot_versions(examples: Mapping[str, np.ndarray]) -> Figure:
    """Show the versions of a crop, originals above flips, with repeated pixels and cropped."""
    fig, axes = plt.subplots(2, 1, figsize=(9, 4.6))
    for ax, name, title in zip(
        axes,
        ("versions_replicate", "versions_crop"),
        ("border pixels repeated, 18 x 36", "cropped by one pixel, 16 x 34"),
        strict=True,
    ):
        versions = examples[name]
        _show_sheet(ax, np.concatenate([versions[::2], versions[1::2]]), _SHEET)
        ax.set_title(title, fontsize=9)
    return fig


def _plot_groups(fig: Figure, examples: Mapping[str, np.ndarray]) -> None:
    names = sorted(name for name in examples if name.startswith("group_"))
    axes = fig.subplots(2, -(-len(names) // 2), squeeze=False)
    for ax, name in zip(axes.flat, names, strict=False):
        members = examples[name]
        chosen = np.unique(np.linspace(0, len(members) - 1, _SHOWN).round().astype(int))
        blank = np.full((_SHOWN - len(chosen), *members.shape[1:]), 255, dtype=members.dtype)
        _show_sheet(ax, np.concatenate([members[chosen], blank]), _SHOWN)
        note = f", {len(chosen)} shown" if len(chosen) < len(members) else ""
        ax.set_title(
            f"grouping {name[-1]}: {len(members)} {'image' if len(members) == 1 else 'images'}{note}",
            fontsize=9,
            loc="left",
        )


def _plot_roc(ax: Axes, roc: pd.DataFrame, values: Mapping[str, Any], published: Mapping[str, float]) -> None:
    false_positives = 100 * roc["false_positive_rate"]
    for name, color in ROC_COLORS.items():
        mean = np.mean(values["eer_of_all"][name]["repeats"])
        ax.plot(false_positives, 100 * roc[name], color=color, label=f"{TITLES[name]}: {mean:.1f}")
    for name, rate in published.items():
        ax.plot(rate, 100 - rate, "o", color=ROC_COLORS[name], markeredgecolor="black", markersize=6)
    ax.plot([], [], "o", color="white", markeredgecolor="black", label="published equal error rates")
    ax.plot([0, 50], [100, 50], color=PINK, linewidth=0.8, linestyle="--")
    ax.set(
        xlim=(0, 30), ylim=(70, 100), xlabel="false positives (%)", ylabel="detections (%)", title="(a) ROC"
    )
    ax.legend(fontsize=7, title="equal error rate (%)", title_fontsize=7)


def _plot_grouping(ax: Axes, lines: Mapping[str, Any]) -> None:
    for name, (label, color, style) in KINDS.items():
        means = [np.mean(repeats["repeats"]) for repeats in lines[name]]
        ax.plot(range(1, len(means) + 1), means, style, color=color, marker="s", markersize=4, label=label)


def _show_sheet(ax: Axes, crops: np.ndarray, columns: int) -> None:
    """Show crops row by row, with a line between them."""
    framed = np.pad(crops, ((0, 0), (0, 1), (0, 1)), constant_values=255)
    rows = [np.concatenate(list(framed[i : i + columns]), axis=1) for i in range(0, len(framed), columns)]
    ax.imshow(np.concatenate(rows), cmap="gray", vmin=0, vmax=255)
    ax.set_axis_off()
