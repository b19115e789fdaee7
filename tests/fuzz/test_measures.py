"""Measures of detections, rankings, splits and clusters, bounds and losses on hostile numbers."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from harness import Cases, survive

from ermlab.fmri import clusters
from ermlab.metrics import detection, resampling, splits
from ermlab.metrics.ranking import ndcg
from ermlab.structured import bounds, losses, vicinal

LARGEST = np.finfo(np.float64).max
NUMBERS = (0.0, -1.0, 1.0, 5e-324, 1e-300, 1e9, 1e150, 1e300, LARGEST, -LARGEST, np.inf, -np.inf, np.nan)


def vectors(n: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Return finite and other numbers."""
    rng = np.random.default_rng(seed)
    plain = rng.normal(size=n)
    return {
        "plain": plain,
        "equal": np.ones(n),
        "zeros": np.zeros(n),
        "few values": rng.integers(0, 3, n).astype(np.float64),
        "tiny": 1e-200 * plain,
        "denormal": 5e-324 * rng.integers(0, 9, n),
        "huge": 1e200 * plain,
        "largest": LARGEST * np.sign(plain),
        "infinite": np.where(plain > 0, np.inf, plain),
        "both infinite": np.where(plain > 0, np.inf, -np.inf),
        "NaN": np.where(np.arange(n) == n // 2, np.nan, plain),
        "empty": np.empty(0),
        "short": plain[1:],
        "a matrix": plain[:, None],
    }


def detections() -> Cases:
    """Judge boxes of all sizes with scores of all kinds."""
    rng = np.random.default_rng(0)
    corners = rng.integers(0, 30, size=(20, 2))
    boxes = np.hstack([corners, corners + rng.integers(0, 20, size=(20, 2))])
    kinds = {
        "plain": boxes,
        "single pixels": np.hstack([corners, corners]),
        "all equal": np.repeat(boxes[:1], 20, axis=0),
        "far away": boxes + 10**9,
        "largest": np.tile([0, 0, 2**62, 2**62], (20, 1)),
        "whole range": np.tile([-(2**62), -(2**62), 2**62, 2**62], (20, 1)),
        "turned over": boxes[:, ::-1],
        "not whole": boxes + 0.5,
        "NaN": np.full((20, 4), np.nan),
        "none": np.empty((0, 4)),
        "three sides": boxes[:, :3],
    }
    for (name, some), (score_name, scores) in product(kinds.items(), vectors(20).items()):
        yield f"{name}, scores {score_name}", lambda some=some, scores=scores: judge(some, scores, boxes[:7])
    for (name, some), (other_name, others) in product(kinds.items(), kinds.items()):
        scores = np.arange(float(len(some)))
        yield f"{name}, truth {other_name}", lambda some=some, s=scores, others=others: judge(some, s, others)
    for name, labels in {**vectors(20), "text": np.array(["a"] * 20)}.items():
        for score_name, scores in vectors(20, seed=1).items():
            yield (
                f"rates of labels {name}, scores {score_name}",
                lambda labels=labels, s=scores: rate(labels, s),
            )
    curves = {**vectors(20), "shares": np.linspace(0, 1, 20), "falling": np.linspace(1, 0, 20)}
    for (name, precision), (other_name, recall) in product(curves.items(), curves.items()):
        yield f"precision {name}, recall {other_name}", lambda p=precision, r=recall: summary(p, r)
    for (name, overlaps), limit in product(curves.items(), NUMBERS):
        yield (
            f"overlaps {name}, {limit}",
            lambda overlaps=overlaps, limit=limit: [
                detection.recall_overlap(overlaps, [limit]),
                detection.recall_area(overlaps, limit),
            ],
        )


def judge(boxes: np.ndarray, scores: np.ndarray, truth: np.ndarray) -> list:
    """Return verdicts and a curve; its thresholds are the scores, infinite ones among them."""
    verdict = detection.match_detections(boxes, scores, truth)
    curve = detection.detection_curve([boxes], [scores], [truth])
    return [
        verdict,
        detection.best_overlap_at(truth, boxes, (0, 1, 10**9)),
        detection.ellipse_agreement(boxes, truth),
        curve.precision,
        curve.recall,
        curve.false_positives_per_image,
        detection.recall_at_false_positives(curve, [0, 0.5, np.inf]),
        *summary(curve.precision, curve.recall),
    ]


def rate(labels: np.ndarray, scores: np.ndarray) -> float:
    """Return the equal error rate, which depends on the order of the scores alone."""
    found = detection.roc_equal_error_rate(labels, scores)
    assert found == detection.roc_equal_error_rate(labels, np.unique(scores, return_inverse=True)[1])
    return found


def summary(precision: np.ndarray, recall: np.ndarray) -> list:
    """Return all numbers that sum up a curve."""
    return [
        detection.average_precision(precision, recall),
        detection.average_precision(precision, recall, "eleven"),
        detection.equal_error_rate(precision, recall),
    ]


def rankings() -> Cases:
    """Judge rankings with relevances, scores and groups of all kinds."""
    relevances = {name: np.abs(values) for name, values in vectors(12).items()}
    relevances["at the limit"] = np.append(np.zeros(11), 1020.0)
    for (name, relevance), (score_name, scores) in product(relevances.items(), vectors(12, seed=1).items()):
        for groups in (None, np.arange(12) // 5, np.arange(12)):
            yield (
                f"relevance {name}, scores {score_name}",
                lambda r=relevance, s=scores, g=groups: ndcg(r, s, g),
            )
    for k in (0, -1, 1, 10**18, 0.5, np.nan):
        yield f"the first {k}", lambda k=k: ndcg(np.arange(12.0), np.arange(12.0), k=k)


def resamplings() -> Cases:
    """Compare scores of all kinds; split samples of all numbers; count clusters."""
    for (name, a), (other_name, b) in product(vectors(8).items(), vectors(8, seed=1).items()):
        for share in (0.0, 1.0 - 1e-16, np.nan):
            yield (
                f"{name}, {other_name}, share {share}",
                lambda a=a, b=b, share=share: resampling.corrected_t_test(a, b, share).p,
            )
        yield f"{name}, {other_name}, ranks", lambda a=a, b=b: resampling.wilcoxon_test(a, b).p
        yield (
            f"{name}, permuted {other_name}",
            lambda a=a, b=b: resampling.permutation_result(a[:1].sum(), b).p,
        )
    for kind, n, gap, share in product(
        splits.KINDS, (-1, 0, 1, 2, 3, 10), (0, 1, 100), (0.0, 1e-9, 0.5, 0.99)
    ):
        yield (
            f"{kind} of {n}, gap {gap}, share {share}",
            lambda k=kind, n=n, gap=gap, share=share: divide(k, n, gap, share),
        )
    for name, volume in {
        "none": np.zeros((2, 2, 2), dtype=bool),
        "all": np.ones((2, 2, 2), dtype=bool),
        "empty": np.ones((0, 2, 2), dtype=bool),
        "flat": np.ones((2, 2), dtype=bool),
        "checkerboard": np.indices((4, 4, 4)).sum(axis=0) % 2 == 0,
    }.items():
        for count in (-1, 0, 1, 8, 10**9):
            yield (
                f"clusters of {name}, {count}",
                lambda volume=volume, count=count: [
                    clusters.mean_cluster_size(volume),
                    clusters.chance_cluster_size(volume, count, 2, 0),
                ],
            )
    for name, weights in vectors(24).items():
        for count in (-1, 0, 3, 24, 25):
            yield (
                f"weights {name}, {count}",
                lambda w=weights, count=count: clusters.largest_weights(w, count),
            )
        yield f"slices {name}", lambda w=weights: clusters.heaviest_slices(w.reshape(2, 3, -1))


def divide(kind: str, n: int, gap: int, share: float) -> list:
    """Return splits and folds; no sample is in both parts."""
    runs = np.arange(max(n, 0)) // 2 if kind == "runs" else None
    sampling = splits.Sampling(kind, n, gap, runs)
    found = sampling.splits(7, share, 0)
    found += sampling.folds(found[0].train, 2, 0)
    assert not any(np.isin(split.train, split.test).any() for split in found)
    return found


def bounds_and_losses() -> Cases:
    """Call bounds, losses and vicinal risks with numbers of all sizes."""
    for a, b in product(NUMBERS, NUMBERS):
        for rescaling in ("slack", "margin"):
            yield (
                f"loss of {a} and {b}, {rescaling}",
                lambda a=a, b=b, r=rescaling: [
                    losses.step_loss(a, b),
                    losses.rescaled_hinge(a, b, r),
                ],
            )
            yield (
                f"bound of {a} and {b}, {rescaling}",
                lambda a=a, b=b, r=rescaling: [
                    bounds.ranking_excess(100, a, b, r),
                    bounds.ranking_excess(a, 1.0, 1.0, r, kappa=b),
                    bounds.fitted_rate([1.0, a], [1.0, b]),
                ],
            )
        yield (
            f"partial annotations, {a} and {b}",
            lambda a=a, b=b: bounds.partial_annotation_bound(
                10, mu=a, feature_norm=b, largest_loss=a, annotations=3, outputs=10**9
            ),
        )
        yield (
            f"vicinal risk, {a} and {b}",
            lambda a=a, b=b: [
                vicinal.vicinal_risk([a, b], [0.5, 0.5]),
                vicinal.lemma_bound(vicinal.scaled_family([1.0, 2.0], [a, b]), [a, b], [0.5, 0.5]),
                vicinal.scaled_step_losses([a, b], [a, b], [0.5, 0.5]),
            ],
        )
    for a in NUMBERS:
        yield f"convexity, {a}", lambda a=a: losses.convexity_violation([a, -a, a, 1.0])
    for members in ([0, 5], [-1, 0], [0.5, 1.0], [10**18, 0]):
        yield (
            f"members {members}",
            lambda m=members: vicinal.equivariant_losses(np.ones((2, 2)), m, [0.5, 0.5]),
        )


def measures() -> Cases:
    """Judge detections, rankings and differences."""
    yield from detections()
    yield from rankings()
    yield from resamplings()


SUBJECTS: dict[str, Callable[[], Cases]] = {"measures": measures, "bounds_and_losses": bounds_and_losses}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_survives(subject):
    survive(__file__, subject)
