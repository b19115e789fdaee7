"""Dense upright SURF against the definition summed pixel by pixel, against mahotas, and its symmetries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ermlab.features.surf import dense_surf, describe, grid_points


def random_image(seed, shape=(50, 60)):
    return np.random.default_rng(seed).integers(0, 256, size=shape, dtype=np.uint8)


def coverage(length, start, stop):
    """How much of each of ``length`` pixels lies between ``start`` and ``stop``."""
    pixels = np.arange(length)
    return np.clip(np.minimum(pixels + 1, stop) - np.maximum(pixels, start), 0, 1)


def direct_descriptor(image, x, y, scale, weight_shift=0.0):
    """The definition, window inside the image: x, y are corner coordinates of the middle of the window."""
    height, width = image.shape
    blocks = np.zeros((4, 4, 4))
    for i in range(20):
        for j in range(20):
            row, column = i - 9.5, j - 9.5
            cx, cy = x + column * scale, y + row * scale
            rows, columns = coverage(height, cy - scale, cy + scale), coverage(width, cx - scale, cx + scale)
            right = columns * (np.arange(width) + 0.5 > cx) - columns * (np.arange(width) + 0.5 < cx)
            below = rows * (np.arange(height) + 0.5 > cy) - rows * (np.arange(height) + 0.5 < cy)
            # A wavelet whose middle cuts a pixel takes both halves of it: they cancel.
            weight = np.exp(-((row + weight_shift) ** 2 + (column + weight_shift) ** 2) / (2 * 3.3**2))
            dx, dy = weight * rows @ image @ right, weight * below @ image @ columns
            blocks[i // 5, j // 5] += [dx, dy, abs(dx), abs(dy)]
    return blocks.ravel() / np.linalg.norm(blocks)


@pytest.mark.parametrize("scale", [1, 2, 3, 4])
def test_equals_the_definition(scale):
    size = 24 * scale
    image = random_image(scale, (size, size + 3)).astype(float)
    x, y = size // 2 + 1, size // 2
    assert np.allclose(
        describe(image, [[x, y]], scale), direct_descriptor(image, x + 0.5, y + 0.5, scale), atol=1e-12
    )


@pytest.mark.parametrize("scale", [1.5, 2.5])
def test_fractional_scale_is_that_of_a_finer_image(scale):
    """Pixels cut into 4 x 4 equal ones are the same image; a scale of 1.5 or 2.5 is a whole one there."""
    image = random_image(7, (70, 70))
    fine = np.kron(image, np.ones((4, 4)))
    x = 35
    expected = direct_descriptor(fine, 4 * x + 2, 4 * x + 2, 4 * scale)
    assert np.allclose(describe(image, [[x, x]], scale), expected, atol=1e-12)


@pytest.mark.parametrize("scale", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_equals_mahotas_at_upright_points(scale, seed):
    """mahotas turns the window by an angle it finds; on a steep slope with mirrored columns that is 0.

    It puts the middle of the window on a corner between pixels, the middle of the weight half a sample away
    from it, lets dx and dy point the other way and names dy first. The direct sum can do the same, and it is
    the judge of ours above.
    """
    surf = pytest.importorskip("mahotas.features.surf")
    half = 16 * scale + 4
    rng = np.random.default_rng(seed)
    texture = rng.integers(0, 40, size=(2 * half, half))
    image = np.hstack([texture[:, ::-1], texture]) + 50.0 * np.arange(2 * half)[::-1, None]
    # A quarter pixel: mahotas cuts off or rounds, and its coordinates are not quite whole after turning.
    point = np.array([[half + 0.25, half + 0.25, scale, 1.0, 1.0]])
    found = surf.descriptors(image, point)
    assert found.shape == (1, 70)
    assert abs(found[0, 5]) < 1e-12
    # Samples k = -10 .. 9 are at k * scale from the corner: the middle of all is half a scale before it.
    middle = half - scale / 2
    expected = direct_descriptor(image, middle, middle, scale, weight_shift=-0.5)
    dy, dx, abs_dy, abs_dx = found[0, 6:].reshape(16, 4).T
    assert np.allclose(np.stack([-dx, -dy, abs_dx, abs_dy], axis=1).ravel(), expected, atol=1e-9)


def test_close_to_mahotas_conventions():
    """Centring the weight moves the descriptor little."""
    image = random_image(3)
    ours = direct_descriptor(image, 30, 25, 1)
    theirs = direct_descriptor(image, 30, 25, 1, weight_shift=-0.5)
    assert 0.95 < ours @ theirs < 1


def mirrored(descriptors):
    blocks = descriptors.reshape(-1, 4, 4, 4)[:, :, ::-1] * [-1, 1, 1, 1]
    return blocks.reshape(-1, 64)


def turned(descriptors):
    """Descriptors after a quarter turn to the left: right becomes up."""
    blocks = np.rot90(descriptors.reshape(-1, 4, 4, 4), axes=(1, 2))
    dx, dy, abs_dx, abs_dy = np.moveaxis(blocks, -1, 0)
    return np.stack([dy, -dx, abs_dy, abs_dx], axis=-1).reshape(-1, 64)


@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([0.7, 1, 1.2, 2, 3]))
def test_mirroring_swaps_columns_and_the_sign_of_dx(seed, scale):
    image = random_image(seed, (20, 30))
    points = np.array([[3, 0], [29, 19], [12, 7]])
    across = points * [-1, 1] + [29, 0]
    assert np.allclose(
        describe(image[:, ::-1], across, scale), mirrored(describe(image, points, scale)), atol=1e-10
    )


@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([0.7, 1, 1.2, 2, 3]))
def test_a_quarter_turn_turns_the_window(seed, scale):
    image = random_image(seed, (20, 30))
    points = np.array([[3, 0], [29, 19], [12, 7]])
    turned_points = np.stack([points[:, 1], 29 - points[:, 0]], axis=1)
    assert np.allclose(
        describe(np.rot90(image), turned_points, scale), turned(describe(image, points, scale)), atol=1e-10
    )


@given(seed=st.integers(0, 2**32 - 1), gain=st.sampled_from([1e-9, 0.3, 7, 1e9]), offset=st.floats(-1e3, 1e3))
def test_blind_to_brightness_and_contrast(seed, gain, offset):
    image = random_image(seed, (15, 21)).astype(float)
    _, expected = dense_surf(image, step=4)
    assert np.allclose(dense_surf(gain * (image + offset), step=4)[1], expected, atol=1e-8)


@pytest.mark.parametrize("value", [0, 255, 0.1, -1e9 / 3])
def test_flat_image_has_descriptors_of_zero(value):
    _, descriptors = dense_surf(np.full((40, 100), value), step=5, scales=(1, 2.3))
    assert descriptors.shape == (2 * 8 * 20, 64)
    assert not descriptors.any()


def test_ramps():
    x = np.tile(np.arange(64.0), (64, 1))
    for image, kind in ((x, 0), (x.T, 1)):
        blocks = describe(image, [[32, 32]], 2).reshape(16, 4)
        assert (blocks[:, kind] > 0).all()
        assert np.allclose(blocks[:, kind], blocks[:, kind + 2])
        assert np.allclose(blocks[:, 1 - kind], 0)
        assert np.allclose(describe(-image, [[32, 32]], 2).reshape(16, 4)[:, kind], -blocks[:, kind])


def test_length_is_one():
    _, descriptors = dense_surf(random_image(0), step=3, scales=(1, 2))
    assert np.allclose(np.linalg.norm(descriptors, axis=1), 1)


def test_grid_of_a_crop_reaches_its_borders():
    points, descriptors = dense_surf(random_image(1, (40, 100)), step=4, scales=(1, 2))
    assert len(points) == len(descriptors) == 2 * 10 * 25
    assert points.min(axis=0).tolist() == [1, 1]
    assert points.max(axis=0).tolist() == [97, 37]
    assert points[:3].tolist() == [[1, 1], [5, 1], [9, 1]]


def test_beyond_the_border_is_the_mirror_image():
    image = random_image(2, (30, 40))
    wide = np.pad(image, 30, mode="symmetric")
    points = np.array([[0, 0], [39, 3], [20, 29]])
    assert np.allclose(describe(image, points, 2), describe(wide, points + 30, 2), atol=1e-10)


def test_any_number_of_threads_gives_the_same():
    image = random_image(5, (120, 160))
    one, many = (dense_surf(image, step=2, scales=(1.3,), n_jobs=n)[1] for n in (1, 5))
    assert np.array_equal(one, many)


def test_image_smaller_than_the_window():
    assert np.isfinite(dense_surf(random_image(6, (1, 2)), step=1, scales=(3,))[1]).all()


def test_no_points():
    assert describe(random_image(0), np.empty((0, 2), dtype=int)).shape == (0, 64)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"image": np.zeros((4, 4, 3))}, r"shape \(4, 4, 3\): expected \(height, width"),
        ({"image": np.zeros((0, 4))}, r"shape \(0, 4\)"),
        ({"image": [[0, np.nan]]}, "image is nan at x = 1, y = 0"),
        ({"step": 0}, "step is 0"),
        ({"step": 1.5}, "step is 1.5"),
        ({"scales": ()}, "scales is empty"),
        ({"scales": (-1,)}, "scale is -1: expected a positive"),
        ({"scales": (np.inf,)}, "scale is inf"),
        ({"n_jobs": 0}, "n_jobs is 0"),
    ],
)
def test_bad_input(arguments, message):
    arguments = {"image": np.zeros((9, 9)), "step": 3} | arguments
    with pytest.raises(ValueError, match=message):
        dense_surf(arguments.pop("image"), **arguments)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[9, 0]], "point x = 9, y = 0 is outside the image of 9 x 9 pixels"),
        ([[0, -1]], "point x = 0, y = -1"),
        ([[0.5, 1.0]], r"expected \(n, 2\) integers"),
        ([1, 2], r"shape \(2,\)"),
    ],
)
def test_bad_points(points, message):
    with pytest.raises(ValueError, match=message):
        describe(np.zeros((9, 9)), points)


@pytest.mark.parametrize("exponent", [-1000, 1000])
def test_descriptors_do_not_depend_on_the_unit_of_grey_values(exponent):
    image = np.random.default_rng(0).normal(size=(20, 20))
    expected = describe(image, [[10, 10], [0, 19]])
    np.testing.assert_allclose(describe(2.0**exponent * image, [[10, 10], [0, 19]]), expected, atol=1e-12)


def test_a_window_far_larger_than_the_image_is_refused():
    with pytest.raises(ValueError, match=r"scale is 1e\+300: expected at most 390.1 pixels"):
        describe(np.zeros((5, 5)), [[0, 0]], 1e300)


def test_margin_of_a_long_and_narrow_image_that_no_memory_holds():
    with pytest.raises(ValueError, match="GiB of memory"):
        describe(np.ones((1, 10_000)), [[0, 0]], 5000.0)


@pytest.mark.parametrize("scale", ["one", None, 1j])
def test_scale_that_is_no_number_is_refused(scale):
    with pytest.raises(ValueError, match="scale is"):
        describe(np.ones((9, 9)), [[0, 0]], scale)


@pytest.mark.parametrize("shape", [(-3, 5), (3.5, 5), (10**9, 10**9)])
def test_grid_of_no_image_is_refused(shape):
    with pytest.raises(ValueError, match="expected"):
        grid_points(shape, 1)
