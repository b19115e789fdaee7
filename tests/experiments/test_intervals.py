"""The interval of paired differences, against SciPy and by hand."""

import numpy as np
import pytest
from scipy import stats

from reproduction.claims.results import repeated
from reproduction.experiments.intervals import paired_interval, repeated_interval


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
