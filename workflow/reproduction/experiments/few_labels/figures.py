"""Figure of Laplacian regularization on two moons and on digits (T-sec-2.1)."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import stats

from ermlab._utils.palette import BLUE, GREY, ORANGE, PINK
from reproduction.experiments.intervals import repeated_interval
from reproduction.experiments.semisupervised import UNLABELED

#: Label, color, line and marker of each method.
STYLES = {
    "ridge": ("ridge", BLUE, "--", "o"),
    "laplacian_ridge": ("ridge with Laplacian", BLUE, "-", "o"),
    "svm": ("SVM", ORANGE, "--", "s"),
    "laplacian_svm": ("SVM with Laplacian", ORANGE, "-", "s"),
    "shuffled_ridge": ("ridge, shuffled graph", GREY, ":", "o"),
    "shuffled_svm": ("SVM, shuffled graph", PINK, ":", "s"),
}
LOSSES = {"ridge": ("ridge", BLUE, "o"), "svm": ("SVM", ORANGE, "s")}


def plot_semisupervised(
    moons: pd.DataFrame,
    example: Mapping[str, NDArray],
    digits: pd.DataFrame,
    gains: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> Figure:
    """Draw the functions on the moons, accuracies over labels and unlabeled samples, and paired gains.

    ``moons`` and ``digits`` have one row per repeat, size and method; ``gains`` maps a label to the gains of
    ridge regression and SVM.
    """
    fig, axes = plt.subplots(2, 3, figsize=(11, 6.8))
    for ax, method, letter in zip(axes[0], ("ridge", "laplacian_ridge"), "ab", strict=False):
        _plot_plane(ax, example, method)
        ax.set_title(f"({letter}) moons: {STYLES[method][0]}")
    _plot_accuracies(axes[0, 2], moons, "labels")
    axes[0, 2].set(title="(c) moons", xlabel="labels per class")
    most = digits[digits["unlabeled"] == digits["unlabeled"].max()]
    _plot_accuracies(axes[1, 0], most, "labels")
    axes[1, 0].set(title=f"(d) digits, {most['unlabeled'].max()} unlabeled", xlabel="labels per class")
    fewest = digits[digits["labels"] == digits["labels"].min()]
    _plot_accuracies(axes[1, 1], fewest[~fewest["method"].str.startswith("shuffled")], "unlabeled")
    axes[1, 1].set(title=f"(e) digits, {fewest['labels'].min()} labels per class", xlabel="unlabeled digits")
    _plot_gains(axes[1, 2], gains)
    handles, names = axes[1, 0].get_legend_handles_labels()
    fig.legend(handles, names, loc="outside lower center", ncols=3, fontsize=9, handlelength=3.5)
    return fig


def _plot_plane(ax: Axes, example: Mapping[str, NDArray], method: str) -> None:
    scores, marked, X = example[method], example["marked"], example["X"]
    limit = np.abs(scores).max()
    levels = np.linspace(-limit, limit, 12)
    ax.contourf(example["x"], example["y"], scores, levels, cmap="PuOr", alpha=0.55)
    ax.contour(example["x"], example["y"], scores, [0.0], colors="black", linewidths=1.4)
    free = marked == UNLABELED
    ax.scatter(*X[free].T, s=7, color=GREY, linewidths=0)
    for c, (color, marker) in enumerate(((ORANGE, "^"), (BLUE, "s"))):
        ax.scatter(*X[marked == c].T, s=70, color=color, marker=marker, edgecolors="black", zorder=3)
    ax.set(xticks=[], yticks=[])
    ax.grid(visible=False)


def _plot_accuracies(ax: Axes, accuracies: pd.DataFrame, x: str) -> None:
    methods = [method for method in STYLES if method in set(accuracies["method"])]
    places = sorted(accuracies[x].unique())
    for number, method in enumerate(methods):
        label, color, line, marker = STYLES[method]
        by_place = accuracies[accuracies["method"] == method].groupby(x)["accuracy"]
        mean, count = by_place.mean(), by_place.count()
        half = by_place.sem() * stats.t.ppf(0.975, count - 1)
        shift = 1.035 ** (number - (len(methods) - 1) / 2)
        ax.errorbar(
            mean.index * shift,
            mean,
            half,
            label=label,
            color=color,
            linestyle=line,
            marker=marker,
            markersize=4,
            capsize=2,
        )
    ax.set_ylim(top=min(1.01, ax.get_ylim()[1]))
    ax.set(xscale="log", xticks=places, xticklabels=places, ylabel="accuracy on new samples")
    ax.minorticks_off()


def _plot_gains(ax: Axes, gains: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    for row, found in enumerate(gains.values()):
        for shift, (loss, (label, color, marker)) in zip((-0.13, 0.13), LOSSES.items(), strict=True):
            gain = repeated_interval(found[loss])
            errors = [[gain["mean"] - gain["low"]], [gain["high"] - gain["mean"]]]
            ax.errorbar(
                gain["mean"],
                row + shift,
                xerr=errors,
                color=color,
                marker=marker,
                capsize=3,
                label=label if row == 0 else None,
            )
    ax.axvline(0, color="black", linewidth=1)
    ax.set(yticks=range(len(gains)), yticklabels=list(gains), xlabel="difference of accuracy, 95 % interval")
    ax.invert_yaxis()
    ax.set_title("(f) paired differences, fewest labels")
    ax.legend(fontsize=8, loc="best")
