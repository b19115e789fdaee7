"""The interval of paired differences, against SciPy and by hand."""

import numpy as np
import pytest
from scipy import stats

from reproduction.claims.results import repeated
from reproduction.experiments.intervals import count_worse, interval_text, paired_interval, repeated_interval


def test_interval_is_that_of_the_t_test():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 7))
    found = paired_interval(first, second)
    expected = stats.ttest_rel(first, second).confidence_interval(0.95)
    assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high))
    assert found["mean"] == pytest.approx((first - second).mean())


def test_interval_of_four_pairs():
    # Differences 1, 2, 3, 2: mean 2, standard error sqrt(2/3) / 2 = 0.40825, Student's t 3.18245.
    gain = paired_interval([2, 4, 6, 5], [1, 2, 3, 3])
    assert gain == pytest.approx({"mean": 2, "low": 2 - 1.29923, "high": 2 + 1.29923}, abs=1e-5)


def test_equal_differences():
    assert paired_interval([3, 4], [1, 2]) == {"mean": 2, "low": 2, "high": 2}


@pytest.mark.parametrize(("first", "second"), [([], []), ([3], [1]), ([1, 2], [1]), ([[1]], [[2]])])
def test_what_is_not_paired_is_refused(first, second):
    with pytest.raises(ValueError, match="expected at least two pairs"):
        paired_interval(first, second)


def test_interval_of_repeats_is_that_of_their_differences():
    differences = [1.0, 2.0, 3.0, 2.0]
    assert repeated_interval(repeated(differences)) == paired_interval(differences, [0, 0, 0, 0])
    # Test parts of 3/4 of the training parts: the variance is (1/4 + 3/4) / (1/4) = 4 times as large.
    wide = repeated_interval(repeated(differences, unit="split", test_over_train=0.75))
    assert wide == pytest.approx({"mean": 2, "low": 2 - 2 * 1.29923, "high": 2 + 2 * 1.29923}, abs=1e-5)
    with pytest.raises(ValueError, match="1 repeats: expected at least two"):
        repeated_interval(repeated([1.0]))


def test_interval_as_text():
    # Mean 2, standard deviation 1, and t = 4.303 with two degrees of freedom.
    assert interval_text({"repeats": [1, 2, 3]}, format=".2f") == "2.00 (-0.48 to 4.48)"
    assert interval_text({"repeats": [0.25]}, factor=100) == "25"


def test_cells_are_worse_if_a_corrected_test_says_so():
    base = np.array([0.5, 0.52, 0.48, 0.51, 0.49])
    clearly, hardly = base - [0.1, 0.12, 0.09, 0.1, 0.11], base - [0.1, -0.12, 0.09, -0.1, 0.11]
    assert count_worse([clearly, hardly], [[base, base]]) == 1
    assert count_worse([clearly, clearly], [[base, base]]) == 2
    assert count_worse([base, base], [[clearly, clearly]]) == 0
    # Worse than one of two others is enough, and counts once.
    assert count_worse([base, base], [[base + 0.1, clearly], [base + 0.1, hardly]]) == 1
    # A p-value between .025 and .05 passes alone, but not as the smallest of two.
    almost = base - [0.02, 0.01, 0.01, 0.05, 0.01]
    assert 0.025 < stats.ttest_rel(almost, base, alternative="less").pvalue < 0.05
    assert count_worse([almost], [[base]]) == 1
    assert count_worse([almost, base], [[base, base]]) == 0
    # Training parts that overlap widen the spread of the mean.
    assert count_worse([almost], [[base]], test_over_train=0.5) == 0


def test_a_single_measurement_is_never_significant():
    assert count_worse([[0.1]], [[[0.9]]]) == 0
