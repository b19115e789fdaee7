"""Stretches have gaps between them, and lose their drifts only."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ermlab.fmri import high_pass
from ermlab.fmri.stretches import drift_basis, stretch_numbers, without_drifts


@given(count=st.integers(1, 6), gap=st.integers(0, 5), data=st.data())
def test_stretches_are_contiguous_of_similar_length_with_the_given_gap(count, gap, data):
    volumes = data.draw(st.integers((gap + 2) * count, 100))
    numbers = stretch_numbers(volumes, count, gap)
    places = [np.flatnonzero(numbers == number) for number in range(count)]
    assert all((np.diff(stretch) == 1).all() for stretch in places)
    assert [b[0] - a[-1] - 1 for a, b in pairwise(places)] == [gap] * (count - 1)
    assert places[0][0] == 0
    assert places[-1][-1] == volumes - 1
    lengths = [len(stretch) for stretch in places]
    assert max(lengths) - min(lengths) <= gap + 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((10, 2, -1), "gap is -1: expected a whole number of at least 0"),
        ((10, 0, 1), "0 stretches: expected 1 to 10"),
        ((10, 11, 1), "11 stretches: expected 1 to 10"),
        ((9, 3, 3), "nothing is left of stretch 1: expected more than 3 volumes in each of 3 stretches of 9"),
    ],
)
def test_stretches_that_cannot_be_cut_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        stretch_numbers(*arguments)


def test_without_a_high_pass_only_the_mean_is_removed():
    assert drift_basis(40, 3.2, None).tolist() == np.ones((40, 1)).tolist()
    rng = np.random.default_rng(2)
    series, stretches = rng.standard_normal((40, 2)), np.repeat([0, 1], 20)
    found = without_drifts(series, stretches, 3.2, None)
    np.testing.assert_allclose(found[:20], series[:20] - series[:20].mean(axis=0))


def test_the_drifts_are_what_the_high_pass_removes():
    drifts = drift_basis(350, 3.2)
    assert drifts.shape == (350, 5)
    passed = high_pass(drifts, 3.2)
    np.testing.assert_allclose(passed[:, 1:], 0, atol=1e-9)
    np.testing.assert_allclose(passed[:, 0], 1)  # the mean stays


def test_each_stretch_loses_its_drifts_only():
    rng = np.random.default_rng(1)
    series, stretches = rng.standard_normal((350, 3)), np.repeat([0, -1, 1], [150, 20, 180])
    found, drifts = without_drifts(series, stretches, 3.2), drift_basis(350, 3.2)
    for number in (0, 1):
        here = stretches == number
        np.testing.assert_allclose(drifts[here].T @ found[here], 0, atol=1e-9)
        taken = series[here] - found[here]
        fit = drifts[here] @ np.linalg.lstsq(drifts[here], taken, rcond=None)[0]
        np.testing.assert_allclose(fit, taken, atol=1e-9)
    np.testing.assert_array_equal(found[stretches < 0], series[stretches < 0])


def test_stretches_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="3 stretch numbers: expected one for each of 4"):
        without_drifts(np.zeros((4, 1)), np.zeros(3, dtype=int), 3.2)
    with pytest.raises(ValueError, match="stretch 1 has 4 volumes: expected more than 6"):
        without_drifts(np.zeros((350, 1)), np.repeat([0, 1], [346, 4]), 3.2)


@pytest.mark.parametrize(
    ("repetition_time", "cutoff"),
    [(2.0, 0.0), (2.0, -5.0), (2.0, np.nan), (np.inf, 5.0), (2.0, 5e-324), (1e300, 5.0), (2.0, "slow")],
)
def test_invalid_times_are_refused(repetition_time, cutoff):
    with pytest.raises(ValueError, match="expected"):
        drift_basis(10, repetition_time, cutoff)


@pytest.mark.parametrize("arguments", [(10, 2.5, 0), (10, 2, 1.5), (10**14, 2, 0), (10, "two", 0)])
def test_invalid_numbers_of_volumes_are_refused(arguments):
    with pytest.raises(ValueError, match=r"expected a whole number|GiB of memory"):
        stretch_numbers(*arguments)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1j])
def test_series_that_are_not_finite_are_refused(wrong):
    series = np.ones((40, 2)) * wrong
    with pytest.raises(ValueError, match="series has"):
        without_drifts(series, stretch_numbers(40, 2, 0), 2.0)
