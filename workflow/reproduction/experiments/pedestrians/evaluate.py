"""Errors, ROC curves and samples used of the pedestrian classifiers (rule evaluate_pedestrians)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from reproduction.claims.results import over_seeds, read_json, write_results
from reproduction.datasets.daimler_pedestrians import TEST, TRAIN
from reproduction.experiments.pedestrians.crop_versions import BORDERS, VERSIONS, transform_crops
from reproduction.experiments.pedestrians.measures import growing_group, mean_roc
from reproduction.experiments.pedestrians.protocol import (
    CROPPED,
    GROUPED,
    METHODS,
    PreparedSet,
    error,
    layout_of,
)
from reproduction.pipeline.job import job

#: The methods that are drawn as curves.
ROC_METHODS = ("none", "flip", "all", "all_mean", "ranking")
FALSE_RATES = np.linspace(0, 1, 501)
Scores = Mapping[str, np.ndarray]


class Tests:
    """The test sets, and what is measured on each by what each training set has taught."""

    def __init__(self, labels: Mapping[str, np.ndarray]):
        self._labels = labels

    def measure(self, learned: Sequence[Scores], key: str, quantity: Callable) -> dict[str, list[float]]:
        """Return a quantity over all pairs of a training set and a test set."""
        return over_seeds(
            quantity(self._labels[part], scores[f"{key}/{part}"]) for scores in learned for part in TEST
        )

    def curve(self, learned: Sequence[Scores], key: str) -> np.ndarray:
        """Return the mean ROC curve over the same pairs."""
        pairs = [(self._labels[part], scores[f"{key}/{part}"]) for scores in learned for part in TEST]
        return mean_roc(*zip(*pairs, strict=True), FALSE_RATES)


def main(
    receipt: str,
    folders: Mapping[str, str],
    folder: Path,
    *,
    files: Mapping[str, Sequence[str]],
    prices: Mapping[str, Sequence[float]],
    descriptor: Mapping[str, Any],
) -> None:
    """Evaluate all methods; ``files`` are those of the training rules."""
    layout = layout_of(descriptor)
    sets = {part: PreparedSet(path, layout) for part, path in folders.items()}
    tests = Tests({part: sets[part].labels for part in TEST})
    learned, cropped = _load(files["scores"]), _load(files["controls"])
    grouped = {kind: _load(files[kind]) for kind in GROUPED}
    chosen = read_json(files["prices"][0])
    keys = {name: f"{name}/{chosen[name]}" for name in METHODS}
    errors = {name: tests.measure(learned, key, error) for name, key in keys.items()}
    write_results(
        folder,
        {
            "eer": {name: errors[name] for name in ("none", "flip", "all")},
            "eer_of_all": errors,
            "eer_cropped": {name: tests.measure(cropped, name, error) for name in CROPPED},
            "auc": {name: tests.measure(learned, key, roc_auc_score) for name, key in keys.items()},
            "virtual_used_of_all": {name: _count(learned, f"used/{key}") for name, key in keys.items()},
            "price": {name: prices[method.kind][chosen[name]] for name, method in METHODS.items()},
            "grouped_eer": _over_grouping(grouped, lambda some, key: tests.measure(some, key, error)),
            "grouped_auc": _over_grouping(grouped, lambda some, key: tests.measure(some, key, roc_auc_score)),
            "samples_used": _over_grouping(grouped, lambda some, key: _count(some, f"used/{key}")),
            "virtual_used": _over_grouping(grouped, lambda some, key: _count(some, f"virtual/{key}")),
            "groups": _group_sizes(grouped["binary"], len),
            "largest_group": _group_sizes(grouped["binary"], max),
            "pedestrians": len(sets[TRAIN[0]].pedestrians),
            "others": len(sets[TRAIN[0]].labels) - len(sets[TRAIN[0]].pedestrians),
            "dimension": layout.dimension,
            "versions": len(VERSIONS),
        },
        datasets={"daimler_pedestrians": read_json(receipt)["kind"]},
        timings={
            name: sum(sum(read_json(path).values()) for path in paths)
            for name, paths in files.items()
            if name.endswith("seconds")
        },
    )
    curves = {name: tests.curve(learned, keys[name]) for name in ROC_METHODS}
    pd.DataFrame({"false_positive_rate": FALSE_RATES, **curves}).to_csv(
        folder / "roc.csv", index=False, lineterminator="\n"
    )
    for name in ("validated", "descriptors"):
        table = pd.read_csv(files[name][0])
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")
    with (folder / "examples.npz").open("wb") as file:
        np.savez_compressed(file, **_examples(sets[TRAIN[0]].pedestrians, grouped["binary"][0]["groups"]))


def _load(paths: Sequence[str]) -> list[Scores]:
    loaded = []
    for path in paths:
        with np.load(path) as stored:
            loaded.append(dict(stored))
    return loaded


def _count(learned: Sequence[Scores], key: str) -> dict[str, list[float]]:
    return over_seeds(scores[key] for scores in learned)


def _over_grouping(grouped: Mapping[str, Sequence[Scores]], quantity: Callable) -> dict[str, list]:
    """Return a quantity for each kind, with representatives alone and with natural transformations."""
    values = {}
    for kind, learned in grouped.items():
        degrees = range(len(learned[0]["groups"]))
        alone = [f"alone/{k}" for k in degrees]
        # Without groups there is nothing natural to add.
        natural = [key if (key := f"natural/{k}") in _names(learned[0]) else alone[k] for k in degrees]
        values[kind] = [quantity(learned, key) for key in alone]
        values[f"{kind}_natural"] = [quantity(learned, key) for key in natural]
    return values


def _names(scores: Scores) -> set[str]:
    return {key.removeprefix("used/") for key in scores if key.startswith("used/")}


def _group_sizes(learned: Sequence[Scores], quantity: Callable) -> list[dict[str, list[float]]]:
    degrees = range(len(learned[0]["groups"]))
    return [over_seeds(quantity(np.bincount(scores["groups"][k])) for scores in learned) for k in degrees]


def _examples(pedestrians: np.ndarray, groups: np.ndarray) -> dict[str, np.ndarray]:
    """Return crops of one group as it grows, and the versions of its first member."""
    members = growing_group(groups)
    first = pedestrians[members[0]]
    return {
        **{f"group_{k + 1}": pedestrians[one] for k, one in enumerate(members)},
        **{
            f"versions_{border}": np.concatenate(
                [transform_crops(first, version, border) for version in VERSIONS]
            )
            for border in BORDERS
        },
    }


if "snakemake" in globals():
    with job(snakemake):
        named = {
            name: [paths] if isinstance(paths, str) else list(paths)
            for name, paths in snakemake.input.items()
        }
        main(
            snakemake.input.receipt,
            {part: named.pop(f"set_{part}")[0] for part in TRAIN + TEST},
            Path(snakemake.output.values).parent,
            files=named,
            prices=snakemake.params.prices,
            descriptor=snakemake.params.descriptor,
        )
