"""Figure and table of the Weisfeiler-Lehman kernel: accuracies on benchmarks, and measured times."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, GREEN

#: Accuracies of the same kernel in 10-fold cross-validation, with their spread, in percent.
PUBLISHED = {
    "Shervashidze et al. (2011)": {"MUTAG": (82.05, 0.36), "ENZYMES": (52.22, 1.26)},
    "Yanardag and Vishwanathan (2015)": {"MUTAG": (80.72, 3.00), "ENZYMES": (53.15, 1.14)},
    "Kriege et al. (2016)": {"MUTAG": (86.0, 1.7), "ENZYMES": (53.1, 1.1)},
}


def plot_patterns(values: Mapping[str, Any], timings: Mapping[str, Any]) -> Figure:
    """Draw accuracies beside published ones, and seconds against the number of edges and the height."""
    fig, (left, middle, right) = plt.subplots(1, 3, figsize=(10, 3.2))
    _plot_accuracies(left, values)
    _plot_times(middle, timings["edges"], timings["seconds_by_edges"], "edges")
    _plot_times(right, timings["heights"], timings["seconds_by_height"], "height h")
    middle.set(xscale="log", yscale="log")
    right.set(ylim=(0, None))
    return fig


def _plot_accuracies(ax: Axes, values: Mapping[str, Any]) -> None:
    names = list(PUBLISHED["Shervashidze et al. (2011)"])
    for i, (source, numbers) in enumerate(PUBLISHED.items()):
        means, spreads = zip(*(numbers[name] for name in names), strict=True)
        places = np.arange(len(names)) + 0.12 * (i + 1)
        ax.errorbar(places, means, spreads, linestyle="", marker="_", color=str(0.2 * (i + 1)), label=source)
    ours = {name: row["repeats"] for name, row in values["accuracy"].items() if name in names}
    if ours:
        places = [names.index(name) for name in ours]
        spreads = [np.std(repeats) for repeats in ours.values()]
        means = [np.mean(repeats) for repeats in ours.values()]
        ax.errorbar(places, means, spreads, linestyle="", marker="o", color=GREEN, label="ours")
    ax.set_xticks(range(len(names)), names)
    ax.set(ylabel="accuracy, percent", xlim=(-0.3, len(names) - 0.3), ylim=(40, 95))
    ax.legend(fontsize=7)


def _plot_times(ax: Axes, x: Sequence[float], seconds: Sequence[float], label: str) -> None:
    ax.plot(x, seconds, color=BLUE, marker="o", markersize=4)
    ax.set(xlabel=label, ylabel="seconds of the processor")


def accuracy_rows(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return published accuracies and ours, with their spread, one row per source and data set."""
    rows = [
        {"source": source, "data": name, "accuracy": mean, "spread": spread}
        for source, numbers in PUBLISHED.items()
        for name, (mean, spread) in numbers.items()
    ]
    rows += [
        {
            "source": "ours",
            "data": name,
            "accuracy": np.mean(row["repeats"]),
            "spread": np.std(row["repeats"]),
        }
        for name, row in values["accuracy"].items()
    ]
    return pd.DataFrame(rows)
