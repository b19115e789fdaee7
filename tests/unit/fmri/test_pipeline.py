import nibabel as nib
import numpy as np
import pytest
from nilearn.datasets import load_mni152_brain_mask, load_mni152_template
from threadpoolctl import threadpool_limits

from ermlab.fmri import (
    Preprocessing,
    brain_mask,
    correct_slice_timing,
    high_pass,
    low_pass,
    preprocess,
    realign,
    scale_globally,
    smooth,
)

TR, VOLUMES = 3.2, 14


@pytest.fixture(scope="module")
def scan():
    """A still brain with a wave in its left half, drift, changing gain and noise."""
    template, rng = load_mni152_template(6), np.random.default_rng(0)
    wave = np.sin(2 * np.pi * np.arange(VOLUMES) / 7)
    data = 1000 * template.get_fdata()[..., None] * (1 + 0.1 * rng.random(VOLUMES))
    data[: template.shape[0] // 2] *= 1 + 0.05 * wave
    data += rng.normal(scale=8, size=data.shape)
    img = nib.Nifti1Image(data.astype(np.float32), template.affine)
    img.header.set_xyzt_units("mm", "sec")
    img.header.set_zooms((6, 6, 6, TR))
    return img


def slice_times(img):
    return np.linspace(0, TR, img.shape[2], endpoint=False)


def test_the_chain_is_its_steps_in_the_order_of_the_thesis(scan):
    done = preprocess(scan, Preprocessing(TR, slice_times=slice_times(scan)))
    realigned = realign(correct_slice_timing(scan, slice_times(scan), TR))
    mask = brain_mask(realigned.img).get_fdata() > 0
    series = smooth(realigned.img, 6.0).get_fdata(dtype=np.float32)[mask].T
    series = low_pass(high_pass(scale_globally(series), TR, 512.0), TR)
    np.testing.assert_array_equal(done.mask, mask)
    np.testing.assert_allclose(done.series, series, rtol=1e-5)
    np.testing.assert_array_equal(done.motion, realigned.parameters)
    np.testing.assert_array_equal(done.affine, scan.affine)
    assert done.series.shape == (VOLUMES, mask.sum())
    assert done.series.dtype == np.float32


def test_steps_can_be_left_out(scan):
    mask = load_mni152_brain_mask(6)
    settings = Preprocessing(
        TR, realign=False, mask=mask, fwhm=0.0, scale=False, high_pass=None, low_pass=False
    )
    done = preprocess(scan, settings)
    np.testing.assert_array_equal(done.series, scan.get_fdata(dtype=np.float32)[mask.get_fdata() > 0].T)
    assert not done.motion.any()


def test_on_the_grid_of_a_template_the_wave_is_where_it_was(scan):
    template = load_mni152_template(8)
    done = preprocess(scan, Preprocessing(TR, template=template, low_pass=False))
    assert done.mask.shape == template.shape
    np.testing.assert_array_equal(done.affine, template.affine)
    brain = load_mni152_brain_mask(8).get_fdata() > 0
    assert 2 * (done.mask & brain).sum() / (done.mask.sum() + brain.sum()) > 0.9
    wave = np.sin(2 * np.pi * np.arange(VOLUMES) / 7)
    strength = (done.series - done.series.mean(axis=0)).T @ wave
    places = nib.affines.apply_affine(template.affine, np.argwhere(done.mask))[:, 0]
    # Voxels of the left half of the array; global scaling turns what the others do not do into its opposite.
    left = np.sign(strength[places < -12].mean())
    assert (np.sign(strength[places < -12]) == left).mean() > 0.95
    assert (np.sign(strength[places > 12]) == -left).mean() > 0.95


def test_threads_do_not_change_a_bit(scan):
    settings = Preprocessing(TR, slice_times=slice_times(scan), template=load_mni152_template(8))
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            results.append(preprocess(scan, settings))
    np.testing.assert_array_equal(results[1].series, results[0].series)
    np.testing.assert_array_equal(results[1].motion, results[0].motion)


def test_a_file_will_do(scan, tmp_path):
    nib.save(scan, tmp_path / "bold.nii.gz")
    settings = Preprocessing(TR, fwhm=0.0, low_pass=False)
    from_file, from_memory = preprocess(tmp_path / "bold.nii.gz", settings), preprocess(scan, settings)
    np.testing.assert_array_equal(from_file.series, from_memory.series)


def test_bad_input_is_rejected(scan):
    empty = nib.Nifti1Image(np.zeros(scan.shape[:3], dtype=np.uint8), scan.affine)
    other = nib.Nifti1Image(np.ones(scan.shape[:3], dtype=np.uint8), 2 * scan.affine)
    for settings, message in [
        (Preprocessing(2.0), "repetition_time is 2.0 s, but the header of the image says 3.2 s"),
        (Preprocessing(TR, slice_times=[0.0]), "expected one per slice, 33"),
        (Preprocessing(TR, realign=False, mask=empty), "the mask is empty"),
        (Preprocessing(TR, realign=False, mask=other), "mask has the affine"),
        (Preprocessing(TR, realign=False, fwhm=-6.0), "fwhm is -6.0"),
        (Preprocessing(TR, realign=False, high_pass=1.0), "cutoff is 1.0 s"),
    ]:
        with pytest.raises(ValueError, match=message):
            preprocess(scan, settings)
    data = scan.get_fdata(dtype=np.float32).copy()
    data[3, 3, 3, 3] = np.nan
    with pytest.raises(ValueError, match=r"1 NaN or infinite voxels, first \(3, 3, 3, 3\)"):
        preprocess(nib.Nifti1Image(data, scan.affine), Preprocessing(TR))
