"""Figure of the bound of the partial risk (C-thm-1.1)."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, GREEN, GREY, ORANGE
from reproduction.plotting.style import PUBLISHED


def plot_partial_bound(curves: pd.DataFrame) -> Figure:
    """Draw the bound of theorem 1.1, its repaired form and the observed values against the sample size.

    Parameters
    ----------
    curves : DataFrame
        Columns ``n``, ``published``, ``repaired``, ``largest_possible``, ``deviation_max`` and
        ``excess_max``, each the largest over the simulated problems.
    """
    fig, ax = plt.subplots(figsize=(7.2, 4.4))
    n = curves["n"]
    ax.fill_between(n, curves["largest_possible"], 1e4, color=GREY, alpha=0.15, linewidth=0)
    ax.annotate("no information: the loss cannot be larger", (2e8, 4.5), ha="right", fontsize=9, color=GREY)
    ax.plot(n, curves["published"], label="theorem 1.1 as published", **PUBLISHED | {"linewidth": 2})
    ax.plot(n, curves["repaired"], color=GREEN, label="with every step repaired")
    ax.plot(
        n,
        2 * curves["deviation_max"],
        color=ORANGE,
        marker="s",
        markersize=4,
        label="2 x largest deviation seen",
    )
    seen = curves[curves["excess_max"] > 0]
    ax.plot(
        seen["n"], seen["excess_max"], color=BLUE, marker="o", markersize=4, label="largest excess risk seen"
    )
    ax.set(xscale="log", yscale="log", ylim=(3e-5, 1e3), xlabel="training samples $N$", ylabel="excess risk")
    ax.legend(fontsize=9, loc="lower left")
    return fig
