import numpy as np
import pytest
from skimage.feature import canny

from reproduction.experiments.window_cascade.objectness import maps, superpixels


def random_image(seed, height=12, width=15):
    return np.random.default_rng(seed).random((height, width, 3))


def kernel(deviation, radius, derivative=False):
    x = np.arange(-radius, radius + 1)
    weights = np.exp(-(x**2) / (2 * deviation**2))
    weights /= weights.sum()
    return -x / deviation**2 * weights if derivative else weights


def filter_by_loops(plane, down, across):
    """Convolution with the product of two kernels, pixels beyond the border like the outermost ones."""
    height, width = plane.shape
    radius = len(down) // 2
    result = np.zeros_like(plane)
    for y in range(height):
        for x in range(width):
            for i, weight_y in enumerate(down):
                for j, weight_x in enumerate(across):
                    row = min(max(y - (i - radius), 0), height - 1)
                    column = min(max(x - (j - radius), 0), width - 1)
                    result[y, x] += weight_y * weight_x * plane[row, column]
    return result


def largest_of_channels(channels):
    channels = np.stack(channels, axis=-1)
    return np.array([[max(values, key=abs) for values in row] for row in channels.tolist()], dtype=float)


@pytest.mark.parametrize("seed", [0, 1])
def test_oriented_edges_by_loops(seed):
    image = random_image(seed)
    plain, slope = kernel(1.0, 2), kernel(1.0, 2, derivative=True)
    along_x = largest_of_channels([filter_by_loops(image[..., c], plain, slope) for c in range(3)])
    along_y = largest_of_channels([filter_by_loops(image[..., c], slope, plain) for c in range(3)])
    grey = image @ [0.2125, 0.7154, 0.0721]
    edges = canny(grey, 1.0, 0.2, 0.5, use_quantiles=True, mode="nearest") & (
        np.hypot(along_x, along_y) >= 0.02
    )
    assert edges.any()
    validity = filter_by_loops(edges.astype(float), plain, plain)
    found = maps.oriented_edges(image)
    for k, angle in enumerate(np.deg2rad([0, 45, 90, 135])):
        across = validity * np.abs(along_x * np.cos(angle) + along_y * np.sin(angle))
        expected = filter_by_loops(across, kernel(1.5, 3), kernel(1.5, 3))
        np.testing.assert_allclose(found[..., k], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("turn", "order"),
    [
        (lambda image: image[:, ::-1], [0, 3, 2, 1]),
        (lambda image: image[::-1], [0, 3, 2, 1]),
        (lambda image: image.swapaxes(0, 1), [2, 1, 0, 3]),
    ],
)
def test_edges_follow_a_mirror(turn, order):
    image = random_image(2, 20, 24)
    expected = turn(maps.oriented_edges(image))[..., order]
    np.testing.assert_allclose(maps.oriented_edges(turn(image)), expected, atol=1e-12)


def test_a_vertical_step_is_an_edge_across_x():
    image = np.zeros((20, 20, 3))
    image[:, 10:] = 1.0
    edges = maps.oriented_edges(image)
    assert edges[10, 9:11, 0].min() > 0.1
    assert edges[..., 2].max() <= 1e-12
    np.testing.assert_allclose(edges[..., 1], edges[..., 0] * np.sqrt(0.5), atol=1e-12)
    assert edges[:, [0, -1]].max() == 0.0


def test_an_empty_image_has_no_edges_and_no_saliency():
    image = np.full((9, 7, 3), 77, dtype=np.uint8)
    assert not maps.oriented_edges(image).any()
    assert not maps.saliency_maps(image).any()


def saliency_by_sums(square):
    """Spectral residual of one channel, every transform a sum over all pixels."""
    side = len(square)
    wave = np.exp(-2j * np.pi * np.outer(np.arange(side), np.arange(side)) / side)
    spectrum = wave @ square @ wave
    log = np.log(np.abs(spectrum))
    neighbours = [np.roll(log, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    kept = np.exp(log - sum(neighbours) / 9) * spectrum / np.abs(spectrum)
    return np.abs(wave.conj() @ kept @ wave.conj() / side**2) ** 2


def test_saliency_by_sums():
    # An image of the side of the first map needs no resizing there.
    side, threshold = maps.SALIENCY_SIDES[0], maps.SALIENCY_THRESHOLDS[0]
    image = random_image(3, side, side)
    total = sum(saliency_by_sums(image[..., c]) for c in range(3))
    disc = [(i, j) for i in range(-3, 4) for j in range(-3, 4) if i * i + j * j <= 9]
    padded = np.pad(total, 3)
    blurred = sum(padded[3 + i : 3 + i + side, 3 + j : 3 + j + side] for i, j in disc) / len(disc)
    scaled = (blurred - blurred.min()) / (blurred.max() - blurred.min())
    expected = np.where(scaled >= threshold, scaled, 0.0)
    np.testing.assert_allclose(maps.saliency_maps(image)[..., 0], expected, atol=1e-9)


def test_an_odd_spot_is_the_most_salient_at_every_scale():
    rng = np.random.default_rng(4)
    image = 0.5 + 0.02 * rng.random((120, 160, 3))
    image[30:42, 100:112] = [1.0, 0.0, 0.0]
    for scale, plane in enumerate(np.moveaxis(maps.saliency_maps(image), -1, 0)):
        y, x = np.argwhere(plane == plane.max()).mean(axis=0)
        reach = 160 / maps.SALIENCY_SIDES[scale] + 6
        assert abs(y - 36) <= reach, scale
        assert abs(x - 106) <= reach, scale
        assert plane[80:, :60].max() < 0.7 * plane.max()


@pytest.mark.parametrize("seed", range(3))
def test_saliency_sees_through_the_noise_of_pixels(seed):
    rng = np.random.default_rng(seed)
    image = 0.5 + 0.4 * rng.choice([-1.0, 1.0], size=(320, 320, 3))
    image[160:200, 80:120] += 0.1
    plane = maps.saliency_maps(image)[..., 0]
    y, x = np.argwhere(plane == plane.max()).mean(axis=0)
    assert abs(y - 180) <= 40
    assert abs(x - 100) <= 40


def test_saliency_has_one_value_in_a_cell():
    plane = maps.saliency_maps(random_image(5, 32, 48))[..., 0]
    cells = plane.reshape(16, 2, 16, 3)
    assert (cells == cells[:, :1, :, :1]).all()


def test_colours_fall_into_cells_of_lab():
    # L*, a*, b*: black 0 0 0; white 100 0 0; red 53 80 67; blue 32 79 -108; grey 119: 50 0 0.
    colours = np.array(
        [[[0, 0, 0], [255, 255, 255], [255, 0, 0], [0, 0, 255], [119, 119, 119]]], dtype=np.uint8
    )
    expected = [(0, 4, 4), (3, 4, 4), (2, 6, 6), (1, 6, 0), (2, 4, 4)]
    words = maps.color_words(colours)[0]
    found = list(zip(*np.unravel_index(words, maps.COLOR_BINS), strict=True))
    # Grey lies on the border of two cells in a* and b*: rounding decides.
    assert [cell[0] for cell in found] == [cell[0] for cell in expected]
    assert found[2:4] == expected[2:4]
    assert all(set(cell[1:]) <= {3, 4} for cell in (found[0], found[1], found[4]))


def test_border_likelihood_by_loops():
    labels = maps.as_labels(
        np.random.default_rng(6).integers(0, 3, size=(4, 5)).repeat(5, axis=0).repeat(4, axis=1)
    )
    mask = np.zeros(labels.shape)
    for label in range(labels.max() + 1):
        rows, columns = np.nonzero(labels == label)
        for y in range(rows.min(), rows.max() + 1):
            for x in range(columns.min(), columns.max() + 1):
                if y in (rows.min(), rows.max()) or x in (columns.min(), columns.max()):
                    mask[y, x] = 1.0
    thick = np.zeros_like(mask)
    for y, x in np.ndindex(*mask.shape):
        near = [mask[v, u] for v, u in np.ndindex(*mask.shape) if (v - y) ** 2 + (u - x) ** 2 <= 9]
        thick[y, x] = max(near)
    expected = filter_by_loops(thick, kernel(3.0, 6), kernel(3.0, 6))
    np.testing.assert_allclose(maps.border_likelihood(labels), expected, atol=1e-12)


def test_superpixels_find_the_parts_of_a_flag():
    image = np.zeros((60, 90, 3), dtype=np.uint8)
    image[:, 30:60] = [255, 255, 255]
    image[:, 60:] = [255, 0, 0]
    labels = superpixels(image)
    np.testing.assert_array_equal(np.unique(labels), [0, 1, 2])
    np.testing.assert_array_equal(
        maps.superpixel_boxes(labels), [[0, 0, 29, 59], [30, 0, 59, 59], [60, 0, 89, 59]]
    )


def test_labels_lose_their_gaps():
    np.testing.assert_array_equal(maps.as_labels([[7, 7], [-2, 9]]), [[1, 1], [0, 2]])


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros((4, 5)), r"image has shape \(4, 5\)"),
        (np.zeros((4, 5, 4)), r"image has shape \(4, 5, 4\)"),
        (np.zeros((0, 5, 3)), r"image has shape \(0, 5, 3\)"),
        (np.full((4, 5, 3), np.nan), r"image\[0, 0, 0\] is nan"),
        (np.full((4, 5, 3), 255.0), r"image\[0, 0, 0\] is 255.0"),
        (np.zeros((4, 5, 3), dtype=int), "image has type int64"),
    ],
)
def test_what_is_no_image_is_named(image, message):
    with pytest.raises(ValueError, match=message):
        maps.as_image(image)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros((4, 5)), "type float64"),
        (np.zeros((4,), dtype=int), r"shape \(4,\)"),
        (np.zeros((5, 4), dtype=int), r"shape \(5, 4\): expected that of the image, \(4, 5\)"),
    ],
)
def test_labels_of_another_image_are_named(labels, message):
    with pytest.raises(ValueError, match=message):
        maps.as_labels(labels, (4, 5))
