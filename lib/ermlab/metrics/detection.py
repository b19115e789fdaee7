"""Metrics of detections: recall against overlap, precision and recall, equal error rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ermlab._utils.validation import real_array
from ermlab.detection.boxes import as_boxes, best_overlap, overlap

CORRECT, IGNORED, FALSE = 1, 0, -1
#: Agreement, from 0 to 1, of each box of one list with each of another.
Measure = Callable[[ArrayLike, ArrayLike], NDArray[np.float64]]
VOC_RECALLS = np.arange(11) / 10


def recall_overlap(best_overlaps: ArrayLike, thresholds: ArrayLike) -> NDArray[np.float64]:
    """Compute the fraction of ground-truth boxes found at each minimum overlap (thesis, fig. 3.5 b).

    ``best_overlaps`` is the largest overlap of each box with a returned window.
    """
    ordered, thresholds = np.sort(_checked_overlaps(best_overlaps)), real_array(thresholds, "thresholds")
    if np.isnan(thresholds).any():
        raise ValueError("thresholds hold NaN")
    return 1 - np.searchsorted(ordered, thresholds, side="left") / ordered.size


def recall_area(best_overlaps: ArrayLike, low: float = 0.5, high: float = 1.0) -> float:
    """Compute the exact area under the recall-overlap curve from ``low`` to ``high`` (thesis, 3.2.4).

    It is 1 for perfect recall. A box of overlap o contributes the part of (low, o) below ``high``.
    """
    overlaps = _checked_overlaps(best_overlaps)
    if not 0 <= low < high <= 1:
        raise ValueError(f"low, high are {low}, {high}: expected 0 <= low < high <= 1")
    return float(np.mean(np.clip((overlaps - low) / (high - low), 0, 1)))


def best_overlap_at(
    truth_boxes: ArrayLike, windows_in_order: ArrayLike, counts: Sequence[int] = (10, 100, 1000)
) -> NDArray[np.float64]:
    """Compute the largest overlap of each true box with the first 10, 100, ... windows.

    All windows are used if there are fewer. The result has shape (n_boxes, n_counts).
    """
    counts = np.asarray(counts)
    if counts.ndim != 1 or not np.issubdtype(counts.dtype, np.integer) or (counts < 0).any():
        raise ValueError(f"counts is {counts.tolist()}: expected whole numbers of at least 0")
    truth, windows = as_boxes(truth_boxes, "truth_boxes"), as_boxes(windows_in_order, "windows_in_order")
    stops = np.unique(counts)
    groups = [windows[start:stop] for start, stop in zip([0, *stops], stops, strict=False)]
    best = np.stack([np.zeros(len(truth)), *(best_overlap(truth, group) for group in groups)], axis=1)
    return np.maximum.accumulate(best, axis=1)[:, 1 + np.searchsorted(stops, counts)]


def match_detections(
    boxes: ArrayLike,
    scores: ArrayLike,
    truth: ArrayLike,
    difficult: ArrayLike | None = None,
    min_overlap: float = 0.5,
    measure: Measure = overlap,
) -> NDArray[np.int8]:
    """Match the detections in one image to true boxes by the rule of PASCAL VOC.

    In order of decreasing score (ties by index), each detection is matched to the true box that it overlaps
    most. It is `FALSE` if that overlap is below ``min_overlap``, `IGNORED` if the box is difficult, `CORRECT`
    if the box has no match yet, else `FALSE`.

    Parameters
    ----------
    boxes : array-like of shape (n, 4)
        Detections.
    scores : array-like of shape (n,)
        Score of each detection.
    truth : array-like of shape (m, 4)
        True boxes.
    difficult : array-like of shape (m,), optional
        Which true boxes are difficult; by default none.
    min_overlap : float, default=0.5
        Smallest overlap of a match.
    measure : callable
        Agreement of boxes, by default their overlap; another one is `ellipse_agreement`.

    Returns
    -------
    ndarray of shape (n,)
        `CORRECT`, `IGNORED` or `FALSE` for each detection.
    """
    boxes, truth = as_boxes(boxes), as_boxes(truth, "truth")
    scores = _checked_scores(scores, len(boxes))
    difficult = np.zeros(len(truth), dtype=bool) if difficult is None else np.asarray(difficult, dtype=bool)
    if difficult.shape != (len(truth),):
        raise ValueError(f"difficult has shape {difficult.shape}: expected ({len(truth)},), one per true box")
    if not (isinstance(min_overlap, Real) and 0 < min_overlap <= 1):
        raise ValueError(f"min_overlap is {min_overlap!r}: expected a number above 0 and up to 1")
    verdict = np.full(len(boxes), FALSE, dtype=np.int8)
    if not len(truth):
        return verdict
    overlaps = np.asarray(measure(boxes, truth))
    if overlaps.shape != (len(boxes), len(truth)) or np.isnan(overlaps).any():
        raise ValueError(
            f"measure returned shape {overlaps.shape} for {len(boxes)} and {len(truth)} boxes: expected one "
            "number per pair, not NaN"
        )
    claimed = np.zeros(len(truth), dtype=bool)
    for i in np.argsort(-scores, kind="stable"):
        best = int(np.argmax(overlaps[i]))
        if overlaps[i, best] < min_overlap:
            continue
        if difficult[best]:
            verdict[i] = IGNORED
        elif not claimed[best]:
            verdict[i], claimed[best] = CORRECT, True
    return verdict


def ellipse_agreement(boxes: ArrayLike, truth: ArrayLike) -> NDArray[np.float64]:
    """Compute the agreement of boxes by the rule of the UIUC cars data set (Agarwal, Awan and Roth, 2004).

    It is ``1 - d^2 / 2``, at least 0, for the distance d of the upper left corners, with a quarter of the
    width and height of the true box as units: at least 0.5 inside the ellipse with these half axes.
    """
    boxes, truth = as_boxes(boxes), as_boxes(truth, "truth")
    half_axes = (truth[:, 2:] - truth[:, :2] + 1) / 4
    distances = (boxes[:, None, :2] - truth[None, :, :2]) / half_axes
    return np.maximum(1 - np.sum(distances**2, axis=-1) / 2, 0.0)


@dataclass(frozen=True)
class DetectionCurve:
    """Precision and recall for decreasing thresholds on the score, one point per distinct score."""

    thresholds: NDArray[np.float64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    false_positives_per_image: NDArray[np.float64]


def detection_curve(
    boxes: Sequence[ArrayLike],
    scores: Sequence[ArrayLike],
    truth: Sequence[ArrayLike],
    difficult: Sequence[ArrayLike] | None = None,
    min_overlap: float = 0.5,
    measure: Measure = overlap,
) -> DetectionCurve:
    """Compute precision, recall and false positives per image of the detections in several images.

    Each argument has one entry per image; see `match_detections`. Difficult true boxes are ignored.
    Detections of equal score enter together. Without detections the curve is empty; without true boxes recall
    is undefined.
    """
    difficult = [np.zeros(len(item), dtype=bool) for item in truth] if difficult is None else difficult
    lengths = [len(boxes), len(scores), len(truth), len(difficult)]
    if len(set(lengths)) > 1:
        raise ValueError(f"boxes, scores, truth, difficult have {lengths} images: expected equal numbers")
    n_truth = sum(int(np.sum(~np.asarray(flags, dtype=bool))) for flags in difficult)
    if not n_truth:
        raise ValueError("truth holds no box that is not difficult: recall is undefined")
    images = list(zip(boxes, scores, truth, difficult, strict=True))
    verdicts = np.concatenate([match_detections(*image, min_overlap, measure) for image in images])
    pooled = np.concatenate([real_array(image_scores, "scores") for image_scores in scores])
    counted = verdicts != IGNORED
    return _curve(pooled[counted], verdicts[counted] == CORRECT, n_truth, len(images))


def average_precision(precision: ArrayLike, recall: ArrayLike, kind: str = "area") -> float:
    """Compute the average precision of a curve in order of decreasing threshold; 0 for an empty curve.

    Parameters
    ----------
    precision, recall : array-like of shape (n,)
        The curve.
    kind : {"area", "eleven"}, default="area"
        ``"area"`` is the sum of precision times the increase of recall, without interpolation; ``"eleven"``
        the mean over recalls 0, .1, ..., 1 of the best precision at that recall or above (PASCAL VOC 2007).
    """
    precision, recall = _checked_curve(precision, recall)
    if kind == "area":
        return float(np.sum(np.diff(recall, prepend=0.0) * precision))
    if kind == "eleven":
        return float(np.mean([precision[recall >= r].max(initial=0.0) for r in VOC_RECALLS]))
    raise ValueError(f"kind is {kind!r}: expected 'area' or 'eleven'")


def equal_error_rate(precision: ArrayLike, recall: ArrayLike) -> float:
    """Compute the error 1 - recall where recall equals precision, with linear interpolation.

    The curve starts at recall 0 with its first precision. If it ends with precision above recall, its last
    recall counts; an empty curve has error 1.
    """
    precision, recall = _checked_curve(precision, recall)
    if not precision.size:
        return 1.0
    precision, recall = np.append(precision[0], precision), np.append(0.0, recall)
    excess = precision - recall
    last = int(np.flatnonzero(excess >= 0)[-1])
    if last + 1 == excess.size:
        return float(1 - recall[-1])
    share = excess[last] / (excess[last] - excess[last + 1])
    return float(1 - (recall[last] + share * (recall[last + 1] - recall[last])))


def roc_equal_error_rate(labels: ArrayLike, scores: ArrayLike) -> float:
    """Compute the rate at which false positives and false negatives are equally frequent.

    The ROC curve is interpolated linearly; equal scores enter together.
    """
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "biuf" or np.isnan(labels).any():
        raise ValueError(f"labels of type {labels.dtype}, shape {labels.shape}: expected (n,), no NaN")
    scores = _checked_scores(scores, len(labels))
    positive = labels > 0
    if positive.all() or not positive.any():
        raise ValueError(f"labels hold {positive.sum()} positives of {positive.size}: expected both classes")
    _, found, missed = _counts(scores, positive)
    miss_rate = 1 - np.append(0, found) / positive.sum()
    false_rate = np.append(0, missed) / (~positive).sum()
    excess = miss_rate - false_rate
    last = int(np.flatnonzero(excess >= 0)[-1])
    share = excess[last] / (excess[last] - excess[last + 1])
    return float(false_rate[last] + share * (false_rate[last + 1] - false_rate[last]))


def recall_at_false_positives(curve: DetectionCurve, rates: ArrayLike) -> NDArray[np.float64]:
    """Return the largest recall with at most ``rates`` false positives per image."""
    rates = real_array(rates, "rates")
    if not (rates >= 0).all():
        raise ValueError(f"rates is {rates.tolist()}: expected numbers of at least 0")
    points = np.searchsorted(curve.false_positives_per_image, rates, side="right")
    return np.append(0.0, curve.recall)[points]


def _curve(scores: NDArray, correct: NDArray, n_truth: int, n_images: int) -> DetectionCurve:
    thresholds, found, wrong = _counts(scores, correct)
    return DetectionCurve(thresholds, found / np.maximum(found + wrong, 1), found / n_truth, wrong / n_images)


def _counts(scores: NDArray, positive: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Return decreasing distinct scores, and the numbers of positives and negatives at or above each."""
    order = np.argsort(-scores, kind="stable")
    ordered, positive = scores[order], positive[order]
    # Not by differences: that of two infinite scores is NaN.
    ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), ordered.size - 1)[: ordered.size]
    found = np.cumsum(positive)[ends]
    return ordered[ends], found, ends + 1 - found


def _checked_overlaps(best_overlaps: ArrayLike) -> NDArray[np.float64]:
    overlaps = real_array(best_overlaps, "best_overlaps")
    if overlaps.ndim != 1 or not overlaps.size:
        raise ValueError(f"best_overlaps has shape {overlaps.shape}: expected (n,) with n of at least 1")
    wrong = ~((overlaps >= 0) & (overlaps <= 1))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"best_overlaps[{row}] is {overlaps[row]}: expected a number from 0 to 1")
    return overlaps


def _checked_scores(scores: ArrayLike, n: int) -> NDArray[np.float64]:
    scores = real_array(scores, "scores")
    if scores.shape != (n,):
        raise ValueError(f"scores has shape {scores.shape}: expected ({n},)")
    if np.isnan(scores).any():
        raise ValueError(f"scores[{int(np.flatnonzero(np.isnan(scores))[0])}] is NaN")
    return scores


def _checked_curve(precision: ArrayLike, recall: ArrayLike) -> tuple[NDArray, NDArray]:
    precision, recall = real_array(precision, "precision"), real_array(recall, "recall")
    if precision.ndim != 1 or precision.shape != recall.shape:
        raise ValueError(f"precision, recall have shapes {precision.shape}, {recall.shape}: expected (n,)")
    both = np.concatenate([precision, recall])
    if not ((both >= 0) & (both <= 1)).all():
        raise ValueError("precision and recall must lie between 0 and 1")
    if (np.diff(recall) < 0).any():
        raise ValueError("recall decreases along the curve: expected the order of decreasing thresholds")
    return precision, recall
