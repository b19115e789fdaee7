import nibabel as nib
import numpy as np
import pytest

from ermlab.exceptions import DataError
from ermlab.fmri import correct_slice_timing, reference_time

TR, SLICES, VOLUMES = 3.2, 9, 120
AMPLITUDE = 10.0


def interleaved(slices=SLICES):
    order = np.r_[0:slices:2, 1:slices:2]
    times = np.empty(slices)
    times[order] = np.arange(slices) * TR / slices
    return times


def waves(times, frequency, phases):
    """Series of 1000 plus a sinusoid, (phases, times)."""
    return 1000 + AMPLITUDE * np.sin(2 * np.pi * frequency * times + phases[:, None])


def acquired(frequency, slice_times, axis=2):
    """Sinusoids whose phase goes with the column; each slice is taken at its own time."""
    phases = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    volumes = np.arange(VOLUMES) * TR
    slices = [waves(volumes + time, frequency, phases).reshape(4, 3, -1) for time in slice_times]
    data = np.stack(slices, axis=axis)
    return nib.Nifti1Image(data.astype(np.float32), np.diag([3, 3, 3, 1.0])), phases


@pytest.mark.parametrize("frequency", [0.01, 0.04, 0.1])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_slices_taken_at_different_times_are_brought_to_that_of_the_middle_slice(frequency, axis):
    slice_times = interleaved()
    img, phases = acquired(frequency, slice_times, axis)
    corrected = correct_slice_timing(img, slice_times, TR, axis=axis).get_fdata()
    times = np.arange(VOLUMES) * TR + reference_time(slice_times)
    expected = np.stack([waves(times, frequency, phases).reshape(4, 3, -1)] * SLICES, axis=axis)
    errors = np.abs(corrected - expected).max(axis=(0, 1, 2))
    # Beyond the ends the wave is unknown: what is put there is off by twice the amplitude at most, and counts
    # with the tail of the sinc, 1 / (pi distance), from a place up to half a volume nearer to it.
    distance = np.minimum(np.arange(VOLUMES), np.arange(VOLUMES)[::-1]) + 0.5
    assert (errors <= 2 * AMPLITUDE / (np.pi * distance)).all()
    middle = slice(VOLUMES // 2 - 10, VOLUMES // 2 + 10)
    uncorrected = np.abs(img.get_fdata() - expected).max(axis=(0, 1, 2))
    assert errors[middle].max() < 0.05 * uncorrected[middle].max()


def test_the_middle_slice_and_constants_stay():
    slice_times = interleaved()
    img, _ = acquired(0.05, slice_times)
    corrected = correct_slice_timing(img, slice_times, TR)
    middle = int(np.flatnonzero(slice_times == reference_time(slice_times))[0])
    np.testing.assert_array_equal(corrected.get_fdata()[:, :, middle], img.get_fdata()[:, :, middle])
    flat = nib.Nifti1Image(np.full((2, 2, SLICES, 20), 7.0, dtype=np.float32), np.eye(4))
    np.testing.assert_allclose(correct_slice_timing(flat, slice_times, TR).get_fdata(), 7.0, rtol=1e-6)


def test_the_header_and_the_image_given_stay_as_they_are():
    img, _ = acquired(0.05, interleaved())
    img.header.set_xyzt_units("mm", "sec")
    img.header.set_zooms((3, 3, 3, TR))
    before = img.get_fdata().copy()
    corrected = correct_slice_timing(img, interleaved(), TR)
    assert corrected.header.get_zooms()[3] == pytest.approx(TR)
    np.testing.assert_array_equal(corrected.affine, img.affine)
    np.testing.assert_array_equal(img.get_fdata(), before)


def test_the_reference_is_the_middle_in_time():
    assert reference_time([0.0, 2.0, 1.0]) == 1.0
    assert reference_time([0.5, 0.0]) == 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slice_times": np.zeros(4)}, r"slice_times has shape \(4,\): expected one per slice, 9"),
        (
            {"slice_times": np.full(SLICES, 3.3)},
            r"slice_times\[0\] is 3.3: .* repetition time, 3.2",
        ),
        ({"slice_times": np.full(SLICES, np.nan)}, r"slice_times\[0\] is nan"),
        ({"repetition_time": 0}, "repetition_time is 0: expected at least 0.001 s"),
        ({"repetition_time": "3.2"}, "repetition_time is '3.2': expected at least"),
        ({"repetition_time": 3200.0}, "expected seconds, not milliseconds"),
        ({"repetition_time": 2.0}, "repetition_time is 2.0 s, but the header of the image says 3.2 s"),
        ({"axis": 3}, "axis is 3: expected 0, 1 or 2"),
    ],
)
def test_wrong_times_are_rejected(change, message):
    img, _ = acquired(0.05, interleaved())
    img.header.set_xyzt_units("mm", "msec")
    img.header.set_zooms((3, 3, 3, 1000 * TR))
    given = {"slice_times": interleaved(), "repetition_time": TR, **change}
    with pytest.raises(ValueError, match=message):
        correct_slice_timing(img, **given)


def test_images_that_are_no_series_are_rejected(tmp_path):
    single = nib.Nifti1Image(np.ones((4, 4, 9), dtype=np.float32), np.eye(4))
    with pytest.raises(ValueError, match=r"img has shape \(4, 4, 9\): expected a NIfTI image of 4"):
        correct_slice_timing(single, interleaved(), TR)
    with pytest.raises(ValueError, match="img is a ndarray: expected a NIfTI image of 4 dimensions"):
        correct_slice_timing(np.ones((4, 4, 9, 3)), interleaved(), TR)
    data = np.ones((4, 4, 9, 5), dtype=np.float32)
    data[1, 2, 3, 4] = np.nan
    with pytest.raises(ValueError, match=r"1 NaN or infinite voxels, first \(1, 2, 3, 4\)"):
        correct_slice_timing(nib.Nifti1Image(data, np.eye(4)), interleaved(), TR)
    with pytest.raises(ValueError, match="img has 1 volumes: expected at least 2"):
        correct_slice_timing(nib.Nifti1Image(data[..., :1], np.eye(4)), interleaved(), TR)
    with pytest.raises(DataError, match=r"nothing.nii.gz: no such file; expected a NIfTI image"):
        correct_slice_timing(tmp_path / "nothing.nii.gz", interleaved(), TR)
    (tmp_path / "cut.nii").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"cut.nii: ImageFileError: .*; expected a NIfTI image"):
        correct_slice_timing(str(tmp_path / "cut.nii"), interleaved(), TR)


@pytest.mark.parametrize("times", [[np.nan, 0.0], [1j]])
def test_a_reference_that_is_no_time_is_rejected(times):
    with pytest.raises(ValueError, match="slice_times"):
        reference_time(np.array(times))
