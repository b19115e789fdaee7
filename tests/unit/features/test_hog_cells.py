"""HOG against its definition in numpy, on constants and ramps, and under mirrors and rotations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ermlab.features.hog_cells import CLIP, EPSILON, N_ORIENTATIONS, TEXTURE, hog


def definition(image, cell, n=N_ORIENTATIONS):
    """The same features, in double precision, one step after the other."""
    image = np.asarray(image, dtype=float)
    image = image[..., None] if image.ndim == 2 else image
    rows, columns = (int(np.floor(side / cell + 0.5)) for side in image.shape[:2])
    ys, xs = np.mgrid[1 : rows * cell - 1, 1 : columns * cell - 1]
    iy, ix = np.minimum(ys, image.shape[0] - 2), np.minimum(xs, image.shape[1] - 2)
    dx, dy = image[iy, ix + 1] - image[iy, ix - 1], image[iy + 1, ix] - image[iy - 1, ix]
    strongest = np.argmax(dx**2 + dy**2, axis=-1)[..., None]
    dx, dy = (np.take_along_axis(d, strongest, axis=-1)[..., 0] for d in (dx, dy))
    angles = np.pi * np.arange(n) / n
    # Rounded, so that the bins on both sides of a right angle tie, and the first one wins.
    cosines, sines = (values.astype(np.float32).astype(float) for values in (np.cos(angles), np.sin(angles)))
    along = dx[..., None] * cosines + dy[..., None] * sines
    orientation = np.argmax(np.abs(along), axis=-1)
    negative = np.take_along_axis(along, orientation[..., None], axis=-1)[..., 0] < 0
    histograms = np.zeros((rows, columns, 2 * n))
    for i in range(rows):
        for j in range(columns):
            near_y = np.maximum(0, 1 - np.abs((ys + 0.5) / cell - 0.5 - i))
            near_x = np.maximum(0, 1 - np.abs((xs + 0.5) / cell - 0.5 - j))
            weights = near_y * near_x * np.hypot(dx, dy)
            np.add.at(histograms[i, j], (orientation + n * negative).ravel(), weights.ravel())
    unsigned = histograms[..., :n] + histograms[..., n:]
    energy = np.sum(unsigned**2, axis=-1)
    blocks = np.sqrt(energy[:-1, :-1] + energy[1:, :-1] + energy[:-1, 1:] + energy[1:, 1:] + EPSILON)
    inner = (slice(1, -1), slice(1, -1), slice(None), None)
    four = np.stack([blocks[1:, 1:], blocks[:-1, 1:], blocks[1:, :-1], blocks[:-1, :-1]], axis=-1)
    signed = np.minimum(histograms[inner] / four[:, :, None], CLIP)
    unsigned = np.minimum(unsigned[inner] / four[:, :, None], CLIP)
    return np.concatenate(
        [0.5 * signed.sum(axis=-1), 0.5 * unsigned.sum(axis=-1), TEXTURE * signed.sum(axis=2)], axis=-1
    )


def random_image(seed, shape=(60, 45, 3)):
    return np.random.default_rng(seed).uniform(0, 255, shape).astype(np.float32)


@given(
    seed=st.integers(0, 2**32 - 1),
    cell=st.integers(2, 9),
    height=st.integers(27, 50),
    width=st.integers(27, 50),
    channels=st.sampled_from([0, 1, 3]),
    n=st.sampled_from([4, 8, 9]),
)
def test_equals_the_definition(seed, cell, height, width, channels, n):
    # Of whole numbers no gradient is so near the border of two bins that rounding could decide.
    shape = (height, width, channels) if channels else (height, width)
    image = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    np.testing.assert_allclose(
        hog(image, cell, n_orientations=n), definition(image, cell, n), rtol=2e-4, atol=2e-6
    )


@given(arrays(np.uint8, (24, 27, 3)))
def test_finite_and_bounded_for_any_bytes(image):
    features = hog(image, 5)
    assert np.isfinite(features).all()
    assert features.min() >= 0
    assert features[..., :27].max() <= 4 * CLIP / 2 + 1e-6


@pytest.mark.parametrize("value", [0, 7, 255])
def test_a_constant_has_no_gradient(value):
    assert not hog(np.full((40, 50, 3), value, dtype=np.uint8), 5).any()


@pytest.mark.parametrize("orientation", range(18))
def test_a_ramp_has_one_orientation(orientation):
    angle = np.pi * orientation / 9
    y, x = np.mgrid[:40, :40]
    features = hog(np.cos(angle) * x + np.sin(angle) * y, 5)
    signed, unsigned = features[..., :18], features[..., 18:27]
    assert (signed.argmax(axis=-1) == orientation).all()
    assert (np.count_nonzero(signed, axis=-1) == 1).all()
    assert (np.count_nonzero(unsigned, axis=-1) == 1).all()
    # Far from the border the four blocks are alike: every part is clipped.
    np.testing.assert_allclose(signed[2, 2, orientation], 4 * CLIP / 2, rtol=1e-6)
    np.testing.assert_allclose(features[2, 2, 27:], TEXTURE * CLIP, rtol=1e-6)


def permuted(features, orientations, blocks):
    """Features whose orientation o was ``orientations[o]``, and whose block k was ``blocks[k]``."""
    n = orientations.size // 2
    return np.concatenate(
        [
            features[..., orientations],
            features[..., 2 * n + orientations[:n] % n],
            features[..., 3 * n + np.array(blocks)],
        ],
        axis=-1,
    )


# Blocks are, in this order, those in which the cell is upper left, lower left, upper right, lower right.
@pytest.mark.parametrize("n", [8, 9])
def test_mirror(n):
    image = random_image(3)
    o = np.arange(2 * n)
    expected = permuted(hog(image, 5, n_orientations=n)[:, ::-1], (n - o) % (2 * n), [2, 3, 0, 1])
    np.testing.assert_allclose(hog(image[:, ::-1], 5, n_orientations=n), expected, atol=1e-5)


@pytest.mark.parametrize("n", [8, 9])
def test_half_turn(n):
    image = random_image(4)
    o = np.arange(2 * n)
    expected = permuted(hog(image, 5, n_orientations=n)[::-1, ::-1], (o + n) % (2 * n), [3, 2, 1, 0])
    np.testing.assert_allclose(hog(image[::-1, ::-1], 5, n_orientations=n), expected, atol=1e-5)


def test_quarter_turn_of_an_even_number_of_orientations():
    """A gradient (dx, dy) turns into (dy, -dx): its angle falls by a right angle, half of ``n`` bins."""
    image, n = random_image(5), 8
    o = np.arange(2 * n)
    expected = permuted(np.rot90(hog(image, 5, n_orientations=n)), (o + n // 2) % (2 * n), [2, 0, 3, 1])
    np.testing.assert_allclose(hog(np.rot90(image), 5, n_orientations=n), expected, atol=1e-5)


def test_quarter_turn_of_nine_orientations():
    """Nine bins turn by four and a half: a ramp of bin 0 comes to lie on the border of bins 13 and 14."""
    ramp = np.tile(np.arange(40.0), (40, 1))
    assert (hog(ramp, 5)[..., :18].argmax(axis=-1) == 0).all()
    assert np.isin(hog(np.rot90(ramp), 5)[..., :18].argmax(axis=-1), [13, 14]).all()


def test_grey_is_any_number_of_equal_channels():
    image = random_image(6, (40, 40)).astype(np.uint8)
    np.testing.assert_array_equal(hog(image, 5), hog(np.dstack([image] * 3), 5))


def test_padding_repeats_the_border_and_moves_the_cells():
    image = random_image(7, (40, 35)).astype(np.uint8)
    np.testing.assert_array_equal(hog(image, 5, pad=2), hog(np.pad(image, 10, mode="edge"), 5))
    assert hog(image, 5, pad=1).shape == (8, 7, 31)
    np.testing.assert_array_equal(hog(image, 5, pad=1)[2:-2, 2:-2], hog(image, 5)[1:-1, 1:-1])


def test_contrast_does_not_matter_where_there_is_enough():
    image = random_image(8)
    np.testing.assert_allclose(hog(image, 5), hog(3 * image + 20, 5), atol=1e-4)


@pytest.mark.parametrize(
    ("image", "options", "message"),
    [
        (np.zeros(5), {}, r"shape \(5,\): expected \(height, width"),
        (np.zeros((10, 10)), {}, "make 2 x 2 cells of 5 pixels: expected at least 3 x 3"),
        (np.zeros((30, 30)), {"cell": 0}, "cell is 0: expected a whole number of at least 1"),
        (np.zeros((30, 30)), {"cell": 2.5}, "cell is 2.5: expected a whole number"),
        (np.zeros((30, 30)), {"pad": -1}, "pad is -1: expected a whole number of at least 0"),
        (np.zeros((30, 30)), {"n_orientations": 0}, "n_orientations is 0"),
        (np.full((30, 30), np.nan), {}, "not finite"),
        (np.zeros((30, 30), dtype=complex), {}, "type complex128: expected real numbers"),
        (np.full((30, 30), "a"), {}, "expected real numbers"),
    ],
)
def test_bad_input(image, options, message):
    with pytest.raises(ValueError, match=message):
        hog(image, **{"cell": 5, **options})


def test_values_whose_squares_overflow_are_refused():
    image = np.random.default_rng(0).random((24, 24))
    assert np.isfinite(hog(1e14 * image)).all()
    with pytest.raises(ValueError, match=r"image has values up to .*e\+18: expected at most 1.56e\+15"):
        hog(1e18 * image)


def test_too_few_cells_are_refused_before_the_image_is_padded():
    with pytest.raises(ValueError, match="make 2 x 2 cells of 1000000000 pixels"):
        hog(np.zeros((24, 24)), 10**9, pad=1)


@pytest.mark.parametrize("options", [{"pad": 10**6}, {"pad": 10**400}, {"n_orientations": 10**12}])
def test_more_cells_than_memory_are_refused(options):
    with pytest.raises(ValueError, match="GiB of memory"):
        hog(np.ones((30, 40)), **options)


def test_masked_pixels_are_refused():
    with pytest.raises(ValueError, match="masked"):
        hog(np.ma.masked_greater(np.ones((30, 40)), 0))
