"""The compiled loops that look at a moved volume, at the ends of what they are given."""

import numpy as np
import pytest
from scipy import ndimage

from ermlab.fmri._splines_numba import reslice, sample
from reproduction.datasets.simulators.bold_motion_numba import resample


@pytest.mark.parametrize("shape", [(1, 4, 5), (4, 1, 1), (1, 1, 1), (2, 2, 2)])
def test_volumes_of_few_slices(shape):
    volume = np.random.default_rng(0).random(shape)
    coefficients = ndimage.spline_filter(volume, mode="mirror")
    found, inside = np.empty(shape), np.ones(shape, dtype=bool)
    reslice(coefficients, np.eye(3, 4), found, inside)
    np.testing.assert_allclose(found, volume, atol=1e-12)
    assert inside.all()
    values, seen = np.empty(volume.size), np.empty(volume.size, dtype=bool)
    sample(coefficients, np.eye(3, 4), np.argwhere(volume >= 0).astype(np.float64), values, seen)
    np.testing.assert_allclose(values, volume.ravel(), atol=1e-12)


def test_a_slice_is_left_by_a_shift_across_it():
    found, inside = np.empty((1, 4, 4)), np.ones((1, 4, 4), dtype=bool)
    motion = np.eye(3, 4)
    motion[0, 3] = 0.5
    reslice(np.ones((1, 4, 4)), motion, found, inside)
    assert not inside.any()


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_motions_that_lead_nowhere_are_refused(value):
    volume, motion = np.ones((3, 3, 3)), np.eye(3, 4)
    motion[1, 3] = value
    with pytest.raises(ValueError, match="motion is"):
        reslice(volume, motion, volume.copy(), np.ones((3, 3, 3), dtype=bool))
    with pytest.raises(ValueError, match="offset is"):
        resample(volume, motion[:, :3], motion[:, 3])
    points = np.array([[0.0, value, 0.0]])
    with pytest.raises(ValueError, match="squares of the points"):
        sample(volume, np.eye(3, 4), points, np.empty(1), np.empty(1, dtype=bool))


def test_shapes_that_do_not_belong_together_are_refused():
    volume = np.ones((3, 3, 3))
    with pytest.raises(ValueError, match="expected \\(n, 3\\), \\(n,\\) and \\(n,\\)"):
        sample(volume, np.eye(3, 4), np.zeros((2, 3)), np.empty(1), np.empty(2, dtype=bool))
    with pytest.raises(ValueError, match="volume"):
        reslice(volume, np.eye(3, 4), volume.copy(), np.ones((2, 3, 3), dtype=bool))
