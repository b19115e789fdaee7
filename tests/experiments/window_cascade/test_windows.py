from itertools import combinations

import numpy as np
import pytest

from ermlab.detection.boxes import as_boxes_inside
from reproduction.experiments.window_cascade.objectness import (
    WindowPrior,
    initial_windows,
    superpixel_windows,
)

SHAPE = (60, 80)


def random_boxes(rng, n, shape=SHAPE):
    x, y = np.sort(rng.integers(0, shape[1], (n, 2))), np.sort(rng.integers(0, shape[0], (n, 2)))
    return np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], axis=1)


def fitted(seed=0, **options):
    rng = np.random.default_rng(seed)
    return WindowPrior.fit([random_boxes(rng, 30), random_boxes(rng, 20)], [SHAPE, SHAPE], **options)


# The prior


def test_histograms_count_the_boxes():
    # Boxes of 4 of 8 by 2 of 8 pixels, of 20 of 40 by 10 of 40, and of the whole image.
    boxes = [[[0, 0, 3, 1]], [[20, 30, 39, 39], [0, 0, 39, 39]]]
    prior = WindowPrior.fit(boxes, [(8, 8), (40, 40)], bins=4, smoothing=0)
    expected = np.zeros((4, 4))
    expected[2, 1], expected[3, 3] = 2 / 3, 1 / 3
    np.testing.assert_allclose(prior.size, expected)
    np.testing.assert_allclose(prior.x_given_width[2], [0, 1 / 2, 0, 1 / 2])
    np.testing.assert_allclose(prior.y_given_height[1], [1 / 2, 0, 0, 1 / 2])
    np.testing.assert_allclose(prior.x_given_width[3], [0, 0, 1, 0])


def test_all_tables_are_distributions():
    prior = fitted()
    assert prior.size.sum() == pytest.approx(1)
    for table in (prior.x_given_width, prior.y_given_height):
        assert table.min() >= 0
        np.testing.assert_allclose(table.sum(axis=1), 1)


def test_draws_have_the_frequencies_of_the_histogram():
    # Small boxes in the middle are never cut off by the border: draws fall into the cells they came from.
    rng = np.random.default_rng(1)
    left, top = rng.integers(300, 500, (2, 200))
    boxes = np.stack([left, top, left + rng.integers(20, 280, 200), top + rng.integers(20, 280, 200)], axis=1)
    prior = WindowPrior.fit([boxes], [(1000, 1000)], bins=5, smoothing=0)
    windows = prior.sample(200_000, (1000, 1000), rng)
    again = WindowPrior.fit([windows], [(1000, 1000)], bins=5, smoothing=0)
    np.testing.assert_allclose(again.size, prior.size, atol=0.01)
    np.testing.assert_allclose(again.x_given_width[:2], prior.x_given_width[:2], atol=0.01)
    np.testing.assert_allclose(again.y_given_height[:2], prior.y_given_height[:2], atol=0.01)


def test_smoothing_reaches_windows_that_were_not_seen():
    sharp, smooth = fitted(smoothing=0), fitted(smoothing=1.5)
    assert (smooth.size > 0).sum() > (sharp.size > 0).sum()


@pytest.mark.parametrize("shape", [(1, 1), (3, 200), (375, 500)])
def test_draws_lie_in_the_image_and_repeat_with_the_seed(shape):
    prior = fitted()
    windows = prior.sample(5000, shape, np.random.default_rng(2))
    np.testing.assert_array_equal(windows, as_boxes_inside(windows, shape))
    assert len(windows) == 5000
    np.testing.assert_array_equal(windows, prior.sample(5000, shape, np.random.default_rng(2)))


# Superpixels


def connected_boxes_by_search(labels, max_connected):
    found = set()
    names = np.unique(labels).tolist()
    touching = set()
    for y, x in np.ndindex(*labels.shape):
        for v, u in ((y + 1, x), (y, x + 1)):
            if v < labels.shape[0] and u < labels.shape[1] and labels[y, x] != labels[v, u]:
                touching.add(frozenset((int(labels[y, x]), int(labels[v, u]))))
    for size in range(1, max_connected + 1):
        for group in combinations(names, size):
            links = sum(frozenset(pair) in touching for pair in combinations(group, 2))
            if links >= size - 1:  # enough for a tree; with three labels that is enough to connect them
                rows, columns = np.nonzero(np.isin(labels, group))
                found.add((columns.min(), rows.min(), columns.max(), rows.max()))
    return found


@pytest.mark.parametrize("max_connected", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_superpixel_windows_by_search(seed, max_connected):
    labels = np.random.default_rng(seed).integers(0, 9, size=(5, 6)).repeat(2, axis=0)
    windows = superpixel_windows(labels, max_connected)
    assert len(windows) == len({tuple(window) for window in windows.tolist()})
    assert {tuple(window) for window in windows} == connected_boxes_by_search(labels, max_connected)


def test_one_superpixel_has_one_window():
    assert superpixel_windows(np.zeros((3, 4), dtype=int)).tolist() == [[0, 0, 3, 2]]


# Initial windows


def test_initial_windows_are_different_and_as_many_as_asked_for():
    image = np.random.default_rng(3).integers(0, 256, size=(*SHAPE, 3), dtype=np.uint8)
    labels = np.random.default_rng(4).integers(0, 20, size=(12, 16)).repeat(5, axis=0).repeat(5, axis=1)
    windows = initial_windows(image, fitted(), 20_000, np.random.default_rng(5), labels)
    assert windows.shape == (20_000, 4)
    assert len(np.unique(windows, axis=0)) == 20_000
    np.testing.assert_array_equal(windows, as_boxes_inside(windows, SHAPE))
    around = superpixel_windows(labels)
    np.testing.assert_array_equal(windows[: len(around)], around)
    again = initial_windows(image, fitted(), 20_000, np.random.default_rng(5), labels)
    np.testing.assert_array_equal(windows, again)


def test_draws_go_on_until_there_are_enough_different_windows():
    # One cell of the prior holds few windows, so that half of the draws come twice.
    narrow = WindowPrior.fit([[[20, 20, 39, 39]]], [SHAPE], smoothing=0)
    first = narrow.sample(2 * 300, SHAPE, np.random.default_rng(9))
    assert len(np.unique(first, axis=0)) < 300
    windows = initial_windows(np.zeros((*SHAPE, 3)), narrow, 300, np.random.default_rng(9))
    assert len(np.unique(windows, axis=0)) == len(windows) == 300


def test_a_small_image_has_fewer_windows():
    image = np.zeros((2, 3, 3))
    windows = initial_windows(image, fitted(), 1000, np.random.default_rng(6))
    assert 1 <= len(windows) <= 18  # 3 x 6 boxes there are
    assert len(np.unique(windows, axis=0)) == len(windows)


def test_superpixel_windows_come_first_and_may_fill_the_quota():
    image = np.random.default_rng(7).integers(0, 256, size=(*SHAPE, 3), dtype=np.uint8)
    labels = np.arange(12).reshape(3, 4).repeat(20, axis=0).repeat(20, axis=1)
    windows = initial_windows(image, fitted(), 5, np.random.default_rng(8), labels)
    np.testing.assert_array_equal(windows, superpixel_windows(labels)[:5])


# Wrong input


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: WindowPrior.fit([[]], []), "are of 1, 0 images"),
        (lambda: WindowPrior.fit([[]], [SHAPE]), "boxes holds no box"),
        (lambda: WindowPrior.fit([], []), "boxes holds no box"),
        (lambda: WindowPrior.fit([[[0, 0, 80, 5]]], [SHAPE]), r"boxes\[0\]\[0\] is \[0, 0, 80, 5\]"),
        (lambda: fitted(bins=0), "bins is 0"),
        (lambda: fitted(smoothing=-1.0), "smoothing is -1"),
        (lambda: fitted().sample(-1, SHAPE, np.random.default_rng(0)), "n is -1"),
        (lambda: fitted().sample(1, (0, 5), np.random.default_rng(0)), r"shape is \(0, 5\)"),
        (lambda: superpixel_windows(np.zeros((2, 2), dtype=int), 4), "max_connected is 4"),
        (lambda: superpixel_windows(np.zeros(3, dtype=int)), r"labels has shape \(3,\)"),
        (lambda: initial_windows(np.zeros((*SHAPE, 3)), fitted(), 0, np.random.default_rng(0)), "n is 0"),
        (
            lambda: initial_windows(np.full((*SHAPE, 3), np.nan), fitted(), 5, np.random.default_rng(0)),
            r"image\[0, 0, 0\] is nan",
        ),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", [(1e300, 5), (10**400, 5), (np.nan, 5), (5.5, 5), (5,), 5, ("a", 5)])
def test_images_without_sides_are_refused(shape):
    with pytest.raises(ValueError, match="shape is"):
        fitted().sample(3, shape, np.random.default_rng(0))
    with pytest.raises(ValueError, match="shape is"):
        WindowPrior.fit([[[0, 0, 1, 1]]], [shape])


def test_numbers_of_windows_of_any_type():
    assert len(fitted().sample(5.0, SHAPE, np.random.default_rng(0))) == 5
    assert WindowPrior.fit([[[0, 0, 1, 1]]], [(5, 5)], bins=4.0).size.shape == (4, 4)
    with pytest.raises(ValueError, match="GiB of memory"):
        fitted().sample(10**13, SHAPE, np.random.default_rng(0))
