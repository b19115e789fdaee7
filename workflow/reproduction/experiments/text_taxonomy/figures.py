"""Losses of table 5.4 and figure 5.9, the time of a cutting-plane iteration."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, GREEN, ORANGE
from reproduction.experiments.text_taxonomy.evaluate import LOSS_TITLES, TITLES, losses_by_covariance
from reproduction.experiments.text_taxonomy.protocol import CONTROLS
from reproduction.plotting.style import PUBLISHED

FORM_STYLES = {
    "kronecker": {"color": BLUE, "marker": "o", "label": "Kronecker form"},
    "cached": {"color": ORANGE, "marker": "^", "label": "cached kernel values"},
}


def plot_losses(values: Mapping, published: Mapping[str, Sequence[float]]) -> Figure:
    """Plot the loss of each split and the mean for each covariance, one panel per loss.

    The published values are of another corpus: only their order can be compared.
    """
    fig, axes = plt.subplots(1, len(LOSS_TITLES), figsize=(9.5, 3.4), sharey=True)
    for ax, (loss, title) in zip(axes, LOSS_TITLES.items(), strict=True):
        losses = losses_by_covariance(values, loss)
        for row, (name, of_splits) in enumerate(losses.items()):
            color = GREEN if name in CONTROLS else BLUE
            ax.plot(of_splits, np.full(len(of_splits), row), "o", color=color, alpha=0.4, markersize=4)
            ax.plot([of_splits.mean()], [row], "|", color=color, markersize=15, markeredgewidth=2.5)
        marker = {"marker": "x", "linestyle": "", "color": PUBLISHED["color"], "markersize": 6}
        ax.plot(published[loss], range(len(published[loss])), **marker, label="published, of another corpus")
        ax.set(xlabel=f"mean {title}", yticks=range(len(losses)))
        ax.set_yticklabels([TITLES[name] for name in losses])
    axes[0].invert_yaxis()
    handles = [
        plt.Line2D([], [], color=BLUE, marker="o", linestyle="", label="this run, one dot per split"),
        plt.Line2D([], [], color=GREEN, marker="o", linestyle="", label="controls"),
        *axes[0].get_legend_handles_labels()[0],
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=9)
    return fig


def plot_iteration_times(times: pd.DataFrame) -> Figure:
    """Plot figure 5.9: seconds of each iteration, and relative to the first one as published."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
    for form, style in FORM_STYLES.items():
        rows = times[times["form"] == form]
        line = {**style, "markersize": 3, "linewidth": 1.2}
        left.plot(rows["iteration"], rows["seconds"], **line)
        right.plot(rows["iteration"], rows["seconds"] / rows["seconds"].iloc[0], **line)
    left.set(yscale="log", ylabel="CPU seconds")
    right.set(ylabel="time over that of the first iteration", ylim=(0, None))
    for ax in (left, right):
        ax.set(xlabel="cutting-plane iteration")
    left.legend(loc="center right", fontsize=9)
    return fig
