"""Folds of the images and their windows, which depend on seed, fold and image alone."""

import numpy as np
import pytest

from ermlab.detection.boxes import best_overlap
from reproduction.experiments.window_cascade.objectness import WindowPrior, cues
from reproduction.experiments.window_cascade.prepare import describe_windows, fold_images, half_resolution
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
def folds():
    return fold_images(BOXES, [SHAPE] * len(BOXES), n_folds=3, seed=7)


@pytest.fixture(scope="module")
def image():
    return np.random.default_rng(0).integers(0, 256, (*SHAPE, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def pools(folds, image):
    """Image 1, and image 3, in the first fold."""
    return [describe_windows(i, image, BOXES[i], [False] * len(BOXES[i]), folds[:1], 50)[0] for i in (1, 3)]


def test_each_image_is_tested_in_one_fold_and_trains_in_the_others(folds):
    assert sorted(i for fold in folds for i in fold.test) == [0, 1, 2, 3, 4]
    for fold in folds:
        assert sorted([*fold.train, *fold.test]) == [0, 1, 2, 3, 4]
        assert len(fold.test) in (1, 2)
        prior = WindowPrior.fit([BOXES[i] for i in fold.train], [SHAPE] * len(fold.train))
        np.testing.assert_array_equal(fold.prior.size, prior.size)


@pytest.mark.parametrize("n_folds", [1, 6])
def test_folds_need_images(n_folds):
    with pytest.raises(ValueError, match=f"n_folds is {n_folds}: expected 2 to 5"):
        fold_images(BOXES, [SHAPE] * 5, n_folds=n_folds, seed=0)


def test_windows_of_an_image_do_not_depend_on_the_other_folds(folds, image):
    together = describe_windows(2, image, BOXES[2], [True], folds, 40)
    alone = describe_windows(2, image, BOXES[2], [True], folds[2:], 40)[0]
    np.testing.assert_array_equal(together[2].windows, alone.windows)
    np.testing.assert_array_equal(together[2].cues, alone.cues)
    assert not np.array_equal(together[0].windows, together[1].windows)


def test_cues_and_reach_are_those_of_the_windows(folds, image):
    pool = describe_windows(1, image, BOXES[1], [False, True], folds[:1], 50)[0]
    np.testing.assert_array_equal(pool.cues, cues(image, pool.windows).astype(np.float32))
    np.testing.assert_array_equal(pool.truth_cues, cues(image, BOXES[1]).astype(np.float32))
    assert pool.difficult.tolist() == [False, True]
    assert pool.reachable.shape == (2, len(INITIAL_COUNTS))
    assert (pool.reachable[:, 0] >= best_overlap(BOXES[1], pool.windows)).all()


def test_more_windows_are_drawn_in_test_images_only(folds, image):
    fold = folds[0]
    for number, more in ((int(fold.train[0]), False), (int(fold.test[0]), True)):
        pool = describe_windows(number, image, BOXES[number], [False] * len(BOXES[number]), [fold], 20)[0]
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
