"""Tests of differences over random splits: closed forms, peers, and their level where splits overlap."""

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy import stats

from ermlab.metrics.resampling import corrected_t_test, permutation_result, permutation_test, wilcoxon_test


def test_corrected_t_by_the_formula():
    found = corrected_t_test([3.0, 1.0, 2.0], [1.0, 1.0, 1.0], test_share=0.2)
    # Differences 2, 0, 1: mean 1, variance 1; 1/3 + 0.2/0.8 = 7/12. The t distribution with 2 degrees of
    # freedom has the closed form P(T > t) = (1 - t / sqrt(2 + t^2)) / 2.
    t = np.sqrt(12 / 7)
    assert found.statistic == pytest.approx(t)
    assert found.p == pytest.approx(1 - t / np.sqrt(2 + t**2))
    swapped = corrected_t_test([1.0, 1.0, 1.0], [3.0, 1.0, 2.0], test_share=0.2)
    assert (swapped.statistic, swapped.p) == (-found.statistic, found.p)


def test_without_overlap_it_is_the_paired_t_test():
    a, b = np.random.default_rng(0).normal(size=(2, 30))
    peer = stats.ttest_rel(a, b)
    found = corrected_t_test(a, b, test_share=0)
    assert (found.statistic, found.p) == pytest.approx((peer.statistic, peer.pvalue))


def test_wilcoxon_by_counting_all_signs():
    differences = np.array([0.3, -0.1, 0.7, 0.4, -0.2, 0.9, 0.5])
    ranks = stats.rankdata(np.abs(differences))
    statistic = min(ranks[differences > 0].sum(), ranks[differences < 0].sum())
    sums = [ranks @ np.array(signs) for signs in product([0, 1], repeat=7)]
    found = wilcoxon_test(differences, np.zeros(7))
    assert found.statistic == statistic
    assert found.p == pytest.approx(2 * np.mean(np.array(sums) <= statistic))


def test_no_difference_at_all():
    scores = np.array([0.1, 0.2, 0.3])
    rounded = scores * (1 + 2e-16)
    assert corrected_t_test(scores, rounded, 0.2).p == 1
    assert wilcoxon_test(scores, rounded).p == 1
    always = corrected_t_test([2.0, 2.0], [1.0, 1.0], 0.2)
    assert (always.statistic, always.p) == (np.inf, 0)


def scores_of_equals(rng, learnt, n=40, n_splits=30, test_share=0.2):
    """Return accuracies of two methods of which neither is better, on the same random splits.

    Each has a feature of its own that is noise, and predicts its sign; or, if ``learnt``, this sign or its
    opposite, whichever does better on the training part, which can change from split to split.
    """
    y = rng.permutation(np.repeat([-1, 1], n // 2))
    features = rng.normal(size=(2, n))
    n_test = int(test_share * n)
    scores = np.empty((2, n_splits))
    for split in range(n_splits):
        order = rng.permutation(n)
        test, train = order[:n_test], order[n_test:]
        for method, x in enumerate(features):
            sign = np.sign(x[train] @ y[train]) if learnt else 1
            scores[method, split] = np.mean(np.sign(x[test]) * sign == y[test])
    return scores


def rejections(learnt, n_studies):
    """Return how often each test finds a difference at 5 %: corrected, plain t, Wilcoxon."""
    rng = np.random.default_rng(0)
    rejected = np.zeros(3)
    for _ in range(n_studies):
        a, b = scores_of_equals(rng, learnt)
        tests = corrected_t_test(a, b, 0.2), corrected_t_test(a, b, 0), wilcoxon_test(a, b)
        rejected += [test.p < 0.05 for test in tests]
    return rejected / n_studies


def test_level_under_overlapping_splits():
    """The corrected test keeps its level, the plain ones are far off theirs."""
    corrected, plain, wilcoxon = rejections(learnt=False, n_studies=400)
    assert abs(corrected - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 400)
    assert plain > 0.3
    assert wilcoxon > 0.3


def test_level_for_rules_that_change_from_split_to_split():
    """Here the correction falls short, as its docstring says, but far less than the plain tests."""
    corrected, plain, wilcoxon = rejections(learnt=True, n_studies=400)
    assert corrected < min(plain, wilcoxon) / 3


def test_the_corrected_test_finds_a_real_difference():
    rng = np.random.default_rng(1)
    scores = 0.7 + 0.02 * rng.normal(size=30)
    assert corrected_t_test(scores + 0.1, scores + 0.02 * rng.normal(size=30), 0.2).p < 1e-3


def test_permutations_against_all_of_them():
    """Score: how many of the first 3 of 6 have label 1; the exact probability is hypergeometric."""
    y = np.array([1, 1, 1, 0, 0, 0])
    found, scores = permutation_test(lambda labels: labels[:3].sum(), y, n_permutations=20_000)
    exact = 1 / comb(6, 3)
    assert found.statistic == 3
    assert abs(found.p - exact) < 4 * np.sqrt(exact * (1 - exact) / 20_000)
    assert scores.shape == (20_000,)
    again, _ = permutation_test(lambda labels: labels[:3].sum(), y, n_permutations=20_000)
    assert again == found


def test_permutation_test_keeps_its_level():
    rng = np.random.default_rng(0)
    n_studies = 400
    ps = []
    for seed in range(n_studies):
        x, y = rng.normal(size=12), rng.permutation(np.repeat([0, 1], 6))
        found, _ = permutation_test(lambda labels, x=x: x[labels == 1].mean(), y, 99, seed)
        ps.append(found.p)
    assert min(ps) >= 0.01
    for alpha in (0.05, 0.2, 0.5):
        assert np.mean(np.array(ps) <= alpha) < alpha + 3 * np.sqrt(alpha * (1 - alpha) / n_studies)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1.0, 2.0], [1.0, 2.0, 3.0], r"shapes \(2,\) and \(3,\)"),
        ([1.0], [2.0], "one per split, at least 2"),
        ([[1.0, 2.0]], [[1.0, 2.0]], r"shapes \(1, 2\)"),
        ([1.0, np.nan], [1.0, 2.0], "split 1 are nan and 2.0"),
    ],
)
def test_broken_scores(a, b, message):
    with pytest.raises(ValueError, match=message):
        corrected_t_test(a, b, 0.2)
    with pytest.raises(ValueError, match=message):
        wilcoxon_test(a, b)


@pytest.mark.parametrize("share", [-0.1, 1.0, np.nan])
def test_broken_share(share):
    with pytest.raises(ValueError, match="test_share is"):
        corrected_t_test([1.0, 2.0], [1.0, 3.0], share)


def test_broken_permutations():
    with pytest.raises(ValueError, match="n_permutations is 0"):
        permutation_test(np.sum, [0, 1], 0)
    with pytest.raises(ValueError, match="NaN or infinity"):
        permutation_test(lambda labels: np.nan, [0, 1], 5)


@pytest.mark.parametrize("scale", [2.0**-1060, 2.0**-600, 2.0**-40, 2.0**700, 2.0**1022])
def test_the_scale_of_the_scores_does_not_matter(scale):
    a, b = np.array([0.5, 0.75, 0.25, 1.0, -1.0]), np.array([0.25, 0.5, 0.5, -0.5, 1.0])
    for test in (lambda a, b: corrected_t_test(a, b, 0.2), wilcoxon_test):
        assert test(scale * a, scale * b) == test(a, b)


@pytest.mark.parametrize("n_permutations", [1.5, np.nan, "many", 0])
def test_number_of_permutations_that_is_none_is_refused(n_permutations):
    with pytest.raises(ValueError, match="n_permutations is"):
        permutation_test(lambda y: 1.0, [1, 2], n_permutations)


@pytest.mark.parametrize(
    ("truth", "scores", "message"),
    [(0.5, [], r"scores of shape \(0,\)"), (np.nan, [0.5], "finite"), (0.5, [np.inf], "finite")],
)
def test_invalid_permutation_scores_are_refused(truth, scores, message):
    with pytest.raises(ValueError, match=message):
        permutation_result(truth, scores)
