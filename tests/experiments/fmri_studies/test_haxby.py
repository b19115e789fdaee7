"""The Haxby slice as series: detrended run by run, with unit variance."""

import numpy as np
import pytest

from reproduction.datasets.haxby2001_slice import HaxbySlice
from reproduction.experiments.fmri_studies.haxby import detrend_runs, prepare_haxby


def scan(labels):
    rng = np.random.default_rng(0)
    runs = np.repeat([0, 1], 10)
    bold = rng.standard_normal((3, 2, 1, 20)) + 50 * runs + np.arange(20)
    bold[0, 0, 0] = 7.0  # a voxel without signal
    mask = np.ones((3, 2, 1), dtype=bool)
    mask[2, 1] = False
    return HaxbySlice(bold, mask, np.array(labels), runs, np.eye(4), 2.5)


def test_each_run_has_no_mean_no_trend_and_unit_variance():
    found = prepare_haxby(scan(["rest", "face", "face", "house", "rest"] * 4))
    assert found.volumes.shape == (20, 5)
    assert found.names.tolist() == ["face", "house"]
    np.testing.assert_array_equal(found.category("house", "face"), found.categories[:, ::-1])
    for run in (found.volumes[:10], found.volumes[10:]):
        np.testing.assert_allclose(run.mean(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(np.arange(10) @ run, 0, atol=1e-9)
        np.testing.assert_allclose(run[:, 1:].std(axis=0), 1)
        np.testing.assert_allclose(run[:, 0], 0, atol=1e-9)


def test_a_category_is_its_detrended_indicator():
    found = prepare_haxby(scan(["rest", "face", "face", "house", "rest"] * 4))
    time = np.column_stack([np.ones(10), np.arange(10)])
    indicator = np.array([0, 1, 1, 0, 0] * 2, dtype=float)
    expected = indicator - time @ np.linalg.lstsq(time, indicator, rcond=None)[0]
    np.testing.assert_allclose(found.categories[:10, 0], expected, atol=1e-12)


def test_a_scan_of_rest_alone_is_refused():
    with pytest.raises(ValueError, match="all volumes are 'rest'"):
        prepare_haxby(scan(["rest"] * 20))


def test_runs_of_another_length_are_refused():
    with pytest.raises(ValueError, match="runs of length 3: expected one for each of 4"):
        detrend_runs(np.zeros((4, 2)), np.zeros(3))
