"""Subwindow search: small cases by hand, and what it says of bad input."""

import numpy as np
import pytest

from ermlab.detection import (
    Detector,
    _queue_numba,
    best_box,
    best_box_of_each,
    best_boxes,
    detect,
    histogram,
    linear,
    loss_augmented,
    pyramid,
    search,
)
from ermlab.detection import _search_numba as kernels
from ermlab.detection.subwindow import set_around

SHAPE = (4, 6)
POINTS = np.array([[1, 1], [2, 2], [2, 1], [5, 3]])
WEIGHTS = np.array([1.0, 1.0, -0.5, 0.25])


def test_best_box_hugs_its_points():
    found = search(POINTS, WEIGHTS, SHAPE)
    assert found.box.tolist() == [1, 1, 5, 3]
    assert found.score == 1.75
    assert search(POINTS, WEIGHTS - 0.25, SHAPE).box.tolist() == [2, 2, 2, 2]


def test_without_points_the_last_pixel_scores_0():
    found = search([], [], SHAPE)
    assert (found.box.tolist(), found.score) == ([5, 3, 5, 3], 0.0)


def test_negative_points_are_avoided_where_there_is_room():
    assert search([[5, 3]], [-1.0], SHAPE).score == 0.0
    everywhere = np.argwhere(np.ones((6, 4)))
    found = search(everywhere, -1.0 - everywhere[:, 0], SHAPE)
    assert found.score == -1.0
    assert found.box.tolist() == [0, 3, 0, 3]


def test_one_pixel():
    found = search([[0, 0], [0, 0]], [2.0, -3.0], (1, 1))
    assert (found.box.tolist(), found.score, found.splits) == ([0, 0, 0, 0], -1.0, 0)


@pytest.mark.parametrize("shape", [(1, 32768), (32768, 1)])
def test_longest_image(shape):
    points = np.array([[0, 0], [shape[1] - 1, shape[0] - 1]])
    assert search(points, [1.0, -1.0], shape).box.tolist() == [0, 0, 0, 0]
    assert search(points, [1.0, 1.0], shape).box.tolist() == [0, 0, shape[1] - 1, shape[0] - 1]


def test_integers_and_floats_of_any_size_are_exact():
    assert search(POINTS, [3, 1, -1, 2], SHAPE).score == 5.0
    for scale in (1e-300, 1e-20, 1e20, 1e300):
        assert search(POINTS, scale * WEIGHTS, SHAPE).score == pytest.approx(1.75 * scale, rel=1e-15)


def test_detections_keep_apart():
    found = detect(POINTS, WEIGHTS, SHAPE, n_detections=3, overlap=0.05)
    assert [detection.score for detection in found] == [1.75]
    found = detect(POINTS, WEIGHTS, SHAPE, n_detections=3, overlap=0.05, min_score=None)
    assert [detection.score for detection in found] == [1.75, 0.0, 0.0]
    assert found[1].box.tolist() == [5, 0, 5, 0]


def test_fewer_detections_where_all_others_are_suppressed():
    assert len(detect([[0, 0]], [1.0], (1, 2), n_detections=3, overlap=0.5, min_score=None)) == 2


@pytest.mark.parametrize("weights", [[-1.0, -2.0], [0.0, 0.0], [-1.0, 0.0]])
def test_no_box_is_invented_where_none_has_a_positive_score(weights):
    assert detect([[0, 0], [3, 2]], weights, (4, 5)) == []
    assert detect(np.empty((0, 2), dtype=int), [], (4, 5)) == []


def test_boxes_above_a_score():
    points, weights = [[0, 0], [4, 0], [8, 0]], [3.0, 2.0, 1.0]
    found = detect(points, np.array(weights) - 0.0, (1, 9), overlap=0.01, min_score=1.0)
    assert all(detection.score > 1.0 for detection in found)
    assert len(detect(points, weights, (1, 9), min_score=6.0)) == 0


def test_threads_find_the_same():
    rng = np.random.default_rng(0)
    images = [
        linear(rng.integers((40, 30), size=(50, 2)), rng.normal(size=50), (30, 40), "classical")
        for _ in range(6)
    ]
    one, two = (best_box_of_each(images, threads) for threads in (1, 2))
    for a, b, alone in zip(one, two, map(best_box, images), strict=True):
        assert a.box.tolist() == b.box.tolist() == alone.box.tolist()
        assert a[1:] == b[1:] == alone[1:]


def test_pyramid_finds_the_arrangement():
    """Two points side by side count only if they fall into opposite halves."""
    points = np.array([[1, 1], [4, 1]])
    weights = np.array([[0, 1, -1, 0, 0], [0, -1, 1, 0, 0]], dtype=float)
    found = best_box(pyramid(points, weights, SHAPE, (1, 2)))
    assert found.score == 2.0
    assert found.box.tolist() == [1, 1, 4, 2]


def test_intersection_stops_counting_at_the_reference():
    quality = histogram([[0, 0], [1, 0], [2, 0]], [0, 0, 1], (1, 3), [1.0, 1.0], kernel="intersection")
    assert best_box(quality).score == 2.0
    assert best_box(quality).box.tolist() == [1, 0, 2, 0]


def test_loss_augmentation_prefers_boxes_apart_from_the_truth():
    quality = linear([], [], SHAPE)
    found = best_box(loss_augmented(quality, (0, 0, 1, 1), "margin"))
    assert found.score == 1.0
    assert best_box(loss_augmented(quality, (0, 0, 1, 1), "slack")).score == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[6, 0]], [1.0], SHAPE), r"point 0 is \(6, 0\): expected x < 6"),
        (([[0, 0], [0, -1]], [1.0, 1.0], SHAPE), r"point 1 is \(0, -1\)"),
        (([[0.5, 0]], [1.0], SHAPE), "points of type float64"),
        (([[0, 0, 0]], [1.0], SHAPE), r"shape \(1, 3\)"),
        (([[0, 0]], [np.nan], SHAPE), "weight 0 is nan"),
        (([[0, 0]], [np.inf], SHAPE), "weight 0 is inf"),
        (([[0, 0], [1, 1]], [1e308, 1e308], SHAPE), "sum overflows"),
        (([[0, 0]], [1.0, 2.0], SHAPE), r"weights of shape \(2,\): expected \(1,\)"),
        (([], [1.0], SHAPE), r"weights of shape \(1,\): expected \(0,\)"),
        (([], [], (0, 5)), r"shape is \(0, 5\)"),
        (([], [], (5, 5, 3)), r"shape is \(5, 5, 3\)"),
        (([], [], (40000, 5)), "from 1 to 32768"),
        (([], [], SHAPE, "loose"), "bound is 'loose'"),
    ],
)
def test_bad_points_weights_and_shapes(arguments, message):
    with pytest.raises(ValueError, match=message):
        search(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_detections": 4}, "4 detections: expected from 1 to 3"),
        ({"n_detections": 0}, "0 detections"),
        ({"n_detections": 3, "reset": "0"}, "reset is '0': expected a string of 2 digits"),
        ({"n_detections": 2, "reset": "x"}, "reset is 'x'"),
        ({"n_detections": 2, "overlap": 0.0}, "overlap is 0.0"),
        ({"n_detections": 2, "overlap": np.nan}, "overlap is nan"),
        ({"n_detections": 2, "overlap": lambda x: 1.0 - x}, "non-decreasing"),
        ({"n_detections": 2, "overlap": lambda x: x - 0.5}, "non-negative"),
    ],
)
def test_bad_settings_of_detections(arguments, message):
    with pytest.raises(ValueError, match=message):
        best_boxes(linear([], [], (1, 2)), **arguments)


@pytest.mark.parametrize("box", [(3, 0, 2, 1), (0, 0, 6, 1), (-1, 0, 2, 1), (0, 0, 1), (0.5, 0, 1, 1)])
def test_bad_boxes(box):
    with pytest.raises(ValueError, match="box"):
        linear([], [], SHAPE).score(box)
    with pytest.raises(ValueError, match="box"):
        loss_augmented(linear([], [], SHAPE), box)


def test_bad_intervals():
    quality = linear([], [], SHAPE)
    with pytest.raises(ValueError, match="begin before"):
        quality.bound((2, 1), (0, 1), (4, 4), (2, 3))
    with pytest.raises(ValueError, match="6 ends"):
        quality.bound((0, 1), (0, 1), (4, 4), ())


def test_bad_pyramids_and_histograms():
    with pytest.raises(ValueError, match=r"weights of shape \(1, 4\): expected \(1, 5\)"):
        pyramid([[0, 0]], np.ones((1, 4)), SHAPE, (1, 2))
    for grids in ((), (0,), (1.5,)):
        with pytest.raises(ValueError, match="grids are"):
            pyramid([[0, 0]], np.ones((1, 1)), SHAPE, grids)
    with pytest.raises(ValueError, match="kernel is 'cosine'"):
        histogram([[0, 0]], [0], SHAPE, [1.0], kernel="cosine")
    with pytest.raises(ValueError, match="words from 2 to 2: expected 0 to 1"):
        histogram([[0, 0]], [2], SHAPE, [1.0, 1.0])
    with pytest.raises(ValueError, match="expected 1 integers"):
        histogram([[0, 0]], [0, 1], SHAPE, [1.0, 1.0])
    for references in ([-1.0], [np.nan], [], [1.0] * 6):
        with pytest.raises(ValueError, match="references of shape"):
            histogram([[0, 0]], [0], SHAPE, references, grids=(1, 2))
    with pytest.raises(ValueError, match="rescaling is 'area'"):
        loss_augmented(linear([], [], SHAPE), (0, 0, 1, 1), "area")


def test_a_queue_does_not_grow_without_end():
    queue = np.zeros(1, _queue_numba.STATE)
    assert len(_queue_numba.with_room(queue, 1)) == 2
    endless = np.lib.stride_tricks.as_strided(queue, (_queue_numba.MOST_STATES,), (0,))
    with pytest.raises(ValueError, match="queue of the search is full"):
        _queue_numba.with_room.py_func(endless, len(endless))


def test_a_detector_starts_anew_after_an_error(monkeypatch):
    detector = Detector(linear(POINTS, WEIGHTS, SHAPE))
    advance = kernels.advance

    def fail(*arguments):
        advance(*arguments)  # which changes the queue in place
        raise ValueError("full")

    monkeypatch.setattr(kernels, "advance", fail)
    with pytest.raises(ValueError, match="full"):
        detector.next()
    monkeypatch.undo()
    expected = best_boxes(linear(POINTS, WEIGHTS, SHAPE), 3)
    assert [detector.next().score for _ in expected] == [detection.score for detection in expected]


@pytest.mark.parametrize("depth", [0, 5, 12, 100])
def test_set_around_contains_the_box(depth):
    box = (3, 2, 17, 11)
    boxes = set_around(box, (15, 20), depth)
    assert all(first <= side <= last for side, first, last in zip(box, boxes[::2], boxes[1::2], strict=True))
    if depth == 0:
        assert boxes == (0, 19, 0, 14, 0, 19, 0, 14)
    if depth == 100:
        assert boxes[::2] == boxes[1::2] == box
