"""Table 5.4 and figure 5.9: losses on hierarchical text, and the time of a cutting-plane iteration."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, GREEN, ORANGE
from reproduction.experiments.text_taxonomy.protocol import CONTROLS, LOSSES
from reproduction.experiments.text_taxonomy.protocol import PUBLISHED as COLUMNS
from reproduction.plotting.style import PUBLISHED

#: The four covariances of the table, then the controls.
TITLES = {
    "identity": "I",
    "learned": "B*",
    "semantic_centred": "H V D* V' H",
    "semantic": "V D* V'",
    "learned_topology": "topology of B*, lengths D*",
    "permuted": "V D* V', classes permuted",
}
LOSS_TITLES = {"zero_one": "0-1 loss", "taxonomic": "taxonomic loss"}
FORM_STYLES = {
    "kronecker": {"color": BLUE, "marker": "o", "label": "Kronecker form"},
    "cached": {"color": ORANGE, "marker": "^", "label": "cached kernel values"},
}


def loss_table(values: Mapping, published: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """Return published and our losses, a row a loss and covariance; those of the controls last."""
    rows = []
    for loss in LOSSES:
        ours = dict(zip(COLUMNS, values["loss"][loss], strict=True)) | values["controls"][loss]
        for place, name in enumerate(COLUMNS + CONTROLS):
            of_splits = np.array(ours[name]["per_seed"])
            rows.append(
                {
                    "loss": LOSS_TITLES[loss],
                    "covariance": TITLES[name],
                    "published": published[loss][place] if name in COLUMNS else np.nan,
                    "ours": of_splits.mean(),
                    "spread": of_splits.std(ddof=1) if len(of_splits) > 1 else np.nan,
                    "validation": np.mean(values["validation"][loss][name]["per_seed"]),
                    "C": np.median(values["price"][loss][name]),
                }
            )
    return pd.DataFrame(rows)


def plot_losses(values: Mapping, published: Mapping[str, Sequence[float]]) -> Figure:
    """Plot the loss of each split and their mean for each covariance, a panel a loss.

    The published values are of another corpus: only their order can be compared.
    """
    fig, axes = plt.subplots(1, len(LOSSES), figsize=(9.5, 3.4), sharey=True)
    names = COLUMNS + CONTROLS
    for ax, loss in zip(axes, LOSSES, strict=True):
        ours = dict(zip(COLUMNS, values["loss"][loss], strict=True)) | values["controls"][loss]
        for row, name in enumerate(names):
            splits = ours[name]["per_seed"]
            color = BLUE if name in COLUMNS else GREEN
            ax.plot(splits, np.full(len(splits), row), "o", color=color, alpha=0.4, markersize=4)
            ax.plot([np.mean(splits)], [row], "|", color=color, markersize=15, markeredgewidth=2.5)
        marker = {"marker": "x", "linestyle": "", "color": PUBLISHED["color"], "markersize": 6}
        ax.plot(published[loss], range(len(COLUMNS)), **marker, label="published, of another corpus")
        ax.set(xlabel=f"mean {LOSS_TITLES[loss]}", yticks=range(len(names)))
        ax.set_yticklabels([TITLES[name] for name in names])
    axes[0].invert_yaxis()
    handles = [
        plt.Line2D([], [], color=BLUE, marker="o", linestyle="", label="ours, a dot a split"),
        plt.Line2D([], [], color=GREEN, marker="o", linestyle="", label="controls"),
        *axes[0].get_legend_handles_labels()[0],
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=9)
    return fig


def plot_iteration_times(times: pd.DataFrame) -> Figure:
    """Draw figure 5.9: seconds of each iteration, and as a share of the first one as published."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
    for form, style in FORM_STYLES.items():
        rows = times[times["form"] == form]
        shown = {**style, "markersize": 3, "linewidth": 1.2}
        left.plot(rows["iteration"], rows["seconds"], **shown)
        right.plot(rows["iteration"], rows["seconds"] / rows["seconds"].iloc[0], **shown)
    left.set(yscale="log", ylabel="seconds of the processor")
    right.set(ylabel="time over that of the first iteration", ylim=(0, None))
    for ax in (left, right):
        ax.set(xlabel="cutting-plane iteration")
    _name_lines(left)
    return fig


def _name_lines(ax: Axes) -> None:
    ax.legend(loc="center right", fontsize=9)


def time_table(values: Mapping, timings: Mapping[str, float]) -> pd.Series:
    """Return the sizes and numbers behind figure 5.9."""
    return pd.Series(
        {
            "posts": f"{values['timed_posts']}",
            "iterations": f"{values['timed_iterations']}",
            "growth an iteration, Kronecker form": f"{100 * timings['kronecker_slope']:.2f} %",
            "growth an iteration, cached kernel values": f"{100 * timings['cached_slope']:.2f} %",
            "cached over Kronecker, late iterations": f"{timings['cached_over_kronecker']:.0f}",
        },
        name="",
    )
