"""Tests of a difference between two methods that were measured on the same random splits.

The training parts of random splits overlap, so the differences are dependent, and tests that take them as
independent (Wilcoxon's, the plain t-test) find a difference too often where there is none.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ermlab._utils.validation import real_array, whole_number


@dataclass(frozen=True)
class TestResult:
    """A statistic, and the probability of one as large if there were no difference (two-sided)."""

    __test__ = False  # not for pytest

    statistic: float
    p: float


def corrected_t_test(a: ArrayLike, b: ArrayLike, test_share: float) -> TestResult:
    """Compare scores on the same J random splits by the corrected resampled t-test.

    ``t = mean / sqrt((1/J + n_test / n_train) var)`` with J - 1 degrees of freedom: the second term, due to
    Nadeau and Bengio (2003), accounts for the overlap of the training parts. It supposes that a score depends
    little on which samples were trained on. Where it does, as for learners at chance, whose rules change from
    split to split, differences are still found somewhat too often: about 8 instead of 5 times in 100 in our
    simulation, in which the plain test finds them 50 times.

    Parameters
    ----------
    a, b
        Scores of two methods, one for each split.
    test_share
        Part of the samples that is tested on, as 0.2; 0 gives the plain paired t-test.
    """
    differences = _differences(a, b)
    if not 0 <= test_share < 1:
        raise ValueError(f"test_share is {test_share}: expected at least 0 and less than 1")
    J = len(differences)
    mean, variance = differences.mean(), differences.var(ddof=1)
    if np.ptp(differences) == 0:  # the variance may be off 0 by rounding
        return TestResult(0.0, 1.0) if mean == 0 else TestResult(float(np.copysign(np.inf, mean)), 0.0)
    t = mean / np.sqrt((1 / J + test_share / (1 - test_share)) * variance)
    return TestResult(float(t), float(2 * stats.t.sf(abs(t), J - 1)))


def wilcoxon_test(a: ArrayLike, b: ArrayLike) -> TestResult:
    """Compare scores on the same splits by Wilcoxon's signed-rank test, which takes splits as independent.

    Splits on which both are equal are left out; if they are on all splits, p is 1. The statistic is the
    smaller sum of ranks.
    """
    differences = _differences(a, b)
    if not differences.any():
        return TestResult(0.0, 1.0)
    found = stats.wilcoxon(differences, zero_method="wilcox", alternative="two-sided")
    return TestResult(float(found.statistic), float(found.pvalue))


def permutation_test(
    score: Callable[[NDArray], float], y: ArrayLike, n_permutations: int = 999, seed: int = 0
) -> tuple[TestResult, NDArray[np.float64]]:
    """Compare a score with those for permuted labels: larger is better, and p is one-sided.

    p is the rank of the true labels among all, themselves included: never below ``1 / (n_permutations + 1)``,
    and at most ``alpha`` with at most that probability if the labels mean nothing.

    Parameters
    ----------
    score
        From labels to the score of the whole procedure, every choice that looks at labels included.

    Returns
    -------
    result, scores
        The score of the true labels with its p, and the scores of permuted ones.
    """
    y = np.asarray(y)
    n_permutations = whole_number("n_permutations", n_permutations, 1)
    rng = np.random.default_rng(seed)
    truth = float(score(y))
    scores = np.array([float(score(rng.permutation(y))) for _ in range(n_permutations)])
    return permutation_result(truth, scores), scores


def permutation_result(truth: float, scores: ArrayLike) -> TestResult:
    """Return the score of the true labels with its p, its rank among those of permuted labels and itself."""
    scores = real_array(scores, "scores")
    if scores.ndim != 1 or not len(scores):
        raise ValueError(f"scores of shape {scores.shape}: expected one for each of 1 permutation or more")
    if not np.isfinite([truth, *scores]).all():
        raise ValueError("the score of some labels is not finite: expected finite scores")
    # Equal but for the rounding of means is equal.
    reached = scores >= truth - 1e-12 * abs(truth)
    return TestResult(float(truth), (1 + np.count_nonzero(reached)) / (1 + len(scores)))


def _differences(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    a, b = real_array(a, "a"), real_array(b, "b")
    if a.ndim != 1 or a.shape != b.shape or len(a) < 2:
        raise ValueError(
            f"scores of shapes {a.shape} and {b.shape}: expected one for each of 2 splits or more"
        )
    bad = ~(np.isfinite(a) & np.isfinite(b))
    if bad.any():
        i = int(bad.argmax())
        raise ValueError(f"scores of split {i} are {a[i]} and {b[i]}: expected finite numbers")
    # Neither statistic depends on the scale. A power of 2 changes no digit, and squares stay in range.
    exponent = np.frexp(max(np.abs(a).max(), np.abs(b).max()))[1]
    a, b = np.ldexp(a, -exponent), np.ldexp(b, -exponent)
    # Equal but for the rounding of means is equal.
    differences = a - b
    scale = np.maximum(np.abs(a), np.abs(b))
    differences = np.where(np.abs(differences) <= 1e-12 * scale, 0.0, differences)
    return np.ldexp(differences, -np.frexp(np.abs(differences).max())[1])
