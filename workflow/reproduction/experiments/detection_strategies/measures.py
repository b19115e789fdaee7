"""Costs of reset strategies: tables 5.1 and 5.2, figures 5.3 and 5.4 of the thesis.

Measured splits have the shape ``(gammas, classes, images, n, n)``: for each image the costs ``C[i, j]`` of
`ermlab.detection.strategy`. ``present`` is ``(classes, images)``: whether the image contains the class.
"""

import itertools
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ermlab.detection import best_strategy
from reproduction.claims.uncertainty import estimate

STATISTICS = {"min": np.min, "median": np.median, "max": np.max}


@lru_cache(maxsize=4)
def all_strategies(n: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return all strategies for n detections, and the entries of a table of costs that each of them adds up.

    Returns
    -------
    resets : ndarray of shape (2 ** (n - 1), n - 1)
        Whether the queue is reset before each detection after the first. Strategies that keep it come first.
    entries : ndarray of shape (2 ** (n - 1), n * n)
        1 for each entry of the table that belongs to the strategy.
    """
    resets = np.array(list(itertools.product((False, True), repeat=n - 1)), dtype=bool).reshape(-1, n - 1)
    before = np.insert(resets, 0, True, axis=1)
    last_reset = np.maximum.accumulate(np.where(before, np.arange(n), 0), axis=1)
    entries = np.zeros((len(resets), n, n))
    entries[np.arange(len(resets))[:, None], last_reset, np.arange(n)] = 1
    return resets, entries.reshape(len(resets), -1)


def strategy_costs(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the costs of all strategies, ``(..., strategies)``, for tables of costs ``(..., n, n)``."""
    n = costs.shape[-1]
    return np.nan_to_num(costs).reshape(*costs.shape[:-2], n * n) @ all_strategies(n)[1].T


def measure_strategies(costs: NDArray[np.float64]) -> dict[str, NDArray]:
    """Compare the best strategy of each table of costs ``(..., n, n)`` with simple ones.

    Returns
    -------
    dict of str to ndarray of shape (...)
        ``best`` (index into `all_strategies`), ``resets`` (number of resets), ``reset_first`` (whether all
        resets come before any kept queue), ``all_reset``, ``no_reset`` and ``best_reset_first`` (costs of
        always resetting, of never resetting and of the best strategy that resets first, relative to the
        best).
    """
    resets, _ = all_strategies(costs.shape[-1])
    reset_first = (resets[:, 1:] <= resets[:, :-1]).all(axis=1)
    of_all = strategy_costs(costs)
    best, cheapest = of_all.argmin(axis=-1), of_all.min(axis=-1)
    return {
        "best": best,
        "resets": resets.sum(axis=1)[best],
        "reset_first": reset_first[best],
        "all_reset": of_all[..., -1] / cheapest,
        "no_reset": of_all[..., 0] / cheapest,
        "best_reset_first": of_all[..., reset_first].min(axis=-1) / cheapest,
    }


def compare_strategies(costs: NDArray[np.float64]) -> pd.DataFrame:
    """Return `measure_strategies` for tables of costs ``(tables, n, n)``, with the digits of the best one."""
    found = measure_strategies(costs)
    digits = [
        "".join("1" if reset else "0" for reset in row)
        for row in all_strategies(costs.shape[-1])[0][found.pop("best")]
    ]
    return pd.DataFrame({"reset": digits, **found})


def brute_force_gap(costs: NDArray[np.float64]) -> float:
    """Return the largest difference of the costs of the shortest path and of the best of all strategies.

    ``costs`` is ``(tables, n, n)``; there are ``2**(n - 1)`` strategies.
    """
    least = strategy_costs(costs).min(axis=-1)
    return float(np.abs([best_strategy(table).cost for table in costs] - least).max())


def reset_over_kept(costs: NDArray[np.float64]) -> float:
    """Return the largest ratio of the cost of a search from all boxes to that of an older queue so far.

    ``costs`` is ``(tables, n, n)``. An older queue was reset before an earlier detection; its cost is that of
    all detections since then. The ratio is at most 1 by theorem 5.1.2.
    """
    from_all_boxes = np.diagonal(costs, axis1=1, axis2=2)
    ratios = [
        from_all_boxes[:, i + 1 :] / costs[:, i, i:].cumsum(axis=1)[:, 1:] for i in range(costs.shape[-1] - 1)
    ]
    return float(max(ratio.max() for ratio in ratios))


def strategy_values(splits: NDArray[np.float64]) -> dict[str, Any]:
    """Return the values of tables 5.1 and 5.2 and of section 5.1.6, as lists over gamma.

    ``splits`` is ``(gammas, classes, images, n, n)``. The best strategy of a class is that for the costs in
    all images together.
    """
    found = measure_strategies(splits.sum(axis=2))
    return {
        "resets": over_classes(found["resets"]),
        "all_reset_ratio": over_classes(found["all_reset"]),
        "no_reset_ratio": over_classes(found["no_reset"]),
        "reset_first_share": float(found["reset_first"].mean()),
        "best_reset_first_ratio_max": float(found["best_reset_first"].max()),
        "splits_without_reset": splits.mean(axis=(1, 2))[:, 0].sum(axis=-1),
    }


def over_classes(values: NDArray) -> dict[str, NDArray[np.float64]]:
    """Return minimum, median and maximum over the last axis, the classes."""
    return {name: statistic(values, axis=-1).astype(float) for name, statistic in STATISTICS.items()}


def seen_with_and_without(present: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the classes that are present in some images and absent in others."""
    return np.flatnonzero(present.any(axis=1) & ~present.all(axis=1))


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
    """Return minimum, median and maximum over classes for each gamma, one column per source.

    Entries of the columns are numbers or resampled results.
    """
    rows = itertools.product(enumerate(gammas), STATISTICS)
    return pd.DataFrame(
        {"gamma": gamma, "over classes": name}
        | {key: float(estimate(column[name][g])[0]) for key, column in columns.items()}
        for (g, gamma), name in rows
    )
