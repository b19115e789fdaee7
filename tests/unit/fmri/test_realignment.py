import nibabel as nib
import numpy as np
import pytest
from scipy import ndimage
from scipy.spatial.transform import Rotation

from ermlab.fmri import excessive_motion, realign
from ermlab.fmri._registration import spline_coefficients
from ermlab.fmri._splines_numba import reslice, sample

SHAPE, VOXEL = (40, 46, 34), 4.0


def head(points):
    """The brightness of a head at places in millimeters: an ellipsoid with blobs inside."""
    rng = np.random.default_rng(5)
    edge = np.sqrt(np.sum((points / [58, 72, 48]) ** 2, axis=-1))
    brightness = 600 / (1 + np.exp((edge - 1) * 12))
    for _ in range(25):
        centre, width = rng.uniform(-0.6, 0.6, 3) * [58, 72, 48], rng.uniform(7, 14)
        size = rng.uniform(-250, 350)
        brightness += size * np.exp(-np.sum((points - centre) ** 2, axis=-1) / (2 * width**2))
    return brightness


def grid_affine():
    """Oblique, flipped along x, and its origin far from the head."""
    turn = Rotation.from_euler("xyz", [8, -5, 12], degrees=True).as_matrix()
    affine = np.eye(4)
    affine[:3, :3] = turn @ np.diag([-VOXEL, VOXEL, VOXEL])
    affine[:3, 3] = [35.0, -20.0, 60.0]
    return affine


def places():
    """Millimetres of each voxel from the middle of the grid."""
    indices = np.stack(np.meshgrid(*map(np.arange, SHAPE), indexing="ij"), axis=-1)
    return (indices - (np.array(SHAPE) - 1) / 2) @ grid_affine()[:3, :3].T


def scanned(motion, noise=0.0, seed=0):
    """Scan a head that moved by shifts and turns about the middle of the grid, one row a volume."""
    rng, volumes = np.random.default_rng(seed), []
    for row in motion:
        turn = Rotation.from_euler("XYZ", row[3:], degrees=True).as_matrix()
        volumes.append(head((places() - row[:3]) @ turn) + noise * rng.normal(size=SHAPE))
    return nib.Nifti1Image(np.stack(volumes, axis=-1).astype(np.float32), grid_affine())


def walk(volumes, seed, step=0.25):
    motion = np.random.default_rng(seed).normal(scale=step, size=(volumes, 6)).cumsum(axis=0)
    return motion - motion[0]


@pytest.mark.parametrize("to", ["first", "mean"])
def test_known_motion_is_found_within_a_tenth_of_a_voxel_and_of_a_degree(to):
    motion = walk(10, seed=1)
    found = realign(scanned(motion), to=to).parameters
    assert np.abs(found[:, :3] - motion[:, :3]).max() < 0.1 * VOXEL
    assert np.abs(found[:, 3:] - motion[:, 3:]).max() < 0.1


def test_under_noise_no_unbiased_estimate_could_be_much_better():
    noise, motion = 15.0, walk(20, seed=1)
    errors = realign(scanned(motion, noise=noise)).parameters[1:] - motion[1:]
    assert (np.sqrt(np.mean(errors**2, axis=0)) < 1.5 * cramer_rao(noise)).all()


def cramer_rao(noise):
    """Least standard deviation of the motion between two noisy volumes, by central differences of `head`."""
    rows = [head(places())]
    for i in range(6):
        step = np.zeros((2, 6))
        step[:, i] = 0.1, -0.1
        there, back = np.moveaxis(scanned(step).get_fdata(), 3, 0)
        rows.append((there - back) / 0.2)
    design = np.reshape(rows, (7, -1))  # the first row is the gain
    return np.sqrt(2 * noise**2 * np.diag(np.linalg.inv(design @ design.T)))[1:]


TURNS = np.array(
    [
        [2.0, 0, 0, 0, 0, 0],
        [0, -3.1, 0, 0, 0, 0],
        [0, 0, 1.3, 0, 0, 0],
        [0, 0, 0, 3, 0, 0],
        [0, 0, 0, 0, -4, 0],
        [0, 0, 0, 0, 0, 2.5],
        [8.0, -6.0, 7.0, 6.0, -5.0, 4.0],
    ]
)


@pytest.mark.parametrize("row", TURNS)
def test_each_shift_and_turn_has_its_own_column_and_sign(row):
    motion = np.array([np.zeros(6), row])
    np.testing.assert_allclose(realign(scanned(motion)).parameters, motion, atol=0.02)


def test_the_realigned_series_stands_still():
    motion = walk(8, seed=2, step=0.5)
    img = scanned(motion)
    before, after = img.get_fdata(), realign(img).img.get_fdata()
    inner = (slice(5, -5),) * 3
    moved = np.abs(before[inner] - before[inner][..., :1]).mean()
    left = np.abs(after[inner] - before[inner][..., :1]).mean()
    assert left < 0.05 * moved


def test_voxels_that_some_volume_does_not_show_are_0_in_all():
    motion = np.array([[0.0] * 6, [6.0, 0, 0, 0, 0, 0], [0.0] * 6])
    data = realign(scanned(motion)).img.get_fdata()
    hidden = (data == 0).all(axis=-1)
    assert hidden.any()
    np.testing.assert_array_equal(data == 0, np.broadcast_to(hidden[..., None], data.shape))
    # The head moved by 1.5 voxels towards +x, so that the hidden voxels lie at one end of that axis.
    ends = [hidden[:2].mean(), hidden[-2:].mean()]
    assert min(ends) < 0.3 < 0.7 < max(ends)
    assert not hidden[4:-4, 4:-4, 4:-4].any()


def test_brightness_that_changes_is_no_motion():
    motion = np.zeros((5, 6))
    img = scanned(motion, noise=5.0)
    gains = np.array([1.0, 1.3, 0.8, 1.1, 0.7], dtype=np.float32)
    bright = nib.Nifti1Image(img.get_fdata(dtype=np.float32) * gains, img.affine)
    assert np.abs(realign(bright).parameters).max() < 0.05


def test_the_origin_of_the_coordinates_does_not_matter():
    img = scanned(walk(4, seed=3))
    far = img.affine.copy()
    far[:3, 3] += [500.0, -300.0, 200.0]
    moved = nib.Nifti1Image(img.get_fdata(dtype=np.float32), far)
    np.testing.assert_allclose(realign(moved).parameters, realign(img).parameters, atol=1e-3)


def test_splines_agree_with_scipy():
    rng = np.random.default_rng(0)
    volume = rng.normal(size=(9, 8, 7)).astype(np.float32)
    coefficients = spline_coefficients(volume)
    motion = np.array([[0.97, 0.1, -0.2, 0.8], [-0.1, 0.99, 0.05, 0.4], [0.2, -0.05, 0.96, -0.3]])
    where = np.tensordot(motion[:, :3], np.indices(volume.shape), 1) + motion[:, 3, None, None, None]
    last = np.array(volume.shape)[:, None, None, None] - 1
    expected = ndimage.map_coordinates(volume, np.clip(where, 0, last), order=3, mode="mirror")
    inside = np.ones(volume.shape, dtype=bool)
    resliced = np.empty_like(volume)
    reslice(coefficients, motion, resliced, inside)
    np.testing.assert_allclose(resliced, expected, atol=1e-5)
    np.testing.assert_array_equal(inside, ((where >= -0.05) & (where <= last + 0.05)).all(axis=0))
    points = np.argwhere(np.ones(volume.shape)).astype(np.float64)
    values, seen = np.empty(len(points)), np.empty(len(points), dtype=bool)
    sample(coefficients, motion, points, values, seen)
    np.testing.assert_allclose(values.reshape(volume.shape), expected, atol=1e-5)
    np.testing.assert_array_equal(seen.reshape(volume.shape), inside)


def test_the_rule_of_exclusion():
    still = np.zeros((5, 6))
    assert not excessive_motion(still)
    for column, limit in [(0, 2.0), (2, -2.0), (3, 2.0), (5, -2.0)]:
        motion = still.copy()
        motion[3, column] = 0.99 * limit
        assert not excessive_motion(motion)
        motion[3, column] = limit
        assert excessive_motion(motion)
        assert not excessive_motion(motion, translation=3.0, rotation=3.0)


def test_bad_input_is_rejected():
    img = scanned(np.zeros((3, 6)))
    data = img.get_fdata(dtype=np.float32)
    with pytest.raises(ValueError, match=r"parameters of shape \(6,\): expected six finite numbers"):
        excessive_motion(np.zeros(6))
    with pytest.raises(ValueError, match="expected six finite numbers"):
        excessive_motion(np.full((2, 6), np.nan))
    with pytest.raises(ValueError, match=r"to is 'median': expected one of \('first', 'mean'\)"):
        realign(img, to="median")
    with pytest.raises(ValueError, match=r"fwhm is -1: expected 0 to .* millimeters"):
        realign(img, fwhm=-1)
    with pytest.raises(ValueError, match=r"shape \(40, 46, 34\): expected a NIfTI image of 4 dimensions"):
        realign(nib.Nifti1Image(data[..., 0], img.affine))
    with pytest.raises(ValueError, match="expected 4 voxels or more along each axis"):
        realign(nib.Nifti1Image(data[:, :, :1], img.affine))
    broken = data.copy()
    broken[1, 2, 3, 1] = np.inf
    with pytest.raises(ValueError, match=r"NaN or infinite voxels, first \(1, 2, 3, 1\)"):
        realign(nib.Nifti1Image(broken, img.affine))
    empty = data.copy()
    empty[..., 2] = 0
    with pytest.raises(ValueError, match="volume 2 of img is the same everywhere: expected a brain"):
        realign(nib.Nifti1Image(empty, img.affine))


def _noise(affine):
    data = np.random.default_rng(0).random((6, 6, 6, 2)).astype(np.float32)
    img = nib.Nifti1Image(data, np.eye(4))
    img._affine = np.asarray(affine, dtype=np.float64)  # as a damaged file has it
    return img


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "affine",
    [
        np.diag([0.0, 0.0, 0.0, 1.0]),
        np.diag([np.nan, 3.0, 3.0, 1.0]),
        np.diag([np.inf, 3.0, 3.0, 1.0]),
        np.diag([1e-30, 1e-30, 1e-30, 1.0]),
        [[3, 3, 0, 0], [0, 0, 1e-9, 0], [0, 0, 3, 0], [0, 0, 0, 1]],
    ],
)
def test_affines_without_an_inverse_are_rejected(affine):
    with pytest.raises(ValueError, match="img has"):
        realign(_noise(affine))


@pytest.mark.parametrize(
    "options", [{"fwhm": 1e9}, {"fwhm": 1e300}, {"spacing": np.nan}, {"spacing": 0}, {"tol": "small"}]
)
def test_millimeters_out_of_range_are_rejected(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} is"):
        realign(_noise(np.diag([3.0, 3.0, 3.0, 1.0])), **options)
