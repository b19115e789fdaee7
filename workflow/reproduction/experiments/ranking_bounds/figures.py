"""Figure of the generalization bounds of ranking (T-thm-3.2)."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.ticker import NullLocator

from ermlab._utils.palette import BLUE, GREEN, GREY, ORANGE
from reproduction.plotting.style import PUBLISHED

_RESCALINGS = {"slack": (ORANGE, "o"), "margin": (BLUE, "s")}


def plot_ranking_bounds(
    excess: pd.DataFrame, ratios: pd.DataFrame, changes: pd.DataFrame, measured: pd.DataFrame
) -> Figure:
    """Plot the ranking bounds over n, their ratio over sigma, and measured changes of scores and risks.

    Parameters
    ----------
    excess : DataFrame
        Columns ``n``, ``sigma``, ``slack``, ``margin``: what each bound adds to the empirical risk.
    ratios : DataFrame
        Columns ``sigma``, ``published``, ``tight``: slack bound over margin bound.
    changes : DataFrame
        Columns ``rescaling``, ``regularization``, ``ratio``: measured change of scores over its bound.
    measured : DataFrame
        Columns ``rescaling``, ``n``, ``bound``, ``quantile``: bound, and quantile of the measured excess.
    """
    fig, axes = plt.subplots(2, 2, figsize=(9, 7.2))
    _plot_excess(axes[0, 0], excess)
    _plot_ratio(axes[0, 1], ratios)
    _plot_changes(axes[1, 0], changes)
    _plot_measured(axes[1, 1], measured)
    return fig


def _plot_excess(ax: Axes, excess: pd.DataFrame) -> None:
    for (sigma, group), width in zip(excess.groupby("sigma"), (1.0, 1.8, 2.8), strict=True):
        ax.plot(
            group["n"], group["slack"], color=ORANGE, linewidth=width, label=rf"slack, $\sigma={sigma:g}$"
        )
    # With this much weight on stability the margin bounds of all sigma lie on one line.
    margin = excess[excess["sigma"] == 1]
    ax.plot(margin["n"], margin["margin"], color=BLUE, linestyle="--", label=r"margin, $\sigma \leq 2$")
    ax.axhline(1, **PUBLISHED)
    ax.annotate(
        r"below: informative for $\sigma=1$",
        (excess["n"].min(), 1),
        xytext=(2, -12),
        textcoords="offset points",
        fontsize=8,
    )
    ax.set(xscale="log", yscale="log", xlabel="sample size $n$", ylabel="bound minus empirical risk")
    ax.set_title("(a) eqs. 3.25 and 3.26")
    ax.legend(fontsize=8, loc="upper right")


def _plot_ratio(ax: Axes, ratios: pd.DataFrame) -> None:
    ax.plot(ratios["sigma"], ratios["published"], color="black", label="published constants")
    ax.plot(ratios["sigma"], ratios["tight"], color=GREEN, linestyle="--", label="tight constants")
    ax.axhline(1, color=GREY, linewidth=0.8)
    for place, text in ((1, r"$1$"), (np.sqrt(2), r"$\sqrt{2}$")):
        ax.axvline(place, **PUBLISHED)
        ax.annotate(text, (place, 0.04), xytext=(4, 0), textcoords="offset points")
    ax.set(
        xscale="log",
        yscale="log",
        xlabel=r"largest output loss $\sigma$",
        ylabel="slack bound / margin bound",
    )
    ax.set_xticks([0.25, 0.5, 1, 2, 4], ["¼", "½", "1", "2", "4"])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_title("(b) which bound is smaller")
    _opaque(ax.legend(fontsize=8, loc="upper left", frameon=True))


def _plot_changes(ax: Axes, changes: pd.DataFrame) -> None:
    for rescaling, (color, marker) in _RESCALINGS.items():
        group = changes[changes["rescaling"] == rescaling]
        ax.plot(
            group["regularization"],
            group["ratio"],
            marker,
            color=color,
            markersize=3,
            alpha=0.5,
            label=rescaling,
        )
        tight = 0.25 if rescaling == "slack" else 0.5
        ax.axhline(tight, color=color, linestyle="--", linewidth=1.2)
    ax.axhline(1, **PUBLISHED)
    ax.annotate(
        "published bound", (changes["regularization"].min(), 1), xytext=(0, 3), textcoords="offset points"
    )
    ax.set(xscale="log", yscale="log", ylim=(3e-4, 2), xlabel=r"regularization strength $\lambda$")
    ax.set_ylabel(r"change of scores / $\nu(n)$")
    ax.set_title("(c) one training example exchanged")
    title = "dashed: tight bound"
    _opaque(ax.legend(fontsize=8, loc="lower right", title=title, title_fontsize=8, frameon=True))


def _plot_measured(ax: Axes, measured: pd.DataFrame) -> None:
    for (rescaling, (color, marker)), shift in zip(_RESCALINGS.items(), (0.88, 1.14), strict=True):
        group = measured[measured["rescaling"] == rescaling]
        ratio = group["quantile"] / group["bound"]
        ax.plot(shift * group["n"], ratio, marker, color=color, markersize=3, alpha=0.5, label=rescaling)
    ax.axhline(1, **PUBLISHED)
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.annotate("published bound", (measured["n"].min(), 1), xytext=(0, 3), textcoords="offset points")
    ax.set(xscale="log", xlabel="sample size $n$", ylabel="95 % quantile of the measured excess / bound")
    ax.set_ylim(top=1.15)
    ax.set_title("(d) rankers trained on random samples")
    ax.legend(fontsize=8, loc="center right")


def _opaque(legend: Legend) -> None:
    """Hide the curves behind a legend."""
    legend.get_frame().set(edgecolor="none", alpha=1)
