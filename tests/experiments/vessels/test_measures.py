"""Measures of agreement against scikit-learn and hand counts, and paired intervals against scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn.metrics import f1_score, matthews_corrcoef, precision_score, recall_score

from reproduction.experiments.vessels.measures import (
    METRICS,
    agreement,
    best_threshold,
    count_above,
    mean_f1,
    mean_interval,
    paired_difference,
)


def test_agreement_by_hand():
    truth = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0], dtype=bool)
    found = np.array([1, 1, 1, 0, 1, 0, 0, 0, 0, 0], dtype=bool)
    scores = agreement(truth, found)
    assert set(scores) == set(METRICS)
    assert scores["sensitivity"] == 3 / 4
    assert scores["specificity"] == 5 / 6
    assert scores["precision"] == 3 / 4
    assert scores["f1"] == 6 / 8
    assert scores["accuracy"] == 8 / 10
    assert scores["mcc"] == pytest.approx((3 * 5 - 1) / np.sqrt(4 * 4 * 6 * 6))


@given(arrays(bool, 12), arrays(bool, 12))
def test_agreement_is_that_of_scikit_learn(truth, found):
    scores = agreement(truth, found)
    expected = {
        "sensitivity": recall_score(truth, found, zero_division=0),
        "specificity": recall_score(~truth, ~found, zero_division=0),
        "precision": precision_score(truth, found, zero_division=0),
        "f1": f1_score(truth, found, zero_division=0),
        "mcc": matthews_corrcoef(truth, found),
        "accuracy": (truth == found).mean(),
    }
    for metric, value in expected.items():
        assert scores[metric] == pytest.approx(value, abs=1e-12), metric


def test_different_shapes():
    with pytest.raises(ValueError, match="expected the same"):
        agreement(np.zeros(3, bool), np.zeros(4, bool))


@given(st.integers(0, 10**6))
def test_the_best_threshold_is_that_of_a_search(seed):
    rng = np.random.default_rng(seed)
    truths = [rng.random(30) < 0.3 for _ in range(3)]
    scores = [rng.normal(size=30) + truth for truth in truths]
    threshold, value = best_threshold(truths, scores, n_steps=20)
    assert value == pytest.approx(mean_f1(truths, [score > threshold for score in scores]))
    for other in np.quantile(np.concatenate(scores), np.linspace(0.5, 1, 20, endpoint=False)):
        assert mean_f1(truths, [score > other for score in scores]) <= value + 1e-12


@given(arrays(np.int64, 15, elements=st.integers(-3, 3)), st.sets(st.integers(-4, 4), min_size=1))
def test_count_above(scores, thresholds):
    thresholds = np.array(sorted(thresholds))
    found = count_above(scores, thresholds)
    assert found.tolist() == [(scores > threshold).sum() for threshold in thresholds]


def test_paired_difference_is_that_of_the_t_test():
    rng = np.random.default_rng(0)
    ours, theirs = rng.normal(size=(2, 20))
    found = paired_difference(ours, theirs)
    for level, low, high in ((0.95, "low", "high"), (0.9, "low_90", "high_90")):
        expected = stats.ttest_rel(ours, theirs).confidence_interval(level)
        np.testing.assert_allclose([found[low], found[high]], [expected.low, expected.high])
    assert found["wilcoxon_p"] == pytest.approx(stats.wilcoxon(ours, theirs).pvalue)


def test_equal_scores_have_an_interval_of_zero():
    found = paired_difference([0.5, 0.7], [0.5, 0.7])
    assert (found["low"], found["mean"], found["high"], found["wilcoxon_p"]) == (0, 0, 0, 1)


def test_a_single_pair_has_no_interval():
    with pytest.raises(ValueError, match="expected at least two pairs"):
        paired_difference([0.5], [0.4])


def test_mean_interval():
    mean, low, high = mean_interval([1.0, 2.0, 3.0])
    assert mean == 2
    assert high - mean == pytest.approx(mean - low) == pytest.approx(stats.t.ppf(0.975, 2) / np.sqrt(3))
