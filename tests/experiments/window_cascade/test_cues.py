from collections import Counter
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reproduction.experiments.window_cascade.objectness import CUES, ImageCues, cues, maps

MIRRORED = [0, 3, 2, 1]
# What a contour around the window looks like in each block: the direction of its normal, and the ring.
EXPECTED = [
    ["↘", "↓", "↓", "↓", "↓", "↙"],
    ["→", "↘", "↓", "↓", "↙", "→"],
    ["→", "→", "↘", "↙", "→", "→"],
    ["→", "→", "↙", "↘", "→", "→"],
    ["→", "↙", "↓", "↓", "↘", "→"],
    ["↙", "↓", "↓", "↓", "↓", "↘"],
]
WEIGHTS = [
    [1, 1, 1, 1, 1, 1],
    [1, 0.5, 0.5, 0.5, 0.5, 1],
    [1, 0.5, 0, 0, 0.5, 1],
    [1, 0.5, 0, 0, 0.5, 1],
    [1, 0.5, 0.5, 0.5, 0.5, 1],
    [1, 1, 1, 1, 1, 1],
]


def scene(seed, height, width):
    """Noise with a brighter box in it, and superpixels that are blocks, not all connected."""
    rng = np.random.default_rng(seed)
    image = 0.3 * rng.random((height, width, 3))
    image[height // 4 : height // 2 + 1, width // 3 :] += [0.7, 0.4, 0.1]
    labels = rng.integers(0, 6, size=(height // 3 + 1, width // 3 + 1))
    return image, labels.repeat(3, axis=0).repeat(3, axis=1)[:height, :width]


def some_windows(seed, height, width, n=12):
    rng = np.random.default_rng(seed)
    x, y = np.sort(rng.integers(0, width, size=(n, 2))), np.sort(rng.integers(0, height, size=(n, 2)))
    windows = np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], axis=1)
    pixel = [windows[0, 0], windows[0, 1]] * 2
    whole, corner = [0, 0, width - 1, height - 1], [width - 1, height - 1] * 2
    row, column = [0, height - 1, width - 1, height - 1], [0, 0, 0, height - 1]
    return np.concatenate([windows, [pixel, whole, corner, row, column]])


def block_of(offset, length, cells):
    """Cell of a pixel in ``length`` pixels cut at rounded multiples, the second half like the first."""
    cuts = [floor(Fraction(j * length, cells) + Fraction(1, 2)) for j in range(cells // 2 + 1)]
    cuts += [length - cuts[cells - j] for j in range(cells // 2 + 1, cells + 1)]
    return max(j for j in range(cells) if cuts[j] <= offset and cuts[j] < cuts[j + 1])


def pixels(window):
    left, top, right, bottom = (int(side) for side in window)
    return [(x, y) for y in range(top, bottom + 1) for x in range(left, right + 1)]


def block_sums(edges, window, cells):
    blocks = np.zeros((cells, cells, 4))
    left, top, right, bottom = window
    for x, y in pixels(window):
        row = block_of(y - top, bottom - top + 1, cells)
        blocks[row, block_of(x - left, right - left + 1, cells)] += edges[y, x]
    return blocks


def symmetry_by_pixels(edges, window):
    blocks = block_sums(edges, window, 4)
    beside, below = blocks[:, ::-1][..., MIRRORED], blocks[::-1][..., MIRRORED]
    weights = np.ones((4, 4))
    weights[1:3, 1:3] = 0.25
    common = 0.0
    for row in range(4):
        for column in range(4):
            if column < 2:
                common += weights[row, column] * np.minimum(blocks, beside)[row, column].sum()
            if row < 2:
                common += weights[row, column] * np.minimum(blocks, below)[row, column].sum()
    return common / edges.sum()


def boundary_edges_by_pixels(edges, window):
    blocks = block_sums(edges, window, 6)
    total = sum(
        WEIGHTS[row][column] * blocks[row, column, "→↘↓↙".index(EXPECTED[row][column])]
        for row in range(6)
        for column in range(6)
    )
    return total / edges.sum()


def on_border(window):
    left, top, right, bottom = window
    return [(x, y) for x, y in pixels(window) if x in (left, right) or y in (top, bottom)]


def boundary_integral_by_pixels(likelihood, window):
    height, width = likelihood.shape
    whole = on_border((0, 0, width - 1, height - 1))
    return sum(likelihood[y, x] for x, y in on_border(window)) / len(whole)


def contrast_by_pixels(words, window):
    height, width = words.shape
    left, top, right, bottom = window
    reach_x, reach_y = -(-(right - left + 1) // 2), -(-(bottom - top + 1) // 2)
    far = (left - reach_x, top - reach_y, right + reach_x, bottom + reach_y)
    inside = set(pixels(window))
    ring = [(x, y) for x, y in pixels(far) if 0 <= x < width and 0 <= y < height and (x, y) not in inside]
    if not ring:
        return 0.0
    p, q = (Counter(int(words[y, x]) for x, y in region) for region in (inside, ring))
    shares = [(p[word] / len(inside), q[word] / len(ring)) for word in p | q]
    return sum((a - b) ** 2 / (a + b) for a, b in shares)


def straddling_by_pixels(labels, window):
    sizes, inside = Counter(labels.ravel().tolist()), Counter(int(labels[y, x]) for x, y in pixels(window))
    straddled = sum(min(count, sizes[label] - count) for label, count in inside.items())
    return 1 - straddled / len(pixels(window))


def saliency_by_pixels(saliency, window):
    values = np.array([saliency[y, x] for x, y in pixels(window)])
    image_pixels = saliency.shape[0] * saliency.shape[1]
    return np.mean(values.sum(axis=0) / image_pixels * (values > 0).mean(axis=0))


def cues_by_pixels(image, labels, windows):
    edges, likelihood = maps.oriented_edges(image), maps.border_likelihood(maps.as_labels(labels))
    words, saliency = maps.color_words(image), maps.saliency_maps(image)
    return np.array(
        [
            [
                symmetry_by_pixels(edges, window),
                boundary_edges_by_pixels(edges, window),
                boundary_integral_by_pixels(likelihood, window),
                contrast_by_pixels(words, window),
                straddling_by_pixels(labels, window),
                saliency_by_pixels(saliency, window),
            ]
            for window in windows
        ]
    )


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(8, 25), st.integers(8, 25))
def test_every_cue_is_what_loops_over_pixels_find(seed, height, width):
    image, labels = scene(seed, height, width)
    windows = some_windows(seed, height, width)
    found, expected = ImageCues(image, labels)(windows), cues_by_pixels(image, labels, windows)
    for k, name in enumerate(CUES):
        np.testing.assert_allclose(found[:, k], expected[:, k], atol=1e-11, err_msg=name)


def test_cues_of_tiny_windows_and_images():
    for height, width in [(1, 1), (1, 7), (6, 1), (2, 2)]:
        image = np.random.default_rng(0).random((height, width, 3))
        found = cues(image, [[0, 0, width - 1, height - 1], [0, 0, 0, 0]])
        assert np.isfinite(found).all()
        assert found[0, CUES.index("SS")] == 1.0
        assert found[0, CUES.index("CC")] == 0.0
        assert found[0, CUES.index("BI")] == pytest.approx(1.0)


@pytest.mark.parametrize("flip", ["left-right", "up-down"])
def test_a_mirror_keeps_every_cue(flip):
    # Widths and heights are even: an odd number of pixels has no halves to swap. The sides of the image are
    # powers of 2, so that no pixel's centre lies between two cells of a saliency map.
    height, width = 64, 128
    image, labels = scene(3, height, width)
    rng = np.random.default_rng(4)
    left, top = rng.integers(0, [[60], [30]], size=(2, 40))
    right, bottom = left + 2 * rng.integers(1, 31, 40) - 1, top + 2 * rng.integers(1, 15, 40) - 1
    windows = np.stack([left, top, right, bottom], axis=1)
    mirrored = windows.copy()
    if flip == "left-right":
        turned = image[:, ::-1], labels[:, ::-1]
        mirrored[:, [0, 2]] = width - 1 - windows[:, [2, 0]]
    else:
        turned = image[::-1], labels[::-1]
        mirrored[:, [1, 3]] = height - 1 - windows[:, [3, 1]]
    ours, theirs = ImageCues(image, labels)(windows), ImageCues(*turned)(mirrored)
    np.testing.assert_allclose(ours, theirs, atol=1e-11)


def test_symmetry_of_a_symmetric_scene_is_all_that_there_is():
    rng = np.random.default_rng(5)
    quarter = rng.random((10, 12, 3))
    image = np.concatenate([quarter, quarter[::-1]])
    image = np.concatenate([image, image[:, ::-1]], axis=1)
    whole = [[0, 0, 23, 19]]
    edges = maps.oriented_edges(image)
    blocks = edges.reshape(4, 5, 4, 6, 4).sum(axis=(1, 3, 4)) / edges.sum()
    # Mirror images are equal, so that each pair adds one of two equal blocks, once beside and once below.
    expected = blocks.sum() - 0.75 * blocks[1:3, 1:3].sum()
    assert ImageCues(image).window_symmetry(whole)[0] == pytest.approx(expected)


def test_cues_point_at_a_plain_object_on_plain_ground():
    rng = np.random.default_rng(10)
    image = rng.integers(40, 46, size=(90, 120, 3), dtype=np.uint8)
    image[30:60, 40:80] = [250, 200, 30]
    good, bad = [40, 30, 79, 59], [5, 45, 44, 74]
    found = ImageCues(image)([good, bad])
    better = found[0] > found[1]
    assert better.all(), dict(zip(CUES, found.T.tolist(), strict=True))
    assert found[0, CUES.index("SS")] == 1.0
    assert found[0, CUES.index("CC")] == pytest.approx(2.0)


def test_the_number_of_threads_changes_nothing():
    image, labels = scene(6, 40, 50)
    windows = some_windows(7, 40, 50, n=1001)
    one, many = (ImageCues(image, labels, n_jobs=n)(windows) for n in (1, 3))
    np.testing.assert_array_equal(one, many)
    np.testing.assert_array_equal(one, ImageCues(image, labels)(windows))
    np.testing.assert_array_equal(one[::-1], ImageCues(image, labels)(windows[::-1]))


def test_bytes_and_fractions_are_the_same_image():
    image = np.random.default_rng(8).integers(0, 256, size=(20, 30, 3), dtype=np.uint8)
    windows = some_windows(9, 20, 30)
    np.testing.assert_array_equal(cues(image, windows), cues(image / 255.0, windows))


def test_no_windows_have_no_cues():
    assert cues(np.zeros((5, 5, 3)), []).shape == (0, 6)


@pytest.mark.parametrize(
    ("windows", "message"),
    [
        ([[0, 0, 5, 4]], r"windows\[0\] is \[0, 0, 5, 4\]: expected a box inside 5 x 5 pixels"),
        ([[0, 0, 1, 1], [-1, 0, 1, 1]], r"windows\[1\] is \[-1, 0, 1, 1\]"),
        ([[3, 0, 1, 1]], r"windows\[0\] is \[3, 0, 1, 1\]: expected left <= right"),
        ([[0, 0, 1]], r"windows has shape \(1, 3\)"),
        ([[0, 0, np.nan, 1]], "expected integers"),
    ],
)
def test_windows_that_do_not_fit_are_named(windows, message):
    with pytest.raises(ValueError, match=message):
        cues(np.zeros((5, 5, 3)), windows)


def test_wrong_images_labels_and_threads_are_named():
    with pytest.raises(ValueError, match=r"image\[0, 0, 0\] is nan"):
        cues(np.full((5, 5, 3), np.nan), [[0, 0, 1, 1]])
    with pytest.raises(ValueError, match=r"labels has shape \(4, 5\)"):
        ImageCues(np.zeros((5, 5, 3)), np.zeros((4, 5), dtype=int))
    with pytest.raises(ValueError, match="n_jobs is 0"):
        ImageCues(np.zeros((5, 5, 3)), n_jobs=0)([[0, 0, 1, 1]])
