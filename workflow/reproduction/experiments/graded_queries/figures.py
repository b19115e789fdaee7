"""Figure and text of the ranking of web pages: quality of each method, and time over the number of grades."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from ermlab._utils.palette import BLUE, GREEN, ORANGE

#: Display names of the methods, in the order in which they are shown.
NAMES = {
    "slack": "ranking SVM, slack",
    "margin": "ranking SVM, margin",
    "ridge": "ridge regression",
    "chance": "random order",
}


def quality_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return mean NDCG@10, half of its 95 % interval over queries, and the chosen strengths of a method."""
    rows = {}
    for method, name in NAMES.items():
        mean, half = _interval(values["ndcg"][method]["repeats"])
        strengths = values["strengths"].get(method, [])
        rows[name] = (mean, half, ", ".join(f"{strength:g}" for strength in strengths))
    return pd.DataFrame.from_dict(
        rows, orient="index", columns=["NDCG@10", "half of the interval", "chosen C or alpha"]
    )


def plot_grades(values: Mapping[str, Any], timings: Mapping[str, Any]) -> Figure:
    """Draw the quality of each method, and the oracle's seconds over the number of grades."""
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.2))
    table = quality_table(values)
    places = np.arange(len(table))[::-1]
    left.errorbar(
        table["NDCG@10"], places, xerr=table["half of the interval"], linestyle="", marker="o", color=BLUE
    )
    left.set_yticks(places, table.index)
    left.set(xlabel="NDCG@10, mean over queries", title="(a)", xlim=(0, None))
    for name, label, color in (
        ("passes_seconds", "one pass for each grade", ORANGE),
        ("halving_seconds", "halving (Algorithm 2)", GREEN),
    ):
        right.plot(values["levels"], 1e3 * np.array(timings[name]), marker="o", color=color, label=label)
    right.set(xscale="log", yscale="log", xlabel="number of grades R", ylabel="milliseconds", title="(b)")
    right.set_xticks(values["levels"], values["levels"])
    right.minorticks_off()
    right.legend()
    return fig


def comparison_text(values: Mapping[str, Any]) -> str:
    """Return how the ranking SVM and ridge regression compare, and which choices are at an edge."""
    qualities = {name: np.array(item["repeats"]) for name, item in values["ndcg"].items()}
    parts = []
    for rescaling in ("slack", "margin"):
        mean, half = _interval(qualities[rescaling] - qualities["ridge"])
        parts.append(f"{mean:+.3f} ± {half:.3f} with {rescaling} rescaling")
    text = (
        f"Ranking SVM minus ridge regression, over {len(qualities['ridge'])} queries with relevant pages: "
        f"{' and '.join(parts)} (95 % intervals)."
    )
    edges = [NAMES[name] for name in values["at_edge"]]
    if edges:
        return f"{text} A chosen strength is at the edge of its grid: {'; '.join(edges)}."
    return f"{text} No chosen strength is at the edge of its grid."


def _interval(repeats: Any) -> tuple[float, float]:
    """Return the mean and half of its 95 % interval by Student's t."""
    repeats = np.asarray(repeats)
    half = stats.t.ppf(0.975, len(repeats) - 1) * repeats.std(ddof=1) / np.sqrt(len(repeats))
    return float(repeats.mean()), float(half)
