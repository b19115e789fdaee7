"""Models of words in boxes: halves of the images, background, samples, training."""

import numpy as np
import pytest

from ermlab.detection.box_words import (
    BACKGROUND,
    LARGEST_OVERLAP,
    SHORTEST_SIDE,
    BoxSamples,
    background_boxes,
    cross_validate,
    halve_images,
    sample_boxes,
    train_one_against_rest,
    words_at_points,
)
from ermlab.detection.boxes import overlap
from ermlab.detection.word_grids import WordGrid

GRID = WordGrid(np.array([[[0, 1, 2], [-1, 1, 0]], [[2, 2, 2], [0, 0, 0]]], dtype=np.int32), (-1, 3), 4)


def test_words_stand_at_the_middle_of_their_places():
    points, words = words_at_points(GRID)
    assert points[:5].tolist() == [[1, 5], [5, 5], [9, 5], [5, 9], [9, 9]]
    assert words.tolist() == [0, 1, 2, 1, 0, 2, 2, 2, 0, 0, 0]


def test_every_class_is_in_both_halves():
    rng = np.random.default_rng(0)
    labels = [rng.choice(8, size=rng.integers(0, 3), p=np.arange(1, 9) / 36) for _ in range(60)]
    train, test = halve_images(labels)
    assert sorted([*train, *test]) == list(range(60))
    assert abs(len(train) - len(test)) <= 2
    for c in range(8):
        assert any(c in labels[i] for i in train)
        assert any(c in labels[i] for i in test)


def test_a_class_of_one_image_is_trained():
    train, test = halve_images([[0], [1], [0], []])
    assert (train.tolist(), test.tolist()) == ([1, 2], [0, 3])


def test_background_keeps_off_the_objects():
    objects = np.array([[10, 10, 60, 50], [0, 0, 99, 79]])
    boxes = background_boxes(np.random.default_rng(0), (80, 100), objects, 30)
    assert len(boxes) == 30
    assert overlap(boxes, objects).max() <= LARGEST_OVERLAP
    assert (boxes[:, 2:] - boxes[:, :2] + 1).min() >= SHORTEST_SIDE
    assert (boxes >= 0).all()
    assert (boxes[:, 2:] < [100, 80]).all()


def test_background_may_have_no_room():
    assert len(background_boxes(np.random.default_rng(0), (17, 17), [[0, 0, 16, 16]], 5)) == 0
    with pytest.raises(ValueError, match=r"objects\[0\]"):
        background_boxes(np.random.default_rng(0), (17, 17), [[0, 0, 17, 16]], 5)


def test_samples_count_the_words_in_boxes():
    samples = sample_boxes(7, GRID, 3, [[0, 0, 6, 6], [9, 9, 30, 30]], [4, BACKGROUND])
    assert samples.counts.tolist() == [[1, 1, 2], [2, 0, 0]]
    assert samples.labels.tolist() == [4, BACKGROUND]
    assert samples.images.tolist() == [7, 7]
    assert sample_boxes(7, GRID, 3, [], []).counts.shape == (0, 3)
    with pytest.raises(ValueError, match="one for each box"):
        sample_boxes(7, GRID, 3, [[0, 0, 6, 6]], [])


def two_classes(n_images=12):
    """Class 0 is made of word 0, class 1 of word 1, the background of word 2."""
    rng = np.random.default_rng(0)
    labels = np.tile([0, 1, BACKGROUND, BACKGROUND], n_images)
    counts = rng.poisson(1, size=(len(labels), 3))
    counts[np.arange(len(labels)), labels % 3] += 20
    return BoxSamples(counts, labels, np.repeat(np.arange(n_images), 4))


def test_weights_are_positive_for_the_words_of_the_class():
    weights = train_one_against_rest(two_classes(), [0, 1], 1.0)
    assert weights.shape == (2, 3)
    assert (np.argmax(weights, axis=1) == [0, 1]).all()
    assert (np.sign(weights) == [[1, -1, -1], [-1, 1, -1]]).all()


def test_held_out_boxes_of_separable_classes_are_told_apart():
    samples = two_classes()
    assert cross_validate(samples, 1.0) == 1.0
    shuffled = samples._replace(labels=np.random.default_rng(1).permutation(samples.labels))
    assert cross_validate(shuffled, 1.0) < 0.8


def test_classes_without_boxes_are_rejected():
    with pytest.raises(ValueError, match=r"classes \[5\] have no training box"):
        train_one_against_rest(two_classes(), [0, 5], 1.0)
    with pytest.raises(ValueError, match="expected more images"):
        cross_validate(two_classes(1), 1.0)
