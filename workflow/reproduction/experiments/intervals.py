"""Confidence intervals of paired differences and of repeated results."""

from collections.abc import Mapping
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
