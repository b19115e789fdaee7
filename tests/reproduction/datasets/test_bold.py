"""The parts of simulated BOLD series against closed forms."""

import numpy as np
import pytest
from nilearn.datasets import load_mni152_brain_mask, load_mni152_template
from scipy import ndimage
from scipy.spatial.transform import Rotation

from reproduction.datasets.simulators import bold_series as series
from reproduction.datasets.simulators.bold_anatomy import (
    BRIGHTNESS,
    Head,
    Region,
    draw_head,
    draw_networks,
    grid_coordinates,
    label_regions,
    load_template,
    random_fields,
    scanner_affine,
)
from reproduction.datasets.simulators.bold_films import KINDS, LABELS, draw_film, rate
from reproduction.datasets.simulators.bold_motion_numba import resample

SHAPE, RESOLUTION = (22, 22, 16), 9


@pytest.fixture(scope="module")
def head():
    return draw_head(np.random.default_rng(0), SHAPE, RESOLUTION)


def test_a_lasting_stimulus_is_answered_in_full_and_a_short_one_five_seconds_later():
    lasting = np.ones((1, 1000))
    assert series.hemodynamic(lasting)[0, -1] == pytest.approx(1, abs=1e-6)
    short = np.zeros((2, 600))
    short[:, 0] = 1
    early, late = series.hemodynamic(short, np.array([6.0, 7.0]))
    # The mode of a gamma density of shape k is k - 1; the undershoot moves it by less than a sample or two.
    assert series.FINE * early.argmax() == pytest.approx(5, abs=0.2)
    assert series.FINE * late.argmax() == pytest.approx(6, abs=0.2)
    assert early.min() < 0
    assert series.FINE * early.argmin() == pytest.approx(15.5, abs=1)


@pytest.mark.parametrize(("slices", "order"), [(4, [1, 3, 0, 2]), (5, [0, 2, 4, 1, 3]), (1, [0])])
def test_interleaved_slices(slices, order):
    times = series.interleaved(slices, 2.0)
    assert np.argsort(times).tolist() == order
    np.testing.assert_allclose(np.sort(times), 2.0 * np.arange(slices) / slices)


def test_slices_are_sampled_when_they_are_measured():
    when = series.Acquisition(3, 2.0, np.array([0.0, 1.0]))
    seconds = series.FINE * np.arange(when.fine_count)
    sampled = when.sample(np.stack([seconds, 2 * seconds]))
    np.testing.assert_allclose(sampled[0], [[0, 2, 4], [1, 3, 5]], rtol=1e-5)
    np.testing.assert_allclose(sampled[1], 2 * sampled[0], rtol=1e-5)


def test_autoregressive_courses_have_unit_variance_and_their_memory():
    x = series.forgetful(np.random.default_rng(0), 200, 400, memory=2.0, step=0.5)
    # Also at the first samples: the start is drawn from the stationary law.
    assert x[:, :5].std() == pytest.approx(1, abs=0.1)
    assert x.std() == pytest.approx(1, abs=0.02)
    assert np.mean(x[:, 2:] * x[:, :-2]) == pytest.approx(np.exp(-0.5), abs=0.02)


def test_random_fields_are_as_wide_as_asked():
    fields = random_fields(np.random.default_rng(0), 40, (24, 24, 24), 3, 12.0)
    assert fields.std() == pytest.approx(1, abs=0.01)
    # White noise smoothed by a Gaussian has a covariance of sqrt(2) times its width.
    sigma = 12.0 / np.sqrt(8 * np.log(2))
    for lag in (1, 2, 3):
        expected = np.exp(-((3 * lag) ** 2) / (4 * sigma**2))
        assert np.mean(fields[:, lag:] * fields[:, :-lag]) == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(("shape", "resolution"), [(SHAPE, RESOLUTION), ((40, 20, 1), 3.425)])
def test_fields_as_wide_as_the_head_have_mean_0_and_variance_1_too(shape, resolution):
    """As coil shading is; the widest that is used, on the smallest grids."""
    for one in random_fields(np.random.default_rng(0), 5, shape, resolution, 120.0):
        assert one.mean() == pytest.approx(0, abs=1e-3)
        assert one.std() == pytest.approx(1, abs=1e-3)


def test_images_of_all_people_are_about_as_bright():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        head = draw_head(rng, SHAPE, RESOLUTION)
        epi = head.epi(rng)
        assert epi.min() >= 0
        assert 800 < epi[head.t1() > 0.3].mean() < 1300


def test_resampling_is_exact_for_quadratic_functions():
    """Keys' kernel reproduces polynomials of degree two, wherever its four neighbors are inside."""
    grid = np.indices((9, 10, 11)).astype(float)

    def value(x, y, z):
        return 1 + x - 2 * y + 0.5 * z + 0.3 * x * y - 0.1 * z**2 + 0.2 * y**2

    turn = Rotation.from_euler("xyz", [4, -3, 5], degrees=True).as_matrix()
    offset = np.array([0.3, -0.2, 0.15])
    places = np.einsum("ij,jxyz->ixyz", turn, grid) + offset[:, None, None, None]
    inner = np.all([(p >= 1) & (p < n - 2) for p, n in zip(places, grid.shape[1:], strict=True)], axis=0)
    result = resample(value(*grid), turn, offset)
    assert inner.sum() > 50
    np.testing.assert_allclose(result[inner], value(*places)[inner], rtol=1e-9)


def test_a_head_at_rest_is_untouched_and_a_moved_one_is_where_the_motion_takes_it():
    volume = np.zeros((15, 15, 15))
    volume[9, 6, 7] = 1
    volume = ndimage.gaussian_filter(volume, 1.5)
    np.testing.assert_array_equal(series.moved(volume, np.zeros(3), np.eye(3)), volume)
    turn = Rotation.from_euler("xyz", [0, 0, 20], degrees=True).as_matrix()
    shift = np.array([0.5, -0.25, 1.0])
    expected = turn @ (np.array([9, 6, 7]) - 7) + 7 + shift
    result = series.moved(volume, shift, turn)
    found = [(np.indices(result.shape)[axis] * result).sum() / result.sum() for axis in range(3)]
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_motion_is_smooth_begins_at_zero_and_has_the_size_it_should():
    walks = np.stack([series.draw_motion(np.random.default_rng(k), 300) for k in range(200)])
    assert not walks[:, 0].any()
    for axes, scale in ((slice(0, 3), series.MOTION_MM), (slice(3, 6), series.MOTION_DEGREES)):
        assert np.sqrt(np.mean(walks[:, -1, axes] ** 2)) == pytest.approx(scale, rel=0.2)
    steps = np.diff(walks, axis=1)
    assert np.mean(steps[:, 1:] * steps[:, :-1]) > 0.8 * np.mean(steps**2)


def test_a_still_run_without_activity_has_the_noise_it_should(head):
    """Local noise in the brain, thermal noise in the air, and volumes that correlate by their memory."""
    when = series.Acquisition(200, 3.2, series.ascending(SHAPE[2], 3.2))
    epi = np.where(head.t1() > 0, 1000, 0).astype(np.float32)
    nothing = series.Components(np.zeros((1, *SHAPE), np.float32), np.zeros((1, SHAPE[2], 200), np.float32))
    run = series.render(np.random.default_rng(1), head, epi, nothing, when, np.zeros((200, 6)))
    brain = run[epi > 0] / 1000
    assert brain.mean() == pytest.approx(1, abs=1e-3)
    assert brain.std(axis=1).mean() == pytest.approx(series.LOCAL_SD, rel=0.1)
    x = brain - brain.mean(axis=1, keepdims=True)
    keep = (x[:, 1:] * x[:, :-1]).mean() / (x**2).mean()
    assert keep == pytest.approx(np.exp(-3.2 / series.LOCAL_MEMORY), abs=0.05)
    # Far from the signal the magnitude of complex noise is Rayleigh: its mean square is twice the variance.
    air = run[epi == 0].astype(float)
    thermal = series.BRIGHTNESS * series.THERMAL_SD * (3 / RESOLUTION) ** 3
    assert np.mean(air**2) == pytest.approx(2 * thermal**2, abs=0.15)


def test_a_component_is_seen_at_the_time_of_its_slice(head):
    when = series.Acquisition(4, 2.0, series.ascending(SHAPE[2], 2.0))
    courses = when.sample(series.FINE * np.arange(when.fine_count)[None])
    component = series.Components(np.ones((1, *SHAPE), np.float32), courses)
    volume = component.volume(2)
    np.testing.assert_allclose(volume[3, 4], 4 + when.slice_times, rtol=1e-5)
    both = component + component
    np.testing.assert_allclose(both.volume(2), 2 * volume, rtol=1e-5)


def test_heads_hold_the_template_where_their_pose_takes_it():
    """Without a warp, the template's brightest voxel lies where the pose says."""
    template = load_template(6)
    pose = np.eye(4)
    pose[:3, 3] = [6, -12, 6]
    coordinates = template.coordinates - pose[:3, 3]
    head = Head(template.t1.shape, template.affine, 6, template, pose, coordinates)
    np.testing.assert_allclose(head.t1()[1:, :-2, 1:], template.t1[:-1, 2:, :-1], atol=1e-5)


@pytest.mark.parametrize("offset", [0.0, 0.25, 0.5])
def test_a_brain_shines_as_much_on_a_coarse_grid_as_on_a_fine_one(offset):
    """Voxels at the rim shine by what they have of the brain, wherever the grid cuts it."""
    fine, inside = (load(resolution=2).get_fdata() for load in (load_mni152_template, load_mni152_brain_mask))
    truth = 8 * (1.6 - 0.9 * fine[inside > 0]).sum()
    shape, resolution, template = (40, 48, 38), 6, load_template(6)
    affine = scanner_affine(shape, resolution)
    affine[:3, 3] += offset * resolution
    coordinates = grid_coordinates(shape, affine)
    head = Head(shape, affine, resolution, template, np.eye(4), coordinates)
    shading = 1 + 0.1 * random_fields(np.random.default_rng(0), 1, shape, resolution, 120.0)[0]
    light = head.epi(np.random.default_rng(0)) / shading / BRIGHTNESS
    brain = ndimage.binary_dilation(head.sample(template.brain) >= 0.5)  # without the scalp, 6 mm away
    assert 6**3 * light[brain].sum() == pytest.approx(truth, rel=0.02)


def test_people_differ_in_size_and_pose():
    heads = [draw_head(np.random.default_rng(k), SHAPE, RESOLUTION) for k in range(8)]
    sizes = [abs(np.linalg.det(head.pose[:3, :3])) for head in heads]
    assert 0.02 < np.std(sizes) < 0.2
    brains = [(head.t1() > 0.2).sum() * RESOLUTION**3 / 1e6 for head in heads]
    assert all(1.2 < litres < 2.4 for litres in brains)


def test_networks_are_orthogonal_maps_of_gray_matter():
    template = load_template(9)
    maps = draw_networks(np.random.default_rng(0), 6, template).reshape(6, -1).astype(float)
    gram = maps @ maps.T
    np.testing.assert_allclose(gram / gram[0, 0], np.eye(6), atol=1e-4)
    assert not maps[:, template.gray.ravel() == 0].any()
    assert 0.8 < np.mean([np.percentile(one[one > 0.05], 95) for one in maps]) < 2.5


def test_regions_are_numbered_by_the_one_that_covers_most():
    regions = [Region("a", ((-20, -60, 20),), (12, 12, 12)), Region("b", ((-8, -60, 20),), (12, 12, 12))]
    template = load_template(3)
    numbers = label_regions(regions, template)
    assert set(np.unique(numbers)) == {0, 1, 2}
    middle = [template.coordinates[numbers == number].mean(axis=0) for number in (1, 2)]
    assert middle[0][0] < -14 < middle[1][0]
    assert (regions[0].weight(template.coordinates)[numbers == 1] >= 0.5).all()


def test_films_show_scenes_of_all_kinds_and_ratings_follow_them():
    film = draw_film(np.random.default_rng(0), 20000)
    assert film.content.min() == 0
    assert film.content.max() == 1
    assert set(film.kinds) == set(range(len(KINDS)))
    for kind, levels in enumerate(KINDS.values()):
        mean = film.content[:, film.kinds == kind].mean(axis=1)
        np.testing.assert_allclose(mean, np.clip(levels, 0.08, 0.92), atol=0.15)
    labels = rate(np.random.default_rng(1), film, 600, 3.2)
    assert labels.shape == (600, len(LABELS))
    shown = film.content[:, : 600 * 32].reshape(len(LABELS), 600, 32).mean(axis=2).T
    np.testing.assert_allclose(labels[:, :2], shown[:, :2], atol=1e-12)  # computed, not rated
    assert all(0.9 < np.corrcoef(labels[:, k], shown[:, k])[0, 1] < 0.999 for k in range(2, 6))
