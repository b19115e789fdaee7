"""The detector of objects: exact search of windows, learning, saving, and invalid input."""

import numpy as np
import pytest

from ermlab.detection import BoxDetector, overlap
from ermlab.detection.hog_windows import NOWHERE, WindowPyramid, WindowTask, nearest_window
from ermlab.exceptions import DataError
from ermlab.structured import StructuredSVM


def striped(seed, n=6, sizes=(1.0, 1.0)):
    """Images with one striped object each, and its box."""
    rng = np.random.default_rng(seed)
    images, boxes = [], []
    for _ in range(n):
        image = rng.normal(100, 3, size=(110, 140))
        scale = rng.uniform(*sizes)
        height, width = round(40 * scale), round(48 * scale)
        left, top = rng.integers(0, 140 - width), rng.integers(0, 110 - height)
        image[top : top + height, left : left + width] += 50 * (np.arange(width) // (6 * scale) % 2 < 1)
        images.append(image)
        boxes.append([[left, top, left + width - 1, top + height - 1]])
    return images, boxes


@pytest.fixture(scope="module")
def trained():
    images, boxes = striped(0, sizes=(0.8, 1.6))
    return BoxDetector(n_cells=24).fit(images, boxes)


def test_objects_of_several_sizes_are_found(trained):
    images, boxes = striped(1, n=8, sizes=(0.8, 1.6))
    found, scores = trained.predict(images)
    first = [overlap(of_image[:1], truth)[0, 0] for of_image, truth in zip(found, boxes, strict=True)]
    assert min(first) > 0.5
    assert all((np.diff(of_image) <= 0).all() and (of_image > 0).all() for of_image in scores)


def test_background_is_rejected(trained):
    rng = np.random.default_rng(2)
    found, _ = trained.predict([rng.normal(100, 3, size=(110, 140)) for _ in range(3)])
    assert sum(map(len, found)) == 0


def test_scores_are_those_of_the_descriptors():
    rng = np.random.default_rng(3)
    pyramid = WindowPyramid.of(rng.normal(size=(50, 60)), (3, 4), 8, [0.7, 1.0, 1.4])
    w = rng.normal(size=3 * 4 * 31 + 1)
    expected = [pyramid.descriptor(k) @ w for k in range(len(pyramid.boxes))]
    np.testing.assert_allclose(pyramid.scores(w), expected, rtol=1e-4, atol=1e-4)
    with pytest.raises(IndexError, match="behind the last"):
        pyramid.descriptor(len(pyramid.boxes))


def test_windows_cover_what_they_describe():
    """A bright square changes the descriptors of the windows at its place, and no others."""
    image = np.zeros((80, 80))
    other = image.copy()
    other[32:48, 40:56] = 1.0
    pyramids = [WindowPyramid.of(pixels, (3, 3), 8, [1.0]) for pixels in (image, other)]
    changed = np.array(
        [
            not np.allclose(*(pyramid.descriptor(k) for pyramid in pyramids))
            for k in range(len(pyramids[0].boxes))
        ]
    )
    near = overlap(pyramids[0].boxes, [[32 - 9, 32 - 9, 63 + 9, 55 + 9]])[:, 0] > 0
    assert changed.any()
    assert not (changed & ~near).any()
    inside = (pyramids[0].boxes == [32, 24, 55, 47]).all(axis=1)
    assert changed[inside].all()
    assert inside.sum() == 1


def test_the_most_violated_answer_is_that_of_all_answers():
    rng = np.random.default_rng(4)
    pyramid = WindowPyramid.of(rng.normal(size=(50, 60)), (3, 3), 8, [1.0, 1.3])
    pyramid = pyramid.without(np.array([[0, 0, 20, 20]]))
    assert not pyramid.allowed.all()
    task = WindowTask(3 * 3 * 31)
    allowed = [np.array([k, *pyramid.boxes[k]]) for k in np.flatnonzero(pyramid.allowed)]
    answers = [*allowed, NOWHERE]
    for truth in (allowed[3], NOWHERE):
        w = 0.1 * rng.normal(size=task.dimension)
        found = task.most_violated(w, pyramid, truth, "margin")
        values = [task.loss(truth, z) + w @ task.joint_feature(pyramid, z) for z in answers]
        value = task.loss(truth, found) + w @ task.joint_feature(pyramid, found)
        assert value == pytest.approx(max(values), abs=1e-4)
        best = max(w @ task.joint_feature(pyramid, z) for z in answers)
        assert w @ task.joint_feature(pyramid, task.predict(w, pyramid)) == pytest.approx(best, abs=1e-4)
        assert task.loss(truth, truth) == 0
    with pytest.raises(ValueError, match="rescaling is 'slack'"):
        StructuredSVM(task, rescaling="slack").fit([pyramid], [NOWHERE])


def test_nearest_windows():
    pyramid = WindowPyramid.of(np.zeros((64, 64)), (3, 3), 8, [1.0])
    assert nearest_window(pyramid, [16, 16, 39, 39])[1:].tolist() == [16, 16, 39, 39]
    assert nearest_window(pyramid, [0, 0, 63, 5])[0] < 0


def test_save_and_load(trained, tmp_path):
    trained.save(tmp_path / "model")
    images, _ = striped(5, n=2)
    for one, other in zip(
        trained.predict(images), BoxDetector.load(tmp_path / "model").predict(images), strict=True
    ):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
    content = (tmp_path / "model").read_bytes()
    (tmp_path / "broken").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="broken"):
        BoxDetector.load(tmp_path / "broken")


def test_threads_do_not_change_the_result():
    images, boxes = striped(6, n=3)
    one, two = (BoxDetector(n_cells=16, n_jobs=n_jobs).fit(images, boxes) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_scale_and_offset_of_the_brightness_do_not_matter(trained):
    images, _ = striped(7, n=1)
    one, other = (trained.predict([pixels])[0][0] for pixels in (images[0], 3 * images[0] + 20))
    np.testing.assert_array_equal(one, other)


def test_invalid_input():
    images, boxes = striped(8, n=2)
    nan = images[0].copy()
    nan[3, 4] = np.nan
    for args, message in (
        ((images, boxes[:1]), "2 images and boxes of 1"),
        ((images, [[], []]), "no boxes: expected at least one"),
        (([nan, images[1]], boxes), "image 0 has a value that is not finite"),
        (([images[0][..., None], images[1]], boxes), r"image 0 has shape \(110, 140, 1\)"),
        ((images, [[[0, 0, 500, 5]], boxes[1]]), "boxes of image 0.* expected a box inside 140 x 110"),
        ((images, [[[5, 5, 1, 1]], boxes[1]]), "expected left <= right"),
        (([np.zeros((0, 5)), images[1]], [[], boxes[1]]), "image 0 has shape"),
    ):
        with pytest.raises(ValueError, match=message):
            BoxDetector(n_cells=16).fit(*args)
    for parameters, message in (
        ({"C": 0}, "C is 0"),
        ({"n_cells": 0}, "n_cells"),
        ({"cell": 0}, "cell"),
    ):
        with pytest.raises(ValueError, match=message):
            BoxDetector(**parameters).fit(images, boxes)


def test_images_that_are_too_small_have_no_window(trained):
    found, scores = trained.predict([np.zeros((9, 9)), np.zeros((1, 1))])
    assert [len(of_image) for of_image in (*found, *scores)] == [0, 0, 0, 0]


def test_constant_images_can_be_learned_from():
    detector = BoxDetector(n_cells=9).fit([np.zeros((40, 40))] * 2, [[[4, 4, 27, 27]], []])
    assert np.isfinite(detector.coef_).all()
