"""Levels of weight maps, and the share of the weight inside a region."""

import numpy as np
import pytest

from ermlab.fmri.weight_maps import target_share, threshold_level, threshold_weights


def test_the_level_counts_voxels_without_weight():
    weights = np.array([3.0, -3.0, 0.0, 0.0])
    assert threshold_level(weights, 2.0) == pytest.approx(2 * np.sqrt(18 / 4))


def test_what_is_left_is_larger_than_the_level():
    weights = np.random.default_rng(0).standard_normal(1000)
    kept = threshold_weights(weights, 2.0)
    large = np.abs(weights) > 2 * weights.std()
    assert 20 < large.sum() < 80
    assert (kept[large] == weights[large]).all()
    assert not kept[~large].any()


def test_the_share_is_that_of_absolute_weights_above_the_level():
    weights = np.zeros(100)
    weights[:3] = 6.0, -3.0, 1.0  # 2 deviations are 1.35, so the last one does not count
    target = np.zeros(100, dtype=bool)
    target[[1, 2]] = True
    assert target_share(weights, target) == pytest.approx(3 / 9)
    assert target_share(weights, ~target) == pytest.approx(6 / 9)


def test_weights_without_regard_for_the_region_have_its_share_of_voxels():
    rng = np.random.default_rng(1)
    weights, target = rng.standard_normal(200_000), rng.random(200_000) < 0.1
    assert target_share(weights, target) == pytest.approx(0.1, abs=0.01)


def test_no_weight_is_no_share():
    assert target_share(np.zeros(5), np.ones(5, dtype=bool)) == 0


@pytest.mark.parametrize(
    ("weights", "target", "message"),
    [
        ([1.0, np.nan], [True, False], "1 weights are NaN"),
        ([], [], "no weights"),
        ([1.0, 2.0], [True], r"shape \(1,\)"),
        ([1.0, 2.0], [False, False], "the target has no voxel"),
    ],
)
def test_broken_input_is_refused(weights, target, message):
    with pytest.raises(ValueError, match=message):
        target_share(weights, target)


def test_a_negative_level_is_refused():
    with pytest.raises(ValueError, match="sd is -1"):
        threshold_level([1.0], -1)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("power", [-1000, 660, 1015])
def test_maps_in_other_units(power):
    weights, unit = np.array([9.0, 1.0, 0.0, -1.0, 0.0, 8.0, 0.5, 0.0]), 2.0**power
    target = np.arange(8) < 3
    assert threshold_level(weights * unit) == threshold_level(weights) * unit
    np.testing.assert_array_equal(
        threshold_weights(weights * unit, 1.0), threshold_weights(weights, 1.0) * unit
    )
    assert target_share(weights * unit, target, 1.0) == target_share(weights, target, 1.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("weights", "sd"), [([1.7e308, -1.7e308], 2.0), ([1.0, 2.0], np.inf), ([1j], 2.0)])
def test_levels_that_are_infinite_are_refused(weights, sd):
    with pytest.raises(ValueError, match=r"expected|scale them down"):
        threshold_level(np.array(weights), sd)
