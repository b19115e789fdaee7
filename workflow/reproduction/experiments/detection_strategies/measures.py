"""Costs of reset strategies: tables 5.1 and 5.2, figures 5.3 and 5.4 of the thesis.

Measured splits have the shape ``(gammas, classes, images, n, n)``: for each image the costs ``C[i, j]`` of
`ermlab.detection.strategy`. ``present`` is ``(classes, images)``: whether the image contains the class.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.detection import best_strategy, strategy_cost

STATISTICS = {"min": np.min, "median": np.median, "max": np.max}


def compare_strategies(costs: NDArray[np.float64]) -> pd.DataFrame:
    """Return the best strategy of each table of costs ``(tables, n, n)`` and the costs of simple strategies.

    Columns: ``reset`` (digits of the best strategy), ``resets`` (number of resets), ``reset_first`` (whether
    all resets come before any kept queue), ``all_reset``, ``no_reset`` and ``best_reset_first`` (costs of
    always resetting, of never resetting and of the best strategy that resets first, relative to the best).
    """
    rows = []
    for table in costs:
        best, later = best_strategy(table), len(table) - 1
        reset_first = [strategy_cost(table, "1" * k + "0" * (later - k)) for k in range(later + 1)]
        rows.append(
            {
                "reset": best.reset,
                "resets": best.reset.count("1"),
                "reset_first": "01" not in best.reset,
                "all_reset": reset_first[-1] / best.cost,
                "no_reset": reset_first[0] / best.cost,
                "best_reset_first": min(reset_first) / best.cost,
            }
        )
    return pd.DataFrame(rows)


def brute_force_gap(costs: NDArray[np.float64]) -> float:
    """Return the largest difference of the costs of the shortest path and of the best of all strategies.

    ``costs`` is ``(tables, n, n)``; there are ``2**(n - 1)`` strategies.
    """
    n = costs.shape[-1]
    least = np.full(len(costs), np.inf)
    for resets in itertools.product((False, True), repeat=n - 1):
        last_reset = np.maximum.accumulate(np.where([True, *resets], np.arange(n), 0))
        least = np.minimum(least, costs[:, last_reset, np.arange(n)].sum(axis=1))
    return float(np.abs([best_strategy(table).cost for table in costs] - least).max())


def reset_over_kept(costs: NDArray[np.float64]) -> float:
    """Return the largest ratio of the cost of a search from all boxes to that of the kept queue so far.

    ``costs`` is ``(tables, n, n)``. The ratio is at most 1 by theorem 5.1.2.
    """
    from_all_boxes = np.diagonal(costs, axis1=1, axis2=2)
    return float((from_all_boxes / costs[:, 0].cumsum(axis=1)).max())


def strategy_values(splits: NDArray[np.float64], present: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the values of the tables and the text of sections 5.1.6 and 5.1.7, as lists over gamma.

    ``splits`` is ``(gammas, classes, images, n, n)``. The best strategy of a class is that for the costs in
    all images together.
    """
    found = [compare_strategies(costs) for costs in splits.sum(axis=2)]
    pooled = pd.concat(found)
    over_classes = splits.mean(axis=(1, 2))
    differences = [presence_difference(of_gamma, present) for of_gamma in splits]
    return {
        "resets": _statistics(found, "resets"),
        "all_reset_ratio": _statistics(found, "all_reset"),
        "no_reset_ratio": _statistics(found, "no_reset"),
        "reset_first_share": float(pooled["reset_first"].mean()),
        "best_reset_first_ratio_max": float(pooled["best_reset_first"].max()),
        "never_beats_always_share": float((pooled["no_reset"] < pooled["all_reset"]).mean()),
        "reset_cost_last_over_first": over_classes[:, -1, -1] / over_classes[:, 0, 0],
        "presence_difference": differences,
        "presence_difference_max": max(differences),
        "splits_without_reset": over_classes[:, 0].sum(axis=-1),
    }


def _statistics(found: Sequence[pd.DataFrame], column: str) -> dict[str, list[float]]:
    return {
        name: [float(statistic(table[column])) for table in found] for name, statistic in STATISTICS.items()
    }


def seen_with_and_without(present: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the classes that are present in some images and absent in others."""
    return np.flatnonzero(present.any(axis=1) & ~present.all(axis=1))


def presence_difference(splits: NDArray[np.float64], present: NDArray[np.bool_]) -> float:
    """Return the relative difference of the mean number of splits with and without the object.

    ``splits`` is ``(classes, images, n, n)``. The mean is over images of a class, then over the classes of
    `seen_with_and_without` and over all points of the curves of figure 5.4.
    """
    above, classes = np.triu_indices(splits.shape[-1]), seen_with_and_without(present)
    if classes.size == 0:
        raise ValueError("no class is present in some images and absent in others: expected more images")
    with_it, without_it = (
        _means_in(splits, group, classes)[:, *above].mean() for group in (present, ~present)
    )
    return float(abs(with_it / without_it - 1))


def _means_in(splits: NDArray, images: NDArray[np.bool_], classes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return for each class the mean over its ``images``, ``(classes, n, n)``."""
    means = [splits[c, images[c]].mean(axis=0) for c in classes]
    return np.reshape(means, (len(classes), *splits.shape[2:]))


def mean_costs(
    splits: NDArray[np.float64], gammas: Sequence[float], names: Sequence[str], present: NDArray[np.bool_]
) -> pd.DataFrame:
    """Return the curves of figures 5.3 and 5.4: mean costs over all images, and by presence of the class.

    Columns: ``gamma``, ``images`` (all, present or absent), ``class``, ``reset_before`` and ``detection``
    (both from 1), ``splits``.
    """
    i, j = np.triu_indices(splits.shape[-1])
    both = seen_with_and_without(present)
    groups = {
        "all": (np.ones_like(present), np.arange(len(names))),
        "present": (present, both),
        "absent": (~present, both),
    }
    tables = []
    for (gamma, of_gamma), (group, (images, classes)) in itertools.product(
        zip(gammas, splits, strict=True), groups.items()
    ):
        for c, means in zip(classes, _means_in(of_gamma, images, classes), strict=True):
            place = {"gamma": gamma, "images": group, "class": names[c]}
            tables.append(
                pd.DataFrame(place | {"reset_before": i + 1, "detection": j + 1, "splits": means[i, j]})
            )
    return pd.concat(tables, ignore_index=True)


def cost_table(costs: pd.DataFrame) -> np.ndarray:
    """Return ``C[i, j]``, the mean over classes of the splits in long form; NaN for i > j."""
    means = costs.groupby(["reset_before", "detection"])["splits"].mean()
    return means.unstack().to_numpy()


def statistics_table(gammas: Sequence[float], columns: Mapping[str, Mapping[str, Sequence]]) -> pd.DataFrame:
    """Return minimum, median and maximum over classes for each gamma, one column per source."""
    rows = itertools.product(enumerate(gammas), STATISTICS)
    return pd.DataFrame(
        {"gamma": gamma, "over classes": name} | {key: column[name][g] for key, column in columns.items()}
        for (g, gamma), name in rows
    )
