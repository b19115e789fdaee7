"""Agreement of a segmentation with the ground truth, and paired comparisons over photographs."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from reproduction.experiments.intervals import paired_interval

METRICS = ("sensitivity", "specificity", "precision", "f1", "mcc", "accuracy")


def agreement(truth: np.ndarray, found: np.ndarray) -> dict[str, float]:
    """Return the `METRICS` of boolean arrays; ratios of 0 to 0 are 0."""
    if truth.shape != found.shape:
        raise ValueError(f"shapes {truth.shape} and {found.shape}: expected the same")
    tp, fp = float((truth & found).sum()), float((~truth & found).sum())
    fn, tn = float((truth & ~found).sum()), float((~truth & ~found).sum())
    product = np.sqrt((tp + fp) * (tp + fn)) * np.sqrt((tn + fp) * (tn + fn))
    return {
        "sensitivity": _ratio(tp, tp + fn),
        "specificity": _ratio(tn, tn + fp),
        "precision": _ratio(tp, tp + fp),
        "f1": _ratio(2 * tp, 2 * tp + fp + fn),
        "mcc": _ratio(tp * tn - fp * fn, product),
        "accuracy": _ratio(tp + tn, tp + tn + fp + fn),
    }


def _ratio(a: float, b: float) -> float:
    return a / b if b else 0.0


def mean_f1(truths: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> float:
    """Return the mean over photographs of the F1 score."""
    return float(np.mean([agreement(y, z)["f1"] for y, z in zip(truths, found, strict=True)]))


def best_threshold(
    truths: Sequence[np.ndarray], scores: Sequence[np.ndarray], n_steps: int = 60
) -> tuple[float, float]:
    """Return the threshold with the largest mean F1 over photographs, and that F1.

    Thresholds between the median and the maximum of all scores are compared, at equal steps of the rank of a
    score.
    """
    thresholds = np.unique(np.quantile(np.concatenate(scores), np.linspace(0.5, 1, n_steps, endpoint=False)))
    values = np.zeros(len(thresholds))
    for truth, score in zip(truths, scores, strict=True):
        found, hits = count_above(score, thresholds), count_above(score[truth], thresholds)
        values += 2 * hits / np.maximum(found + truth.sum(), 1)
    best = int(np.argmax(values))
    return float(thresholds[best]), float(values[best] / len(truths))


def count_above(scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return how many scores are larger than each of the increasing thresholds."""
    passed = np.searchsorted(thresholds, scores, side="left")
    counts = np.bincount(passed, minlength=len(thresholds) + 1)
    return counts[::-1].cumsum()[::-1][1:]


def paired_difference(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, float]:
    """Return the mean of paired differences, its 95 % and 90 % intervals of Student's t, and Wilcoxon's p."""
    wide, narrow = (paired_interval(ours, theirs, confidence) for confidence in (0.95, 0.9))
    differences = np.asarray(ours, dtype=float) - np.asarray(theirs, dtype=float)
    p = float(stats.wilcoxon(differences).pvalue) if differences.any() else 1.0
    return {**wide, "low_90": narrow["low"], "high_90": narrow["high"], "wilcoxon_p": p}


def mean_interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean of values over photographs and its 95 % interval."""
    found = paired_difference(values, np.zeros(len(values)))
    return found["mean"], found["low"], found["high"]


def mean_scores(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean over photographs of each metric."""
    return {metric: float(np.mean([score[metric] for score in scores])) for metric in METRICS}
