"""Figures of the vessels of the retina (T-fig-5.1)."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import AMBER, BLUE, GREEN, GREY, ORANGE, SKY
from reproduction.experiments.vessels.evaluate import METHODS, TITLES
from reproduction.plotting.pictures import show_image

STYLES = {
    "threshold": {"color": GREY, "marker": "v"},
    "linear": {"color": SKY, "marker": "s"},
    "grid": {"color": GREEN, "marker": "D"},
    "dense": {"color": BLUE, "marker": "o"},
    "second": {"color": ORANGE, "marker": "*"},
}
#: Levels of F1 whose lines are drawn behind precision and sensitivity.
_F1_LEVELS = (0.6, 0.7, 0.8, 0.9)


def plot_examples(examples: Mapping[str, np.ndarray]) -> Figure:
    """Show photograph, ground truth, second observer and our result, as figure 5.1."""
    names = [name for name in ("healthy", "pathological") if f"{name}_image" in examples]
    fig, axes = plt.subplots(len(names), 4, figsize=(10, 2.75 * len(names)), squeeze=False)
    for row, name in zip(axes, names, strict=True):
        number = int(examples[f"{name}_number"])
        _show_pixels(row[0], examples[f"{name}_image"], title=f"photograph {number:02d} ({name})")
        for ax, mask, title in zip(
            row[1:],
            ("first", "second", "dense"),
            ("ground truth", "second observer", "dense CRF"),
            strict=True,
        ):
            _show_pixels(ax, examples[f"{name}_{mask}"], title=title)
    return fig


def _show_pixels(ax: Axes, image: np.ndarray, title: str) -> None:
    """Show an image with all its pixels: thin vessels would break if an SVG file held fewer."""
    show_image(ax, image, title)
    ax.images[0].set_interpolation("none")


def plot_errors(examples: Mapping[str, np.ndarray]) -> Figure:
    """Show where the second observer and our result differ from the ground truth."""
    names = [name for name in ("healthy", "pathological") if f"{name}_image" in examples]
    fig, axes = plt.subplots(len(names), 2, figsize=(7.5, 3.9 * len(names)), squeeze=False)
    for row, name in zip(axes, names, strict=True):
        for ax, mask in zip(row, ("second", "dense"), strict=True):
            picture = error_picture(examples[f"{name}_first"], examples[f"{name}_{mask}"])
            _show_pixels(ax, picture, title=f"{TITLES[mask]} ({name})")
    handles = [plt.Line2D([], [], color=color, marker="s", linestyle="") for color in (GREY, AMBER, SKY)]
    fig.legend(handles, ["vessel", "false vessel", "missed vessel"], loc="outside lower center", ncols=3)
    return fig


def error_picture(truth: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Return an RGB picture: common vessels gray, false ones amber, missed ones blue, on white."""
    picture = np.full((*truth.shape, 3), 255, dtype=np.uint8)
    for mask, color in ((truth & found, GREY), (found & ~truth, AMBER), (truth & ~found, SKY)):
        picture[mask] = [int(color[k : k + 2], 16) for k in (1, 3, 5)]
    return picture


def plot_comparison(scores: pd.DataFrame, curves: pd.DataFrame, values: Mapping) -> Figure:
    """Plot F1 of each photograph by the dense CRF and the second observer, and precision over sensitivity."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=[3, 2])
    plot_pairs(left, scores)
    plot_precision(right, curves, values)
    return fig


def plot_pairs(ax: Axes, scores: pd.DataFrame) -> None:
    """Plot F1 of the dense CRF and of the second observer, ordered by that of the observer."""
    by_method = scores.pivot_table(index=["photograph", "pathological"], columns="method", values="f1")
    by_method = by_method.sort_values("second", kind="stable").reset_index()
    x = np.arange(len(by_method))
    ax.vlines(x, by_method["second"], by_method["dense"], color=GREY, linewidth=1)
    for method in ("second", "dense"):
        ax.plot(x, by_method[method], linestyle="", label=TITLES[method], **STYLES[method])
    labels = [
        f"{number:02d}{'*' if ill else ''}"
        for number, ill in zip(by_method["photograph"], by_method["pathological"], strict=True)
    ]
    ax.set_xticks(x, labels, fontsize=8)
    ax.set(xlabel="test photograph (*: signs of disease)", ylabel="F1 against the first observer")
    ax.legend()


def plot_precision(ax: Axes, curves: pd.DataFrame, values: Mapping) -> None:
    """Plot the curves of the pixelwise scores, and a point for each method and for the second observer."""
    grid = np.linspace(0.3, 1, 200)
    for level in _F1_LEVELS:
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = level * grid / (2 * grid - level)
        shown = (precision > 0) & (precision <= 1)
        ax.plot(grid[shown], precision[shown], color="0.85", linewidth=0.8, zorder=0)
        ax.annotate(
            f"F1 {level:g}", (1, level / (2 - level)), fontsize=7, color="0.5", ha="right", va="bottom"
        )
    for method, rows in curves.groupby("method", sort=False):
        ax.plot(rows["sensitivity"], rows["precision"], color=STYLES[method]["color"], linewidth=1.2)
    for method in (*METHODS, "second"):
        score = values["score"][method]
        size = 11 if method == "second" else 6
        ax.plot(
            score["sensitivity"],
            score["precision"],
            linestyle="",
            markersize=size,
            markeredgecolor="white",
            label=TITLES[method],
            **STYLES[method],
        )
    ax.set(xlim=(0.5, 1), ylim=(0.5, 1), xlabel="sensitivity", ylabel="precision")
    ax.legend(fontsize=8, loc="lower left")


def plot_differences(values: Mapping) -> Figure:
    """Plot the paired differences from the second observer with 95 % intervals, and the margin."""
    fig, axes = plt.subplots(1, 2, figsize=(9, 2.6), sharey=True)
    for ax, (metric, name) in zip(axes, (("f1", "F1"), ("mcc", "MCC")), strict=True):
        margin = values["margin"][metric]
        ax.axvspan(-margin, margin, color="0.93", zorder=0)
        ax.axvline(0, color="black", linewidth=0.8)
        for row, method in enumerate(METHODS):
            difference = values["from_second"][method][metric]
            ax.errorbar(
                difference["mean"],
                row,
                xerr=[
                    [difference["mean"] - difference["low"]],
                    [difference["high"] - difference["mean"]],
                ],
                capsize=3,
                **STYLES[method],
            )
        ax.set_yticks(range(len(METHODS)), [TITLES[method] for method in METHODS])
        ax.set(xlabel=f"{name} minus that of the second observer", ylim=(len(METHODS) - 0.5, -0.5))
    return fig
