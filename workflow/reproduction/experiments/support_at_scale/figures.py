"""Figure of the training time of joint kernel support estimation (T-sec-3.1.4)."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ermlab._utils.palette import BLUE, GREY, ORANGE

SOLVERS = {
    "two_class": ("two-class SVM, online", BLUE, "o"),
    "libsvm": ("one-class SVM, libSVM", ORANGE, "s"),
}


def plot_training_times(times: pd.DataFrame) -> Figure:
    """Plot processor seconds over the number of pairs, with a line of linear growth.

    ``times`` has columns ``solver``, ``pairs`` and ``seconds``.
    """
    fig, ax = plt.subplots(figsize=(5.5, 3.6))
    for solver, (label, color, marker) in SOLVERS.items():
        rows = times[times["solver"] == solver]
        ax.plot(rows["pairs"], rows["seconds"], marker=marker, color=color, label=label)
    online = times[times["solver"] == "two_class"]
    ends = np.array([times["pairs"].min(), times["pairs"].max()])
    rate = np.median(online["seconds"] / online["pairs"])
    ax.plot(ends, rate * ends, color=GREY, linestyle="--", linewidth=1.2, label="proportional to the pairs")
    ax.set(xscale="log", yscale="log", xlabel="training pairs", ylabel="processor seconds")
    ax.legend(fontsize=8)
    return fig
