"""Figure of the convex upper bounds of the step loss (T-fig-2.1)."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, ORANGE
from reproduction.plotting.style import PUBLISHED


def plot_rescaled_hinges(curves: pd.DataFrame, deltas: Sequence[float]) -> Figure:
    """Draw step, margin-rescaled and slack-rescaled loss for each ``delta``, side by side.

    ``curves`` has columns ``delta``, ``difference``, ``step``, ``margin`` and ``slack``.
    """
    fig, axes = plt.subplots(1, len(deltas), figsize=(8.6, 3.6), sharex=True, sharey=True)
    for ax, delta in zip(axes, deltas, strict=True):
        group = curves[curves["delta"] == delta]
        wrong, right = group[group["difference"] < 0], group[group["difference"] >= 0]
        for part, label in ((wrong, "scaled step"), (right, None)):
            ax.plot(part["difference"], part["step"], color="black", linewidth=2.2, label=label)
        ax.plot(group["difference"], group["margin"], color=BLUE, label="margin rescaling")
        ax.plot(group["difference"], group["slack"], color=ORANGE, linestyle="--", label="slack rescaling")
        ax.axvline(0, **PUBLISHED)
        ax.plot(0, delta, "o", color="black", markersize=6, zorder=5)
        ax.annotate(
            rf"both equal $\Delta={delta:g}$",
            (0, delta),
            xytext=(10, 12),
            textcoords="offset points",
            fontsize=9,
        )
        ax.set_title(rf"$\Delta = {delta:g}$")
        ax.set_xlabel("score difference $m$")
    axes[0].set_ylabel("loss")
    axes[0].set_xlim(-2, 3)
    axes[0].set_ylim(-0.15, 5)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig
