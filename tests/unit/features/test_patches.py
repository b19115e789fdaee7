"""Turned patches: quarter turns exact, points go where `turned` says, and grids are computed once."""

import numpy as np
import pytest
from scipy.ndimage import rotate

from ermlab.features.hog_cells import hog
from ermlab.features.patches import Region, RegionGrids, turned, turned_patch


def random_image(seed=0, shape=(60, 70, 3)):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def test_without_a_turn_the_patch_is_a_part_of_the_image():
    image = random_image()
    np.testing.assert_array_equal(turned_patch(image, (30, 25), 11), image[20:31, 25:36])
    np.testing.assert_array_equal(turned_patch(image[..., 0], (30, 25), 11), image[20:31, 25:36, 0])


@pytest.mark.parametrize("quarters", range(5))
def test_quarter_turns_are_exact(quarters):
    image = random_image()
    patch = turned_patch(image, (30, 25), 21, quarters * np.pi / 2)
    # x goes to y, which points down: clockwise to the eye.
    np.testing.assert_array_equal(patch, np.rot90(image[15:36, 20:41], -quarters))


@pytest.mark.parametrize("angle", [0.3, 1.2, 2.9, 5.0])
def test_any_turn_against_scipy(angle):
    image = random_image(1)[..., 0].astype(float)
    expected = rotate(image[10:51, 15:56], -np.degrees(angle), reshape=False, order=1)
    patch = turned_patch(image, (35, 30), 41, angle)
    np.testing.assert_allclose(patch[10:31, 10:31], expected[10:31, 10:31], atol=1e-3)


@pytest.mark.parametrize("angle", [0.0, 0.7, np.pi / 2, 4.0])
def test_a_bright_spot_moves_as_its_location_does(angle):
    image, place = np.zeros((80, 80)), np.array([9, -4])
    image[40 + place[1] - 1 : 40 + place[1] + 2, 40 + place[0] - 1 : 40 + place[0] + 2] = 1
    patch = turned_patch(image, (40, 40), 41, angle)
    rows, columns = np.indices(patch.shape)
    found = np.array([np.sum(patch * columns), np.sum(patch * rows)]) / patch.sum() - 20
    np.testing.assert_allclose(found, turned(place, angle), atol=0.1)


def test_outside_the_image_its_border_goes_on():
    image = random_image(2)
    patch = turned_patch(image, (0, 0), 5)
    np.testing.assert_array_equal(patch[:3, :3], np.broadcast_to(image[0, 0], (3, 3, 3)))
    assert np.isfinite(turned_patch(image, (-100, 500), 9, 1.0)).all()


def test_grids_are_those_of_the_patches_and_computed_once():
    grids = RegionGrids([random_image(3)], cells=5)
    assert grids.side == 35
    regions = [Region(0, 30, 25, angle) for angle in (0.0, 0.5, 1.0)]
    first = grids.stack([*regions[:2], regions[0]])
    assert grids.computed == 2
    np.testing.assert_array_equal(first[0], first[2])
    np.testing.assert_array_equal(first[1], hog(turned_patch(grids.images[0], (30, 25), 35, 0.5), 5))
    again = grids.stack(regions)
    assert grids.computed == 3
    np.testing.assert_array_equal(again[:2], first[:2])
    np.testing.assert_array_equal(grids.grid(regions[2]), again[2])
    assert grids.computed == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: turned_patch(np.zeros((5, 5)), (0, 0), 0), "side is 0: expected a whole number"),
        (lambda: turned_patch(np.zeros(5), (0, 0), 3), r"shape \(5,\): expected \(height, width"),
        (lambda: RegionGrids([], 4), "4 cells of 5 pixels: expected odd numbers"),
        (lambda: RegionGrids([], 5, 8), "5 cells of 8 pixels: expected odd numbers"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("centre", [(np.nan, 1.0), (1.0, np.nan), (np.inf, 1.0)])
def test_a_centre_that_is_no_place_is_refused(centre):
    with pytest.raises(ValueError, match=r"center is .*: expected finite numbers"):
        turned_patch(np.zeros((5, 5)), centre, 3)


def test_an_angle_that_is_none_is_refused():
    with pytest.raises(ValueError, match="angle is nan: expected a finite number"):
        turned_patch(np.zeros((5, 5)), (2, 2), 3, np.nan)


def test_images_of_any_type():
    image = np.arange(25).reshape(5, 5)
    expected = turned_patch(image, (2, 2), 3, 0.4)
    for same in (image.tolist(), image.astype(">i4"), image.astype(np.float16), np.asfortranarray(image)):
        np.testing.assert_allclose(turned_patch(same, (2, 2), 3, 0.4), expected, rtol=1e-6)
    with pytest.raises(ValueError, match="image is not finite around"):
        turned_patch(np.full((5, 5), 1e300), (2, 2), 3)


@pytest.mark.parametrize("number", [-1, 1])
def test_a_region_of_no_image_is_refused(number):
    with pytest.raises(ValueError, match="expected an image from 0 to 0"):
        RegionGrids([np.zeros((30, 30))], 3).grid(Region(number, 15, 15))


def test_extended_precision():
    image = random_image().astype(np.float64)
    expected = turned_patch(image, (20, 20), 9, 0.3)
    np.testing.assert_array_equal(turned_patch(image.astype(np.longdouble), (20, 20), 9, 0.3), expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: turned_patch(random_image(), (3, 3), 10**6), "GiB of memory"),
        (lambda: turned_patch(random_image(), (3, 3, 3), 5), "expected x and y"),
        (lambda: turned_patch(random_image(), (3, 3), 5, "left"), "angle is 'left'"),
        (lambda: turned([[np.nan, 1.0]], 0.3), "not finite"),
        (lambda: turned([[1.7e308, 1.7e308]], np.pi / 4), "not finite"),
        (lambda: turned([[1.0, 2.0, 3.0]], 0.3), "points of shape"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_places_that_are_none_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
