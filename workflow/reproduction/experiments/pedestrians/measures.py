"""Numbers of the pedestrian experiment: curves, areas, example groups, and the tables of its page."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_curve

#: What the methods are called on the page.
TITLES = {
    "none": "no transformation",
    "flip": "flips, worst case",
    "all": "all 18, worst case",
    "flip_mean": "flips, mean",
    "all_mean": "all 18, mean",
    "ranking_none": "ranking, no transformation",
    "ranking": "ranking, all 18, worst case",
}


def mean_roc(
    labels: Sequence[ArrayLike], scores: Sequence[ArrayLike], false_rates: ArrayLike
) -> NDArray[np.float64]:
    """Return the mean over tests of the detection rate at each rate of false positives, on straight lines."""
    if not len(labels) or len(labels) != len(scores):
        raise ValueError(
            f"{len(labels)} sets of labels and {len(scores)} of scores: expected as many, at least 1"
        )
    curves = [roc_curve(one, some) for one, some in zip(labels, scores, strict=True)]
    return np.mean([np.interp(false_rates, wrong, found) for wrong, found, _ in curves], axis=0)


def growing_group(groups: ArrayLike) -> list[NDArray[np.int64]]:
    """Return the group of one sample at each degree of grouping: that which grows most at the second degree.

    ``groups`` holds the group of each sample, one row a degree, from fine to coarse.
    """
    groups = np.asarray(groups)
    sample = int(np.argmax(groups[1] == np.bincount(groups[1]).argmax()))
    return [np.flatnonzero(row == row[sample]) for row in groups]


def error_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the errors of all methods that learn from every image, and their prices.

    A difference is that to the method without transformations, paired over training and test sets.
    """
    plain = np.array(values["eer_of_all"]["none"]["per_seed"])
    cropped = np.array(values["eer_cropped"]["none"]["per_seed"])
    rows = []
    for name, title in TITLES.items():
        errors = np.array(values["eer_of_all"][name]["per_seed"])
        rows.append(
            {
                "method": title,
                "C": values["price"][name],
                "eer": _plus_minus(errors),
                "difference": _plus_minus(errors - plain) if name != "none" else "",
                "lower in": f"{np.sum(errors < plain)} of {len(plain)}" if name != "none" else "",
                "area under ROC": f"{np.mean(values['auc'][name]['per_seed']):.4f}",
                "virtual samples used": round(np.mean(values["virtual_used_of_all"][name]["per_seed"])),
            }
        )
    for name in (name for name in TITLES if name in values["eer_cropped"]):
        errors = np.array(values["eer_cropped"][name]["per_seed"])
        rows.append(
            {
                "method": f"{TITLES[name]}; cut crops",
                "C": values["price"][name],
                "eer": _plus_minus(errors),
                "difference": _plus_minus(errors - cropped) if name != "none" else "",
                "lower in": f"{np.sum(errors < cropped)} of {len(cropped)}" if name != "none" else "",
                "area under ROC": "",
                "virtual samples used": "",
            }
        )
    return pd.DataFrame(rows)


def group_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return error and samples used of each kind at each degree of grouping."""
    rows = []
    for name, degrees in values["grouped_eer"].items():
        for k, repeats in enumerate(degrees):
            rows.append(
                {
                    "method": name.replace("_", ", "),
                    "grouping": k + 1,
                    "groups": round(np.mean(values["groups"][k]["per_seed"])),
                    "eer": _plus_minus(np.array(repeats["per_seed"])),
                    "area under ROC": f"{np.mean(values['grouped_auc'][name][k]['per_seed']):.4f}",
                    "pedestrians used": round(np.mean(values["samples_used"][name][k]["per_seed"])),
                    "virtual samples used": round(np.mean(values["virtual_used"][name][k]["per_seed"])),
                }
            )
    return pd.DataFrame(rows)


def _plus_minus(numbers: NDArray[np.float64]) -> str:
    spread = f" ± {np.std(numbers, ddof=1):.2f}" if len(numbers) > 1 else ""
    return f"{np.mean(numbers):.2f}{spread}"
