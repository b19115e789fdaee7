import nibabel as nib
import numpy as np
import pytest
from nilearn.datasets import load_mni152_brain_mask, load_mni152_template
from nilearn.image import resample_img
from scipy import ndimage
from scipy.spatial.transform import Rotation

from ermlab.fmri import (
    affine_to_template,
    brain_mask,
    mean_brain,
    normalize,
    smooth,
    tissue_templates,
)

VOXEL = 4


@pytest.fixture(scope="module")
def template():
    return load_mni152_template(VOXEL)


def affine_motion(shift=(8, -12, 10), turns=(6, -4, 8), zooms=(1.08, 0.95, 1.05), shear=0.03):
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_euler("XYZ", turns, degrees=True).as_matrix() @ np.diag(zooms)
    matrix[0, 1] += shear
    matrix[:3, 3] = shift
    return matrix


def moved(img, matrix, shape=(54, 62, 52), voxel=VOXEL):
    """Move a brain by ``matrix`` and scan it on a grid of its own."""
    far = nib.Nifti1Image(img.get_fdata(dtype=np.float32), matrix @ img.affine)
    grid = np.diag([voxel, voxel, voxel, 1.0])
    grid[:3, 3] = [-voxel * n / 2 for n in shape]
    return resample_img(far, target_affine=grid, target_shape=shape, interpolation="continuous")


def echo_planar(scalp=0):
    """A brain with bright fluid and dark white matter, the template's the other way round; and a scalp."""
    grey, white, rest = (tissue.get_fdata() for tissue in tissue_templates(VOXEL))
    away = ndimage.distance_transform_edt(grey + white + rest < 0.5, sampling=VOXEL)
    data = 700 * grey + 550 * white + 1000 * rest + scalp * ((away > 6) & (away < 14))
    return nib.Nifti1Image(data.astype(np.float32), load_mni152_template(VOXEL).affine)


def largest_error(found, matrix):
    """Millimetres by which two motions differ at most over the box of a brain."""
    corners = np.array([[x, y, z, 1] for x in (-70, 70) for y in (-105, 72) for z in (-45, 80)])
    return np.linalg.norm((corners @ (found - matrix).T)[:, :3], axis=1).max()


@pytest.mark.parametrize(
    "matrix",
    [
        np.eye(4),
        affine_motion(),
        affine_motion(shift=(-15, 20, -12), turns=(-10, 5, -12), zooms=(0.9, 1.1, 0.93)),
        affine_motion(shift=(90, -120, 70)),  # files that do not say where the brain lies
    ],
    ids=["none", "usual", "large", "far"],
)
def test_a_known_affine_motion_is_found_within_a_tenth_of_a_voxel(template, matrix):
    shape = (54, 62, 52) if abs(matrix[0, 3]) < 50 else (90, 110, 80)
    found = affine_to_template(moved(template, matrix, shape), template)
    assert largest_error(found, matrix) < 0.1 * VOXEL


def test_a_mixture_of_tissues_matches_a_brain_of_another_contrast(template):
    matrix = affine_motion()
    source = moved(echo_planar(), matrix)
    assert largest_error(affine_to_template(source, tissue_templates(VOXEL)), matrix) < 0.1 * VOXEL
    assert largest_error(affine_to_template(source, template), matrix) > 0.1 * VOXEL


def test_the_normalised_series_lies_on_the_template(template):
    source = moved(template, affine_motion())
    rng = np.random.default_rng(0)
    data = 1000 * source.get_fdata()[..., None] * [1.0, 1.1] + rng.normal(size=(*source.shape, 2))
    series = nib.Nifti1Image(data.astype(np.float32), source.affine)
    normal = normalize(series, template)
    assert normal.shape == (*template.shape, 2)
    np.testing.assert_array_equal(normal.affine, template.affine)
    brain = load_mni152_brain_mask(VOXEL).get_fdata() > 0
    # nilearn's reslicing by the true motion has the same blur of two interpolations.
    back = nib.Nifti1Image(data.astype(np.float32), np.linalg.inv(affine_motion()) @ source.affine)
    truth = resample_img(back, target_affine=template.affine, target_shape=template.shape)
    for volume, expected in zip(normal.get_fdata()[brain].T, truth.get_fdata()[brain].T, strict=True):
        assert np.corrcoef(volume, expected)[0, 1] > 0.995
        np.testing.assert_allclose(volume.mean(), expected.mean(), rtol=0.01)
    by_source = normalize(series, template, source=source, components=[template])
    np.testing.assert_allclose(by_source.get_fdata(), normal.get_fdata(), atol=30)


@pytest.mark.parametrize("brightness", [0, 250])
def test_neither_a_scalp_nor_its_absence_changes_the_size_of_the_brain(brightness):
    source = moved(echo_planar(brightness), affine_motion())
    rng = np.random.default_rng(0)
    data = source.get_fdata() + 8 * np.abs(rng.normal(size=source.shape))
    series = nib.Nifti1Image(data[..., None].astype(np.float32), source.affine)
    found = affine_to_template(mean_brain(series), tissue_templates(VOXEL))
    brain = load_mni152_brain_mask(VOXEL)
    places = nib.affines.apply_affine(brain.affine, np.argwhere(brain.get_fdata() > 0))

    def mean_error(matrix):
        apart = nib.affines.apply_affine(matrix, places) - nib.affines.apply_affine(affine_motion(), places)
        return np.linalg.norm(apart, axis=1).mean()

    assert mean_error(found) < 0.1 * VOXEL
    if brightness:
        whole = nib.Nifti1Image(data.astype(np.float32), source.affine)
        assert mean_error(affine_to_template(whole, tissue_templates(VOXEL))) > 2 * mean_error(found)


def test_what_the_series_does_not_show_is_0(template):
    half = template.get_fdata(dtype=np.float32).copy()[:, :, : template.shape[2] * 3 // 4]
    series = nib.Nifti1Image(half[..., None], template.affine)
    normal = normalize(series, template, source=template)
    assert not normal.get_fdata()[:, :, -8:].any()
    assert normal.get_fdata()[:, :, 5:20].any()


def test_smoothing_spreads_a_point_to_the_width_asked_for():
    data = np.zeros((31, 31, 31, 2), dtype=np.float32)
    data[15, 15, 15] = 1000
    img = nib.Nifti1Image(data, np.diag([2, 2, 3, 1.0]))
    smoothed = smooth(img, 8.0).get_fdata()[..., 0]
    np.testing.assert_allclose(smoothed.sum(), 1000, rtol=1e-3)
    for axis, voxel in enumerate((2, 2, 3)):
        profile = smoothed.sum(axis=tuple(a for a in range(3) if a != axis))
        places = (np.arange(31) - 15) * voxel
        deviation = np.sqrt(np.sum(profile * places**2) / profile.sum())
        assert deviation * 2.3548 == pytest.approx(8.0, rel=0.02)
    assert smooth(img, 0) is img


def brain_scan(template, noise=20.0):
    rng = np.random.default_rng(0)
    data = 1000 * template.get_fdata()[..., None] + noise * np.abs(rng.normal(size=(*template.shape, 3)))
    return nib.Nifti1Image(data.astype(np.float32), template.affine)


@pytest.mark.parametrize("standard", [False, True])
@pytest.mark.parametrize("resolution", [4, 6])
def test_the_mask_holds_the_brain(standard, resolution):
    scan = brain_scan(load_mni152_template(resolution))
    mask = brain_mask(scan, standard=standard)
    found, truth = mask.get_fdata() > 0, load_mni152_brain_mask(resolution).get_fdata() > 0
    assert 2 * (found & truth).sum() / (found.sum() + truth.sum()) > 0.93
    np.testing.assert_array_equal(mask.affine, scan.affine)


def test_eyes_are_no_part_of_the_standard_mask(template):
    scan = brain_scan(template)
    data = scan.get_fdata(dtype=np.float32)
    places = nib.affines.apply_affine(
        template.affine, np.stack(np.meshgrid(*map(np.arange, template.shape), indexing="ij"), axis=-1)
    )
    brain = load_mni152_brain_mask(VOXEL).get_fdata() > 0
    eyes = (np.linalg.norm(places - [32, 60, -24], axis=-1) < 20) & ~brain
    eyes |= (np.linalg.norm(places * [-1, 1, 1] - [32, 60, -24], axis=-1) < 20) & ~brain
    data[eyes] = 1000
    scan = nib.Nifti1Image(data, template.affine)
    assert brain_mask(scan).get_fdata()[eyes].mean() > 0.5
    assert brain_mask(scan, standard=True).get_fdata()[eyes].mean() < 0.02


def test_bad_input_is_rejected(template):
    flat = nib.Nifti1Image(np.ones((12, 12, 12, 2), dtype=np.float32), np.eye(4))
    with pytest.raises(ValueError, match="the same in all voxels: expected a brain to mask"):
        brain_mask(flat)
    with pytest.raises(ValueError, match=r"fwhm is nan: expected 0 to .* millimeters"):
        smooth(flat, np.nan)
    with pytest.raises(ValueError, match=r"template has shape .*: expected a NIfTI image of 3 dimensions"):
        normalize(flat, flat)
    with pytest.raises(ValueError, match=r"img has shape .*: expected a NIfTI image of 4 dimensions"):
        normalize(template, template)
    empty = nib.Nifti1Image(np.zeros(template.shape, dtype=np.float32), template.affine)
    with pytest.raises(ValueError, match="no voxel above 0: expected a brain to register"):
        affine_to_template(empty, template)
    other = load_mni152_template(6)
    with pytest.raises(ValueError, match="a further template has shape"):
        affine_to_template(template, [template, other])
    shifted = nib.Nifti1Image(template.get_fdata(dtype=np.float32), template.affine + np.eye(4) * 0.5)
    with pytest.raises(ValueError, match="a further template has the affine"):
        affine_to_template(template, [template, shifted])


def test_no_template_is_rejected(template):
    with pytest.raises(ValueError, match="template is empty"):
        affine_to_template(template, [])
