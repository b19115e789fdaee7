"""Figures of transfer between laboratories: losses against annotation, and controls (C-fig-1.10)."""

from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, GREY, ORANGE, SKY
from reproduction.experiments.transfer.evaluate import TITLES, learning_curves
from reproduction.experiments.transfer.protocol import FIFTH
from reproduction.plotting.style import PUBLISHED

#: Colors and markers of the strategies with a curve.
CURVES = {"partial_target": (SKY, "^"), "union": (ORANGE, "s"), "transfer": (BLUE, "o")}
LINES = {"all_source": (GREY, "--"), "all_target": ("black", "-")}


def plot_transfer(runs: pd.DataFrame, studies: Mapping[str, str], column: str = "loss") -> Figure:
    """Draw the test loss against the annotated share of the target, one panel per study (figure 1.10).

    Parameters
    ----------
    runs : DataFrame
        All runs, losses in percent.
    studies : mapping
        Names of studies and their titles.
    column : str, default="loss"
        ``"loss"``, with settings chosen by cross-validation, or ``"published_loss"``.
    """
    fig, axes = plt.subplots(1, len(studies), figsize=(5.4 * len(studies), 4.2), squeeze=False)
    for ax, (name, title) in zip(axes.flat, studies.items(), strict=True):
        _plot_study(ax, runs[runs.study == name], column)
        ax.set(
            title=title, xlabel="target patches annotated (%)", ylabel="true events missed in the test (%)"
        )
    axes.flat[0].legend(fontsize=8)
    return fig


def _plot_study(ax: Axes, runs: pd.DataFrame, column: str) -> None:
    for name, (color, style) in LINES.items():
        loss = float(runs.loc[runs.strategy == name, column].mean())
        ax.axhline(loss, color=color, linestyle=style, linewidth=1.2, label=TITLES[name][0])
    for name, (color, mark) in CURVES.items():
        curves = learning_curves(runs, name, column)
        x = 100 * curves.index
        ax.fill_between(x, curves.min(axis=1), curves.max(axis=1), color=color, alpha=0.15, linewidth=0)
        ax.plot(x, curves.mean(axis=1), color=color, marker=mark, markersize=5, label=TITLES[name][0])
    ax.axvline(100 * FIFTH, **PUBLISHED, label="published: transfer reaches all target")
    ax.set_xscale("log")
    shares = 100 * np.unique(runs.share[runs.share > 0])
    ax.set_xticks(shares, [f"{share:g}" for share in shares])
    ax.minorticks_off()
    ax.set_ylim(bottom=0)


def plot_controls(runs: pd.DataFrame, studies: Mapping[str, str]) -> Figure:
    """Draw the losses at a fifth of the annotation with the source of each study."""
    fig, ax = plt.subplots(figsize=(7.2, 3.6))
    for k, study in enumerate(studies):
        of_study = runs[runs.study == study]
        for j, (name, (color, mark)) in enumerate(CURVES.items()):
            losses = of_study[(of_study.strategy == name) & (of_study.share == FIFTH)].loss
            x = k + 0.2 * (j - 1)
            label = TITLES[name][0] if k == 0 else None
            ax.plot(np.full(len(losses), x), losses, mark, color=color, alpha=0.45, markersize=4)
            ax.plot(x, losses.mean(), mark, color=color, markersize=9, label=label)
        whole = float(of_study[of_study.strategy == "all_target"].loss.mean())
        label = TITLES["all_target"][0] if k == 0 else None
        ax.plot([k - 0.35, k + 0.35], [whole, whole], color="black", linewidth=1.2, label=label)
    ax.set_xticks(range(len(studies)), list(studies.values()))
    ax.set(ylabel="true events missed in the test (%)", ylim=(0, None))
    ax.legend(fontsize=8, ncols=2)
    return fig
