"""Sentences of the page, computed from the results."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from scipy.stats import spearmanr

#: Number of classes that are named.
N_NAMED = 4


def area_text(strategies: pd.DataFrame) -> str:
    """Say how the costs of simple strategies depend on the size of the boxes.

    ``strategies`` has one row per class and gamma, with ``box_area``, ``all_reset`` and ``no_reset``.
    """
    sentences = []
    for column, name in (("all_reset", "always resetting"), ("no_reset", "never resetting")):
        correlations = [
            f"{spearmanr(rows['box_area'], rows[column]).statistic:+.2f} for $\\gamma = {gamma:g}$"
            for gamma, rows in strategies.groupby("gamma")
            if rows["box_area"].nunique() > 1 and rows[column].nunique() > 1
        ]
        if correlations:
            sentences.append(
                f"The rank correlation over classes between the size of the boxes and the cost of {name} is "
                f"{', '.join(correlations)}."
            )
    middle = strategies[strategies["gamma"] == 0.5].sort_values("box_area", ascending=False, kind="stable")
    largest = middle.head(N_NAMED)
    sentences.append(
        f"At $\\gamma = 0.5$ the classes with the largest boxes are {', '.join(largest['class'])}: always "
        f"resetting costs {_range(largest['all_reset'])} times the best strategy, never resetting "
        f"{_range(largest['no_reset'])} times. Over all classes the medians are "
        f"{middle['all_reset'].median():.2f} and {middle['no_reset'].median():.2f}."
    )
    return " ".join(sentences)


def _range(values: pd.Series) -> str:
    return f"{values.min():.2f} to {values.max():.2f}"


def searches_text(values: Mapping[str, Any]) -> str:
    """Compare the three searches: splits without a reset, and what a reset can save."""
    published = values["splits_without_reset"]
    sentences = []
    for name, title in (("tight", "With the tight bound"), ("places", "With boxes of whole places")):
        splits = values[name]["splits_without_reset"]
        shares = [f"{100 * mine / theirs:.2g}" for mine, theirs in zip(splits, published, strict=True)]
        excess = max(100 * (ratio - 1) for ratio in values[name]["no_reset_ratio"]["median"])
        sentences.append(
            f"{title} ten detections need {', '.join(shares)} % of the splits of the published search in "
            f"order of $\\gamma$, and never resetting costs up to {excess:.1f} % more than the best "
            "strategy, in the median over classes."
        )
    return " ".join(sentences)


def sample_text(values: Mapping[str, Any], seconds: float) -> str:
    """Say how small the sample is, how good the models are, and how long a detection takes."""
    per_class = values["pairs_present"] / values["classes"]
    return (
        f"A class is in {per_class:.1f} of {values['test_images']} test images on average; costs with the "
        f"object rest on these. Ten boxes cover {100 * values['found_share']:.0f} % of the objects by at "
        f"least half; this is a study of cost, not of detection. A detection takes {1000 * seconds:.3g} ms "
        "with the published bound (median, processor time of one core)."
    )
