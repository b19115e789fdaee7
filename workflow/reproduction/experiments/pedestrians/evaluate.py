"""Evaluate errors, ROC curves and used samples of the pedestrian classifiers (rule evaluate_pedestrians)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score, roc_curve

from ermlab.features.hog_crops import HogLayout
from reproduction.claims.results import read_json, repeated, write_results
from reproduction.datasets.daimler_pedestrians import TEST, TRAIN
from reproduction.experiments.pedestrians.crop_versions import BORDERS, VERSIONS, transform_crops
from reproduction.experiments.pedestrians.protocol import (
    CROPPED,
    GROUPED,
    METHODS,
    TITLES,
    error,
    prepared_sets,
)
from reproduction.pipeline.job import Paths, run_stage

#: The methods that are drawn as curves.
ROC_METHODS = ("none", "flip", "all", "all_mean", "ranking")
FALSE_POSITIVE_RATES = np.linspace(0, 1, 501)
#: What results are measured on, as in the protocol of the benchmark: three training and two test sets.
PAIR, TRAINING_SET = "pair", "training set"
#: Arrays that a training rule wrote for one training set.
Scores = Mapping[str, np.ndarray]
#: One value per pair of a training set and a test set, or per training set.
Repeats = dict[str, list[float]]


class HeldOutSets:
    """Labels of the test sets, on which the classifiers of each training set are measured."""

    def __init__(self, labels: Mapping[str, NDArray[np.int64]]):
        self._labels = labels

    def measure(self, learned: Sequence[Scores], key: str, quantity: Callable[..., float]) -> Repeats:
        """Return ``quantity(labels, scores)`` for all pairs of a training set and a test set."""
        return repeated((quantity(labels, scores) for labels, scores in self._pairs(learned, key)), PAIR)

    def mean_roc(self, learned: Sequence[Scores], key: str) -> NDArray[np.float64]:
        """Return the mean ROC curve over the same pairs at `FALSE_POSITIVE_RATES`."""
        return mean_roc(*zip(*self._pairs(learned, key), strict=True), FALSE_POSITIVE_RATES)

    def _pairs(self, learned: Sequence[Scores], key: str) -> list[tuple[NDArray, NDArray]]:
        return [(self._labels[part], scores[f"{key}/{part}"]) for scores in learned for part in TEST]


def main(inputs: Paths, outputs: Paths, *, layout: HogLayout, C: Mapping[str, Sequence[float]]) -> None:
    """Evaluate all methods; the files of the training rules are ordered by training set."""
    sets = prepared_sets(inputs["sets"])
    tests = HeldOutSets({part: sets[part].labels for part in TEST})
    learned, cropped = _load(inputs["scores"]), _load(inputs["controls"])
    grouped = {kind: _load(inputs[kind]) for kind in GROUPED}
    selected = read_json(inputs["selected"])
    keys = {name: f"{name}/{selected[name]}" for name in METHODS}
    errors = {name: tests.measure(learned, key, error) for name, key in keys.items()}
    n_pedestrians = len(sets[TRAIN[0]].pedestrians)
    grouped_eer = by_grouping(grouped, lambda runs, key: tests.measure(runs, key, error))
    write_results(
        Path(outputs["values"]).parent,
        {
            "eer": {name: errors[name] for name in ("none", "flip", "all")},
            "eer_of_all": errors,
            "eer_cropped": {name: tests.measure(cropped, name, error) for name in CROPPED},
            "auc": {name: tests.measure(learned, key, roc_auc_score) for name, key in keys.items()},
            "virtual_used_of_all": {name: _counts(learned, f"used/{key}") for name, key in keys.items()},
            "price": {name: C[method.kind][selected[name]] for name, method in METHODS.items()},
            "grouped_eer": grouped_eer,
            "grouping_rise": grouping_rise(grouped_eer),
            "virtual_share": repeated(
                (
                    scores[f"used/{keys['all']}"] / (len(VERSIONS) * len(sets[part].labels))
                    for part, scores in zip(TRAIN, learned, strict=True)
                ),
                TRAINING_SET,
            ),
            "grouped_auc": by_grouping(grouped, lambda runs, key: tests.measure(runs, key, roc_auc_score)),
            "samples_used": by_grouping(grouped, lambda runs, key: _counts(runs, f"used/{key}")),
            "virtual_used": by_grouping(grouped, lambda runs, key: _counts(runs, f"virtual/{key}")),
            "groups": _group_sizes(grouped["binary"], len),
            "largest_group": _group_sizes(grouped["binary"], max),
            "pedestrians": n_pedestrians,
            "others": len(sets[TRAIN[0]].labels) - n_pedestrians,
            "dimension": layout.dimension,
            "versions": len(VERSIONS),
        },
        datasets={"daimler_pedestrians": read_json(inputs["receipt"])["kind"]},
    )
    curves = {name: tests.mean_roc(learned, keys[name]) for name in ROC_METHODS}
    for name, table in (
        ("roc", pd.DataFrame({"false_positive_rate": FALSE_POSITIVE_RATES, **curves})),
        ("validated", pd.read_csv(inputs["validated"])),
        ("descriptors", pd.read_csv(inputs["descriptors"])),
    ):
        table.to_csv(outputs[name], index=False, lineterminator="\n")
    groups = grouped["binary"][0]["groups"]
    np.savez_compressed(outputs["examples"], **example_crops(sets[TRAIN[0]].pedestrians, groups))


def _load(paths: Sequence[str]) -> list[Scores]:
    loaded = []
    for path in paths:
        with np.load(path) as stored:
            loaded.append(dict(stored))
    return loaded


def _counts(learned: Sequence[Scores], key: str) -> Repeats:
    return repeated((scores[key] for scores in learned), TRAINING_SET)


def by_grouping(
    grouped: Mapping[str, Sequence[Scores]], quantity: Callable[[Sequence[Scores], str], Repeats]
) -> dict[str, list[Repeats]]:
    """Return a quantity by degree of grouping, for representatives alone and with natural transformations."""
    values = {}
    for kind, learned in grouped.items():
        alone = [f"alone/{k}" for k in range(len(learned[0]["groups"]))]
        natural = [key.replace("alone", "natural") for key in alone]
        values[kind] = [quantity(learned, key) for key in alone]
        # Where every group is a single image, training was not repeated with natural transformations.
        values[f"{kind}_natural"] = [
            quantity(learned, key if f"used/{key}" in learned[0] else single)
            for key, single in zip(natural, alone, strict=True)
        ]
    return values


def grouping_rise(errors: Mapping[str, Sequence[Mapping[str, Sequence[float]]]]) -> Repeats:
    """Return the rise of the error from single images to the coarsest groups, with representatives alone."""
    return {
        kind: repeated(np.subtract(errors[kind][-1]["repeats"], errors[kind][0]["repeats"]), PAIR)
        for kind in GROUPED
    }


def _group_sizes(learned: Sequence[Scores], quantity: Callable) -> list[Repeats]:
    """Return a quantity of the sizes of the groups at each degree of grouping."""
    degrees = range(len(learned[0]["groups"]))
    return [
        repeated((quantity(np.bincount(scores["groups"][k])) for scores in learned), TRAINING_SET)
        for k in degrees
    ]


def mean_roc(
    labels: Sequence[ArrayLike], scores: Sequence[ArrayLike], false_positive_rates: ArrayLike
) -> NDArray[np.float64]:
    """Return the mean over tests of the interpolated true positive rate at each false positive rate."""
    if not len(labels) or len(labels) != len(scores):
        raise ValueError(
            f"{len(labels)} sets of labels and {len(scores)} of scores: expected the same number, at least 1"
        )
    curves = [roc_curve(y_true, y_score) for y_true, y_score in zip(labels, scores, strict=True)]
    return np.mean([np.interp(false_positive_rates, fpr, tpr) for fpr, tpr, _ in curves], axis=0)


def growing_group(groups: ArrayLike) -> list[NDArray[np.int64]]:
    """Return the members of one group at each degree: that of the largest group at the second degree.

    ``groups`` has the group of each sample, one row per degree, from fine to coarse.
    """
    groups = np.asarray(groups)
    sample = int(np.argmax(groups[1] == np.bincount(groups[1]).argmax()))
    return [np.flatnonzero(row == row[sample]) for row in groups]


def example_crops(pedestrians: NDArray[np.uint8], groups: NDArray[np.int64]) -> dict[str, NDArray[np.uint8]]:
    """Return the crops of one group as it grows, and the versions of its first member."""
    degrees = growing_group(groups)
    first = pedestrians[degrees[0]]
    return {
        **{f"group_{k}": pedestrians[members] for k, members in enumerate(degrees, start=1)},
        **{
            f"versions_{border}": np.concatenate(
                [transform_crops(first, version, border) for version in VERSIONS]
            )
            for border in BORDERS
        },
    }


def error_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the errors of all methods that learn from every image, and of the cropped controls.

    A difference is that to the method without transformations, paired over training and test sets.
    """
    rows = []
    for errors, suffix in ((values["eer_of_all"], ""), (values["eer_cropped"], "; cut crops")):
        plain = np.array(errors["none"]["repeats"])
        for name in (name for name in TITLES if name in errors):
            repeats = np.array(errors[name]["repeats"])
            row = {
                "method": TITLES[name] + suffix,
                "C": values["price"][name],
                "eer": _mean_sd(repeats),
                "difference": _mean_sd(repeats - plain) if name != "none" else "",
                "lower in": f"{np.sum(repeats < plain)} of {len(plain)}" if name != "none" else "",
                "area under ROC": "",
                "virtual samples used": "",
            }
            if not suffix:
                row["area under ROC"] = f"{np.mean(values['auc'][name]['repeats']):.4f}"
                row["virtual samples used"] = round(np.mean(values["virtual_used_of_all"][name]["repeats"]))
            rows.append(row)
    return pd.DataFrame(rows)


def group_table(values: Mapping[str, Any]) -> pd.DataFrame:
    """Return error and used samples of each kind at each degree of grouping."""
    rows = []
    for name, degrees in values["grouped_eer"].items():
        for k, repeats in enumerate(degrees):
            rows.append(
                {
                    "method": name.replace("_", ", "),
                    "grouping": k + 1,
                    "groups": round(np.mean(values["groups"][k]["repeats"])),
                    "eer": _mean_sd(repeats["repeats"]),
                    "area under ROC": f"{np.mean(values['grouped_auc'][name][k]['repeats']):.4f}",
                    "pedestrians used": round(np.mean(values["samples_used"][name][k]["repeats"])),
                    "virtual samples used": round(np.mean(values["virtual_used"][name][k]["repeats"])),
                }
            )
    return pd.DataFrame(rows)


def describe_beyond(values: Mapping[str, Any]) -> str:
    """Say what the page finds beyond the source: mean over versions, cropped versions, virtual samples."""

    def mean(measured: Mapping[str, Sequence[float]]) -> float:
        return float(np.mean(measured["repeats"]))

    errors = {name: mean(error) for name, error in values["eer_of_all"].items()}
    cropped = {name: mean(error) for name, error in values["eer_cropped"].items()}
    flip, every = (
        {kind: of["none"] - of[name] for kind, of in (("full", errors), ("cut", cropped))}
        for name in ("flip", "all")
    )
    used = mean(values["virtual_used_of_all"]["all"])
    total = values["versions"] * (values["pedestrians"] + values["others"])
    pedestrians = mean(values["samples_used"]["ranking_natural"][-1])
    natural, single = (
        mean(values["virtual_used"][name][k]) for name, k in (("ranking_natural", -1), ("ranking", 0))
    )
    return (
        "- *The mean over versions* instead of the worst case has an error of "
        f"{errors['all_mean']:.1f} against {errors['all']:.1f} % with all versions, and "
        f"{errors['flip_mean']:.1f} against {errors['flip']:.1f} % with flips. The worst case uses "
        f"{used:,.0f} of the {total:,} virtual samples, the mean all of them.\n"
        "- *Repeated pixels.* With cropped versions, where shifts repeat no pixels, the error falls by "
        f"{flip['cut']:.1f} points with flips and by {every['cut']:.1f} with all versions; with repeated "
        f"pixels by {flip['full']:.1f} and {every['full']:.1f}.\n"
        "- *Virtual samples with groups.* The ranking SVM with natural transformations uses "
        f"{pedestrians:.0f} pedestrians at the last grouping, and {natural:,.0f} virtual samples in all; "
        f"without groups {single:,.0f}. The other crops outnumber the pedestrians, and several versions of "
        "each are used."
    )


def curve_table(roc: pd.DataFrame, values: Mapping[str, Any]) -> pd.DataFrame:
    """Return the numbers of all panels of the figure, one row per point: panel, line, x, y and sd."""
    rows = [
        {"panel": "a", "line": name, "x": x, "y": y}
        for name in roc.columns[1:]
        for x, y in zip(roc["false_positive_rate"], roc[name], strict=True)
    ]
    for panel, quantity in (("b", "grouped_eer"), ("c", "samples_used")):
        for name, degrees in values[quantity].items():
            for k, repeats in enumerate(degrees, start=1):
                mean, sd = np.mean(repeats["repeats"]), np.std(repeats["repeats"], ddof=1)
                rows.append({"panel": panel, "line": name, "x": k, "y": mean, "sd": sd})
    return pd.DataFrame(rows)


def _mean_sd(numbers: ArrayLike) -> str:
    spread = f" ± {np.std(numbers, ddof=1):.2f}" if len(numbers) > 1 else ""
    return f"{np.mean(numbers):.2f}{spread}"


if "snakemake" in globals():
    run_stage(main, snakemake)
