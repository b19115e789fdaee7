"""The flower is found where it was drawn, and its outline is the pixels that touch the outside."""

import numpy as np
import pytest

from reproduction.experiments.flowers_taxonomy.mask import BINS, _color_codes, boundary_points, foreground


def drawn_flower(shape=(60, 80), centre=(32, 38), radius=17, seed=0):
    """Return a noisy yellow disc on a noisy green ground, and where the disc is."""
    rng = np.random.default_rng(seed)
    y, x = np.indices(shape)
    disc = (y - centre[0]) ** 2 + (x - centre[1]) ** 2 <= radius**2
    image = np.where(disc[..., None], (220, 200, 40), (60, 110, 50)) + rng.normal(0, 12, (*shape, 3))
    return image.clip(0, 255).astype(np.uint8), disc


@pytest.mark.parametrize("radius", [17, 21, 25])
def test_a_drawn_flower_is_found(radius):
    image, disc = drawn_flower(radius=radius)
    found = foreground(image)
    assert (found & disc).sum() / (found | disc).sum() > 0.8


@pytest.mark.parametrize(("centre", "radius"), [((32, 38), 8), ((22, 24), 14)])
def test_a_small_flower_may_take_ground_with_it_but_is_never_lost(centre, radius):
    image, disc = drawn_flower(centre=centre, radius=radius)
    found = foreground(image)
    assert found[disc].mean() > 0.95
    assert found[~disc].mean() < 0.5
    assert not found[:, -8:].any()


def test_mirrored_images_have_mirrored_masks():
    image, _ = drawn_flower(seed=3)
    np.testing.assert_array_equal(foreground(image[:, ::-1]), foreground(image)[:, ::-1])


def test_an_image_of_one_color_has_a_mask_that_is_not_empty():
    assert foreground(np.full((20, 30, 3), 77, dtype=np.uint8)).any()


def test_codes_tell_all_bins_apart():
    levels = np.arange(BINS) * (256 // BINS)
    grid = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    codes = _color_codes(grid.astype(np.uint8)).ravel()
    np.testing.assert_array_equal(codes, np.arange(BINS**3))
    np.testing.assert_array_equal(_color_codes((grid + 256 // BINS - 1).astype(np.uint8)).ravel(), codes)


def test_boundary_is_every_pixel_with_a_neighbor_outside():
    mask = np.random.default_rng(0).random((9, 12)) < 0.7
    expected = {
        (x, y)
        for y, x in np.argwhere(mask)
        for dy, dx in ((0, 1), (0, -1), (1, 0), (-1, 0))
        if 0 <= y + dy < 9 and 0 <= x + dx < 12 and not mask[y + dy, x + dx]
    }
    points = boundary_points(mask, 1000)
    assert {tuple(point) for point in points} == expected
    assert len(points) == len(expected)


def test_of_many_boundary_points_some_are_taken_evenly():
    mask = np.zeros((40, 40), dtype=bool)
    mask[5:35, 5:35] = True
    every, chosen = boundary_points(mask, 1000), boundary_points(mask, 20)
    assert len(every) == 4 * 29
    assert len(chosen) == 20
    assert {tuple(p) for p in chosen} <= {tuple(p) for p in every}
    assert np.ptp(chosen, axis=0).tolist() == [29, 29]


def test_a_flower_that_fills_the_image_has_no_boundary():
    assert boundary_points(np.ones((5, 6), dtype=bool), 10).shape == (0, 2)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros((4, 5), dtype=np.uint8), r"shape \(4, 5\) and type uint8: expected \(height, width, 3\)"),
        (np.zeros((4, 5, 3)), "type float64: expected"),
        (np.zeros((0, 5, 3), dtype=np.uint8), r"shape \(0, 5, 3\)"),
    ],
)
def test_what_is_no_image(image, message):
    with pytest.raises(ValueError, match=message):
        foreground(image)


def test_what_is_no_mask():
    with pytest.raises(ValueError, match=r"mask of shape \(3, 3\) and type float64"):
        boundary_points(np.zeros((3, 3)), 5)
    with pytest.raises(ValueError, match="max_points is 0: expected at least 1"):
        boundary_points(np.zeros((3, 3), dtype=bool), 0)
