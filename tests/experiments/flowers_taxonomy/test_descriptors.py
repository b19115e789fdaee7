"""Bags of words of flowers against plain loops, closed forms and mirrored images."""

import colorsys

import numpy as np
import pytest
from PIL import Image

from ermlab.exceptions import DataError
from ermlab.features.hog_cells import hog
from ermlab.features.surf import describe
from reproduction.experiments.flowers_taxonomy.descriptors import (
    CHANNELS,
    FlowerBags,
    FlowerSettings,
    Picture,
    bags_of_words,
    describe_channel,
    learn_vocabularies,
    mean_kernel,
    sample_descriptors,
    standard_picture,
)

VALUES = {
    "side": 40,
    "block": 5,
    "step": 8,
    "scales": [1.0, 1.5],
    "cell": 5,
    "boundary_points": 12,
    "boundary_scales": [1.0],
    "n_words": dict.fromkeys(CHANNELS, 4),
    "sample": 10,
}
SETTINGS = FlowerSettings(**VALUES)


def photograph(seed=0, shape=(40, 55)):
    rng = np.random.default_rng(seed)
    y, x = np.indices(shape)
    disc = ((y - shape[0] / 2) ** 2 + (x - shape[1] / 2) ** 2 < (0.3 * shape[0]) ** 2)[..., None]
    ground = np.where(disc, rng.integers(120, 255, 3), rng.integers(0, 100, 3))
    return (ground + rng.normal(0, 10, (*shape, 3))).clip(0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def picture():
    return standard_picture(photograph(), 40)


@pytest.fixture(scope="module")
def vocabularies():
    samples = [sample_descriptors(photograph(seed), SETTINGS, seed) for seed in range(3)]
    return learn_vocabularies(samples, SETTINGS, 0)


@pytest.mark.parametrize("shape", [(80, 110), (110, 80), (55, 40), (33, 61)])
def test_pictures_have_the_standard_size_and_a_mask_of_it(shape):
    picture = standard_picture(photograph(1, shape), 40)
    assert min(picture.mask.shape) == 40
    assert picture.rgb.shape == (*picture.mask.shape, 3)
    assert abs(max(picture.mask.shape) - 40 * max(shape) / min(shape)) <= 0.5
    assert picture.mask[picture.mask.shape[0] // 2, picture.mask.shape[1] // 2]
    assert not picture.mask[0, 0]


def test_color_is_the_mean_of_a_block_in_the_cone(picture):
    found = describe_channel(picture, "color", SETTINGS)
    assert found.descriptors.shape == (8 * 11, 3)
    for row, column in ((0, 0), (3, 7), (7, 10)):
        block = picture.rgb[5 * row : 5 * row + 5, 5 * column : 5 * column + 5].reshape(-1, 3)
        hue, saturation, value = colorsys.rgb_to_hsv(*block.mean(axis=0) / 255)
        expected = [
            saturation * np.cos(2 * np.pi * hue),
            saturation * np.sin(2 * np.pi * hue),
            value,
        ]
        # Bytes: the mean color, and then hue and saturation are rounded.
        np.testing.assert_allclose(found.descriptors[11 * row + column], expected, atol=0.04)
        assert found.inside[11 * row + column] == picture.mask[5 * row + 2, 5 * column + 2]


def test_texture_is_surf_of_brightness_and_opponent_colors(picture):
    found = describe_channel(picture, "texture", SETTINGS)
    red, green, blue = np.moveaxis(picture.rgb.astype(float), 2, 0)
    planes = (
        0.299 * red + 0.587 * green + 0.114 * blue,
        (red - green) / np.sqrt(2),
        (red + green - 2 * blue) / np.sqrt(6),
    )
    points = np.array([[x, y] for y in range(3, 40, 8) for x in range(3, 55, 8)])
    assert len(found.descriptors) == 2 * len(points)
    for number, scale in enumerate((1.0, 1.5)):
        rows = slice(number * len(points), (number + 1) * len(points))
        for part, plane in enumerate(planes):
            expected = describe(plane, points, scale)
            np.testing.assert_allclose(
                found.descriptors[rows, 64 * part : 64 * part + 64], expected, atol=1e-10
            )
        np.testing.assert_array_equal(found.inside[rows], picture.mask[points[:, 1], points[:, 0]])


def test_gradients_are_blocks_of_four_cells(picture):
    found = describe_channel(picture, "gradients", SETTINGS)
    cells = hog(picture.rgb, 5, pad=1)
    rows, columns = cells.shape[0] - 1, cells.shape[1] - 1
    assert found.descriptors.shape == (rows * columns, 4 * 31)
    for i, j in ((0, 0), (2, 5), (rows - 1, columns - 1)):
        block = [cells[i, j], cells[i, j + 1], cells[i + 1, j], cells[i + 1, j + 1]]
        np.testing.assert_array_equal(found.descriptors[i * columns + j], np.concatenate(block))
        # The corner that the four cells share.
        assert found.inside[i * columns + j] == picture.mask[5 * (i + 1), 5 * (j + 1)]


def test_a_picture_without_an_outline_has_no_boundary_and_an_empty_bag(vocabularies):
    picture = Picture(photograph(), np.ones((40, 55), dtype=bool))
    found = describe_channel(picture, "boundary", SETTINGS)
    assert found.descriptors.shape == (0, 64)
    flat = np.full((40, 55, 3), 90, dtype=np.uint8)
    bag = bags_of_words(flat, vocabularies, SETTINGS)["boundary"]
    assert bag.shape == (8,)
    assert bag.sum() in (0.0, 1.0)


def test_bags_count_the_nearest_words(vocabularies):
    bags = bags_of_words(photograph(7), vocabularies, SETTINGS)
    picture = standard_picture(photograph(7), SETTINGS.side)
    for channel in CHANNELS:
        descriptors, inside = describe_channel(picture, channel, SETTINGS)
        expected = np.zeros((2, 4))
        for descriptor, is_inside in zip(descriptors, inside, strict=True):
            word = np.argmin(((vocabularies[channel].centers_ - descriptor) ** 2).sum(axis=1))
            expected[0, word] += 1
            expected[1, word] += is_inside
        expected /= 2 * expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(bags[channel], expected.ravel(), atol=1e-12)


def test_samples_are_descriptors_of_the_image_and_depend_on_the_seed():
    first, again, other = (sample_descriptors(photograph(), SETTINGS, seed) for seed in (1, 1, 2))
    picture = standard_picture(photograph(), SETTINGS.side)
    for channel in CHANNELS:
        every = describe_channel(picture, channel, SETTINGS).descriptors
        assert len(first[channel]) == min(10, len(every))
        assert {row.tobytes() for row in first[channel]} <= {row.tobytes() for row in every}
        np.testing.assert_array_equal(first[channel], again[channel])
    assert not np.array_equal(first["color"], other["color"])


def test_mean_kernel_by_its_formula():
    rng = np.random.default_rng(0)
    bags = {"a": rng.random((7, 5)), "b": rng.random((7, 3))}
    train = np.array([0, 2, 3, 6])
    K = mean_kernel(bags, train)
    expected = np.zeros((7, 7))
    for bag in bags.values():
        D = np.array([[((x - y) ** 2 / (x + y)).sum() for y in bag] for x in bag])
        pairs = [D[i, j] for i in train for j in train if i < j]
        expected += np.exp(-D / np.median(pairs)) / 2
    np.testing.assert_allclose(K, expected, rtol=1e-10)
    np.testing.assert_array_equal(K, mean_kernel(bags, train, n_jobs=2))
    assert np.linalg.eigvalsh(K).min() > -1e-10


def test_test_images_do_not_change_the_kernel_of_training_images():
    rng = np.random.default_rng(1)
    bag = rng.random((8, 5))
    changed = bag.copy()
    changed[5:] = rng.random((3, 5))
    train = np.arange(5)
    np.testing.assert_array_equal(
        mean_kernel({"a": bag}, train)[:5, :5], mean_kernel({"a": changed}, train)[:5, :5]
    )


def test_bags_come_back_from_their_file(tmp_path):
    arrays = {channel: np.random.default_rng(0).random((3, 4)) for channel in CHANNELS}
    FlowerBags(np.arange(3), np.array([0, 0, 1]), **arrays).write(tmp_path / "bags.npz")
    back = FlowerBags.read(tmp_path / "bags.npz")
    assert list(back.channels()) == list(CHANNELS)
    np.testing.assert_array_equal(back.color, arrays["color"])
    (tmp_path / "bags.npz").write_bytes((tmp_path / "bags.npz").read_bytes()[:200])
    with pytest.raises(DataError, match=r"bags\.npz is not what FlowerBags\.write has written"):
        FlowerBags.read(tmp_path / "bags.npz")


def test_settings_name_every_channel():
    with pytest.raises(ValueError, match="n_words of color: expected color, texture"):
        FlowerSettings(**{**VALUES, "n_words": {"color": 5}})


def test_broken_input(picture, vocabularies):
    grey = np.asarray(Image.fromarray(photograph()).convert("L"))
    with pytest.raises(ValueError, match=r"image of shape \(40, 55\)"):
        bags_of_words(grey, vocabularies, SETTINGS)
    with pytest.raises(ValueError, match="side is 3: expected at least 16"):
        standard_picture(photograph(), 3)
    with pytest.raises(ValueError, match="channel is 'smell': expected one of color"):
        describe_channel(picture, "smell", SETTINGS)
    with pytest.raises(ValueError, match="no samples"):
        learn_vocabularies([], SETTINGS, 0)
    with pytest.raises(ValueError, match="bags is empty"):
        mean_kernel({}, [0, 1])
    with pytest.raises(ValueError, match="with the same n"):
        mean_kernel({"a": np.ones((3, 2)), "b": np.ones((4, 2))}, [0, 1])
