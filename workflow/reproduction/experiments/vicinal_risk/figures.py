"""Figure of the construction that bounds the vicinal risk (E-fig-4)."""

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, GREEN, GREY, ORANGE, PINK

_BOUNDS = {
    "plain": ("plain supremum", GREY, "-."),
    "step": ("lemma 1, unit steps", ORANGE, "-"),
    "square": (r"lemma 1, multiples of $t^2$", GREEN, "-"),
    "scaled_step": ("scaled steps (not ordered)", PINK, "--"),
}


def plot_vicinal_bound(example: pd.DataFrame, spreads: pd.DataFrame, deviation: float) -> Figure:
    """Draw the example of figure 4, its losses (eq. 11), and the bounds over the spread of P.

    ``example`` has one row per transformation, ``spreads`` one row per standard deviation of P;
    ``deviation`` is that of the example.
    """
    fig, axes = plt.subplots(1, 3, figsize=(11, 3.7), width_ratios=(1, 1, 1.1))
    _plot_construction(axes[0], example)
    _plot_losses(axes[1], example)
    _plot_spreads(axes[2], spreads, deviation)
    return fig


def _plot_construction(ax: Axes, example: pd.DataFrame) -> None:
    t = example["t"]
    ax.fill_between(t, example["density"], color=GREY, alpha=0.25, linewidth=0, label="density of $P$")
    ax.plot(t, example["loss"], color=BLUE, label=r"$\Delta_{vr}(t)$")
    ax.plot(t, example["step_member"], color=ORANGE, label="attaining step")
    ax.plot(t, example["square_member"], color=GREEN, label=r"attaining multiple of $t^2$")
    ax.set(xlim=(-2.6, 2.6), ylim=(0, 2), xlabel="transformation $t$", ylabel="loss, density")
    ax.set_title("(a) members that attain the bounds")
    legend = ax.legend(loc="upper center", fontsize=8, ncols=2, columnspacing=1, frameon=True)
    legend.get_frame().set(edgecolor="none", alpha=1)


def _plot_losses(ax: Axes, example: pd.DataFrame) -> None:
    t = example["t"]
    ax.plot(t, example["step"], color=ORANGE, label="unit steps")
    ax.plot(t, example["square"], color=GREEN, label=r"multiples of $t^2$")
    ax.plot(t, example["scaled_step"], color=PINK, linestyle="--", label="scaled steps")
    risk = float((example["loss"] * example["density"]).sum() / example["density"].sum())
    ax.axhline(risk, color=BLUE, linewidth=1.2)
    ax.annotate(
        f"vicinal risk\n{risk:.3f}",
        (-0.4, risk),
        xytext=(0, 4),
        textcoords="offset points",
        color=BLUE,
        fontsize=9,
    )
    ax.set(xlim=(-2.6, 2.6), ylim=(0, 0.55), xlabel="transformation $t$", ylabel=r"$\Delta(t)$")
    ax.set_title(r"(b) eq. (11): the supremum is the bound")
    ax.legend(loc="upper right", fontsize=8)


def _plot_spreads(ax: Axes, spreads: pd.DataFrame, deviation: float) -> None:
    ax.plot(spreads["deviation"], spreads["risk"], color=BLUE, linewidth=2.6, label="vicinal risk")
    for name, (label, color, line) in _BOUNDS.items():
        ax.plot(spreads["deviation"], spreads[name], color=color, linestyle=line, label=label)
    ax.axvline(deviation, color="black", linestyle=":", linewidth=1.2)
    ax.annotate("as in figure 4", (deviation, 2), xytext=(4, 0), textcoords="offset points", fontsize=9)
    ax.set(yscale="log", ylim=(1e-3, 4), xlabel="standard deviation of $P$", ylabel="value")
    ax.set_title("(c) bounds as $P$ spreads")
    ax.legend(loc="lower right", fontsize=8)
