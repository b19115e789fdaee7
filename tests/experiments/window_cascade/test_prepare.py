"""Splits of the images and their windows, which depend on seed, split and image alone."""

import numpy as np
import pytest

from ermlab.detection.boxes import best_overlap
from reproduction.experiments.window_cascade.objectness import WindowPrior, cues
from reproduction.experiments.window_cascade.prepare import describe_windows, half_resolution, split_images
from reproduction.experiments.window_cascade.window_pool import INITIAL_COUNTS, WindowPool

SHAPE = (30, 40)
BOXES = [
    [[2, 3, 20, 18]],
    [[5, 5, 9, 9], [10, 2, 39, 29]],
    [[0, 0, 7, 20]],
    [[12, 12, 30, 28]],
    [[1, 1, 38, 9]],
]


@pytest.fixture(scope="module")
def splits():
    return split_images(BOXES, [SHAPE] * len(BOXES), n_splits=3, seed=7)


@pytest.fixture(scope="module")
def image():
    return np.random.default_rng(0).integers(0, 256, (*SHAPE, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def pools(splits, image):
    """Image 1, and image 3, in the first split."""
    return [describe_windows(i, image, BOXES[i], [False] * len(BOXES[i]), splits[:1], 50)[0] for i in (1, 3)]


def test_each_split_halves_the_images_and_learns_from_the_first_half(splits):
    assert len({tuple(split.train) for split in splits}) > 1
    for split in splits:
        assert len(split.train) == 2
        assert sorted([*split.train, *split.test]) == [0, 1, 2, 3, 4]
        prior = WindowPrior.fit([BOXES[i] for i in split.train], [SHAPE] * 2)
        np.testing.assert_array_equal(split.prior.size, prior.size)


def test_one_image_cannot_be_split():
    with pytest.raises(ValueError, match="1 images: expected at least 2"):
        split_images(BOXES[:1], [SHAPE], n_splits=1, seed=0)


def test_windows_of_an_image_do_not_depend_on_the_other_splits(splits, image):
    together = describe_windows(2, image, BOXES[2], [True], splits, 40)
    alone = describe_windows(2, image, BOXES[2], [True], splits[2:], 40)[0]
    np.testing.assert_array_equal(together[2].windows, alone.windows)
    np.testing.assert_array_equal(together[2].cues, alone.cues)
    assert not np.array_equal(together[0].windows, together[1].windows)


def test_cues_and_reach_are_those_of_the_windows(splits, image):
    pool = describe_windows(1, image, BOXES[1], [False, True], splits[:1], 50)[0]
    np.testing.assert_array_equal(pool.cues, cues(image, pool.windows).astype(np.float32))
    np.testing.assert_array_equal(pool.truth_cues, cues(image, BOXES[1]).astype(np.float32))
    assert pool.difficult.tolist() == [False, True]
    assert pool.reachable.shape == (2, len(INITIAL_COUNTS))
    assert (pool.reachable[:, 0] >= best_overlap(BOXES[1], pool.windows)).all()


def test_more_windows_are_drawn_in_test_images_only(splits, image):
    split = splits[0]
    for number, more in ((int(split.train[0]), False), (int(split.test[0]), True)):
        pool = describe_windows(number, image, BOXES[number], [False] * len(BOXES[number]), [split], 20)[0]
        among_pool = best_overlap(BOXES[number], pool.windows)
        assert (pool.reachable[:, -1] > among_pool).any() == more


def test_losses_are_one_minus_the_best_overlap_in_the_same_image(pools):
    joined = WindowPool.join(pools)
    expected = [1 - best_overlap(pool.windows, pool.truth) for pool in pools]
    np.testing.assert_array_equal(joined.losses(), np.concatenate(expected))


def test_images_taken_from_a_pool_bring_all_their_rows(pools):
    joined = WindowPool.join(pools)
    assert joined.images.tolist() == [1, 3]
    assert joined.truth_starts.tolist() == [0, 2, 3]
    swapped = joined.take([1, 0])
    assert swapped.images.tolist() == [3, 1]
    for field in ("windows", "cues", "truth", "truth_cues", "difficult", "reachable"):
        first, second = (getattr(pool, field) for pool in pools)
        np.testing.assert_array_equal(getattr(swapped, field), np.concatenate([second, first]))


def test_arrays_must_agree(pools):
    parts = vars(pools[0])
    with pytest.raises(ValueError, match="starts ends at 50"):
        WindowPool(**{**parts, "cues": parts["cues"][1:]})
    with pytest.raises(ValueError, match="truth_starts is"):
        WindowPool(**{**parts, "truth_starts": np.array([0])})
    with pytest.raises(ValueError, match="pools is empty"):
        WindowPool.join([])


def test_half_resolution_averages_blocks_of_four_pixels():
    image = np.zeros((5, 4, 3), dtype=np.uint8)
    image[:2, :2, 0] = [[0, 4], [8, 13]]
    image[3, 3, 2], image[4] = 100, 255
    half = half_resolution(image)
    assert half.shape == (2, 2, 3)
    assert half[0, 0].tolist() == [6, 0, 0]
    assert half[1, 1].tolist() == [0, 0, 25]
