"""Films as rows of voxels: labels follow the haemodynamic response, regions keep their voxels."""

import nibabel as nib
import numpy as np
import pytest
from nilearn.glm.first_level import compute_regressor

from reproduction.experiments.fmri_studies.movie_series import (
    MovieSeries,
    _regions_on,
    label_series,
    whole_films,
)


@pytest.fixture
def series():
    rng = np.random.default_rng(0)
    mask = np.zeros((2, 3, 2), dtype=bool)
    mask[:, :2] = True
    return MovieSeries(
        rng.standard_normal((5, 8)).astype(np.float32),
        rng.standard_normal((4, 8)).astype(np.float32),
        rng.standard_normal((5, 2)),
        np.array(["motion", "faces"]),
        mask,
        np.eye(4),
        np.array([0, 1, 1, 2, 0, 0, 2, 0]),
        np.array(["motion", "faces"]),
        np.zeros((2, 2)),
    )


def test_labels_are_those_of_the_general_linear_model():
    # A label that is 1 for a while is a block of the first-level model.
    volumes, repetition_time, onset = 100, 2.0, 40.0
    label = np.zeros(volumes)
    label[20:30] = 1.0
    times = np.arange(volumes) * repetition_time
    expected, _ = compute_regressor(np.array([[onset], [20.0], [1.0]]), "spm", times)
    found = label_series(label[:, None], repetition_time)[:, 0]
    assert np.corrcoef(found, expected[:, 0])[0, 1] > 0.97
    assert found.mean() == pytest.approx(0, abs=1e-12)
    assert np.argmax(np.correlate(found, label - label.mean(), "full")) - (volumes - 1) in (2, 3)


def test_a_slow_drift_of_a_label_is_removed():
    times = np.arange(400)
    slow = np.cos(np.pi * (times + 0.5) / 400)
    assert np.abs(label_series(slow[:, None], 3.2)[100:]).max() < 0.05 * np.abs(slow).max()


def test_regions_keep_their_number_on_another_grid():
    volume = np.zeros((6, 6, 6), dtype=np.int16)
    volume[:3], volume[3:] = 4, 9
    coarse = nib.Nifti1Image(np.zeros((3, 3, 3)), np.diag([2.0, 2.0, 2.0, 1.0]))
    found = _regions_on(coarse, nib.Nifti1Image(volume, np.eye(4)), [9, 4])
    assert found[0, 0, 0] == 2
    assert found[2, 2, 2] == 1


def test_labels_and_regions_are_found_by_name(series):
    np.testing.assert_array_equal(whole_films(series).label("faces", "motion"), series.labels[:, ::-1])
    assert np.flatnonzero(series.region("faces")).tolist() == [3, 6]
    assert np.flatnonzero(series.region("motion", "faces")).tolist() == [1, 2, 3, 6]


def test_unknown_names_are_refused(series):
    with pytest.raises(ValueError, match=r"labels \['smell'\]"):
        whole_films(series).label("motion", "smell")
    with pytest.raises(ValueError, match=r"regions \['smell'\]"):
        series.region("smell")
