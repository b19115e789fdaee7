"""ROC curves of classifiers with and without taxonomies, and their areas (T-fig-5.7)."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, GREEN, GREY, ORANGE, PINK

#: Titles and looks; the first three are those of the thesis, the others controls.
METHODS = {
    "semantic": ("semantic taxonomy", ORANGE, "-"),
    "learned": ("learned taxonomy", BLUE, "-"),
    "multiclass": ("no taxonomy", GREY, "--"),
    "learned_topology": ("learned topology, lengths by eq. 5.34", GREEN, ":"),
    "permuted": ("learned tree, classes shuffled", PINK, ":"),
}
PUBLISHED = ("semantic", "learned", "multiclass")
ALL = "all classes"
FITS = {
    "projection": "nearest tree (3-approximation)",
    "neighbour_joining": "neighbour joining",
    "average_linkage": "average linkage",
}


def plot_roc_curves(curves: pd.DataFrame, classes: Sequence[str]) -> Figure:
    """Draw the curves of the published methods for some classes, and the mean over all classes.

    ``curves`` has the columns ``method``, ``class``, ``false_positives`` and ``true_positives``.
    """
    panels = [*classes, ALL]
    fig, axes = plt.subplots(1, len(panels), figsize=(2.0 * len(panels), 2.9), sharex=True, sharey=True)
    for ax, label in zip(axes, panels, strict=True):
        _draw_curves(ax, curves[curves["class"] == label])
        ax.set(title=label, xlabel="false positives")
    axes[0].set_ylabel("true positives")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9)
    return fig


def area_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the mean area over classes of each method, with its spread over the orders of the roles."""
    rows = []
    learned = np.array(values["mean_auc"]["learned"]["per_seed"])
    for name, (title, _, _) in METHODS.items():
        areas = np.array(values["mean_auc"][name]["per_seed"])
        better = "" if name == "learned" else f"{(learned > areas).sum()} of {len(areas)}"
        rows.append(
            {
                "classifier": title,
                "mean area": areas.mean(),
                "least": areas.min(),
                "largest": areas.max(),
                "orders in which the learned taxonomy is better": better,
                "C": ", ".join(f"{C:g}" for C in values["C"][name]),
            }
        )
    return pd.DataFrame(rows)


def topology_table(by_fit: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """Return how far the learned trees are from the semantic one, and how far shuffled ones."""
    return pd.DataFrame(
        {
            "fitted by": FITS[name],
            "distance": row["distance"],
            "distance, classes shuffled": row["permuted"],
            "shuffled trees at least as close (%)": 100 * row["permuted_as_close"],
        }
        for name, row in by_fit.items()
    )


def _draw_curves(ax: Axes, curves: pd.DataFrame) -> None:
    for name in PUBLISHED:
        title, color, line = METHODS[name]
        curve = curves[curves["method"] == name]
        ax.plot(curve["false_positives"], curve["true_positives"], line, color=color, label=title)
    ax.plot([0, 1], [0, 1], color="black", linewidth=0.6)
    ax.set(xlim=(0, 1), ylim=(0, 1.01), aspect="equal", xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
