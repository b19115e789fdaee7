"""Confidence intervals and tests of paired differences and of repeated results."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats


def paired_interval(first: ArrayLike, second: ArrayLike, confidence: float = 0.95) -> dict[str, float]:
    """Return mean, low and high: the mean of ``first - second`` and its interval by Student's t."""
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1 or len(first) < 2:
        raise ValueError(f"values of shapes {first.shape} and {second.shape}: expected at least two pairs")
    differences = first - second
    mean = float(differences.mean())
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    half = float(stats.t.ppf((1 + confidence) / 2, len(differences) - 1) * error)
    return {"mean": mean, "low": mean - half, "high": mean + half}


def repeated_interval(result: Mapping[str, Any], confidence: float = 0.95) -> dict[str, float]:
    """Return mean, low and high of a result as written by `claims.results.repeated`, by Student's t.

    For overlapping splits the interval is that of the corrected resampled t-test.
    """
    values = np.asarray(result["repeats"], dtype=np.float64)
    if len(values) < 2:
        raise ValueError(f"{len(values)} repeats: expected at least two")
    mean = float(values.mean())
    error = values.std(ddof=1) * np.sqrt(1 / len(values) + result.get("test_over_train", 0.0))
    half = float(stats.t.ppf((1 + confidence) / 2, len(values) - 1) * error)
    return {"mean": mean, "low": mean - half, "high": mean + half}


def interval_text(result: Mapping[str, Any], factor: float = 1.0, format: str = ".0f") -> str:
    """Return "mean (low to high)" of a repeated result times ``factor``; the mean alone of a single one."""
    if len(result["repeats"]) < 2:
        return f"{factor * np.mean(result['repeats']):{format}}"
    mean, low, high = (factor * value for value in repeated_interval(result).values())
    return f"{mean:{format}} ({low:{format}} to {high:{format}})"


def count_worse(
    ours: Sequence[ArrayLike],
    theirs: Sequence[Sequence[ArrayLike]],
    test_over_train: float = 0.0,
    level: float = 0.05,
) -> int:
    """Return in how many cells a method is significantly worse than one of several others.

    One-sided paired t-tests, corrected for overlapping training parts (Nadeau and Bengio, 2003), and for the
    number of tests by Holm's method.

    Parameters
    ----------
    ours
        For each cell, such as an output or a class, the repeated measurements of the method.
    theirs
        The same for each of the others; larger is better.
    test_over_train
        Size of a test part over that of its training part, 0 for independent measurements.
    level
        Level of significance.
    """
    p = np.array(
        [[_p_worse(*pair, test_over_train) for pair in zip(ours, other, strict=True)] for other in theirs]
    )
    order = np.argsort(p, axis=None)
    passed = p.ravel()[order] <= level / np.arange(p.size, 0, -1)
    rejected = np.zeros(p.size, dtype=bool)
    rejected[order] = np.logical_and.accumulate(passed)
    return int(rejected.reshape(p.shape).any(axis=0).sum())


def _p_worse(ours: ArrayLike, theirs: ArrayLike, test_over_train: float) -> float:
    """Return the p-value of a one-sided test; a single measurement cannot be significant."""
    differences = np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64)
    n = len(differences)
    if n < 2:
        return 1.0
    error = np.sqrt((1 / n + test_over_train) * differences.var(ddof=1))
    mean = differences.mean()
    if error == 0:
        return 0.0 if mean < 0 else 1.0
    return float(stats.t.cdf(mean / error, n - 1))
