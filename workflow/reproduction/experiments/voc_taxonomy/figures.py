"""Figure 5.7: ROC curves of classifiers with and without taxonomies."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, GREY, ORANGE
from reproduction.experiments.voc_taxonomy.evaluate import ALL, METHOD_TITLES

#: The methods of the thesis; the controls are in the table of areas only.
STYLES = {
    "semantic": {"color": ORANGE, "linestyle": "-"},
    "learned": {"color": BLUE, "linestyle": "-"},
    "multiclass": {"color": GREY, "linestyle": "--"},
}


def plot_roc_curves(curves: pd.DataFrame, classes: Sequence[str]) -> Figure:
    """Plot the curves of the published methods for some classes, and the mean over all classes.

    ``curves`` has the columns ``method``, ``class``, ``false_positives`` and ``true_positives``.
    """
    panels = [*classes, ALL]
    fig, axes = plt.subplots(1, len(panels), figsize=(2.0 * len(panels), 2.9), sharex=True, sharey=True)
    for ax, label in zip(axes, panels, strict=True):
        _plot_panel(ax, curves[curves["class"] == label])
        ax.set(title=label, xlabel="false positives")
    axes[0].set_ylabel("true positives")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9)
    return fig


def _plot_panel(ax: Axes, curves: pd.DataFrame) -> None:
    for method, style in STYLES.items():
        curve = curves[curves["method"] == method]
        ax.plot(curve["false_positives"], curve["true_positives"], label=METHOD_TITLES[method], **style)
    ax.plot([0, 1], [0, 1], color="black", linewidth=0.6)
    ax.set(xlim=(0, 1), ylim=(0, 1.01), aspect="equal", xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
