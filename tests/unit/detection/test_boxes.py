import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ermlab.detection.boxes import as_boxes, as_boxes_inside, best_overlap, overlap, suppress

SIDE = 12


def pixels(box):
    left, top, right, bottom = box
    return {(x, y) for x in range(left, right + 1) for y in range(top, bottom + 1)}


def overlap_by_pixels(a, b):
    return len(pixels(a) & pixels(b)) / len(pixels(a) | pixels(b))


def random_boxes(rng, n, side=SIDE):
    corners = np.sort(rng.integers(0, side, size=(n, 2, 2)), axis=1)
    return corners.reshape(n, 4)


def suppress_by_hand(boxes, scores, max_boxes, max_overlap):
    left = sorted(range(len(boxes)), key=lambda i: (-scores[i], i))
    kept = []
    while left and len(kept) < max_boxes:
        best = left.pop(0)
        kept.append(best)
        left = [i for i in left if overlap_by_pixels(boxes[best], boxes[i]) <= max_overlap]
    return kept


boxes_of_pixels = st.tuples(*[st.integers(0, SIDE)] * 4).map(
    lambda c: (min(c[0], c[2]), min(c[1], c[3]), max(c[0], c[2]), max(c[1], c[3]))
)


@given(st.lists(boxes_of_pixels, max_size=4), st.lists(boxes_of_pixels, max_size=4))
def test_overlap_counts_pixels(a, b):
    expected = np.array([[overlap_by_pixels(x, y) for y in b] for x in a]).reshape(len(a), len(b))
    np.testing.assert_allclose(overlap(a, b), expected, rtol=1e-15)
    np.testing.assert_array_equal(best_overlap(a, b), overlap(a, b).max(axis=1, initial=0.0))


@given(
    st.lists(st.tuples(boxes_of_pixels, st.integers(0, 3)), max_size=25),
    st.integers(0, 30),
    st.sampled_from([0.0, 0.25, 0.5, 0.75, 0.9, 1.0]),
)
def test_suppression_is_the_greedy_one(scored, max_boxes, max_overlap):
    boxes, scores = [box for box, _ in scored], [score for _, score in scored]
    found = suppress(boxes, scores, max_boxes, max_overlap)
    assert found.tolist() == suppress_by_hand(boxes, scores, max_boxes, max_overlap)


def test_an_identical_box_overlaps_wholly_and_is_suppressed():
    boxes = [[2, 3, 5, 6], [2, 3, 5, 6]]
    np.testing.assert_array_equal(overlap(boxes, boxes), 1.0)
    assert suppress(boxes, [0.0, 1.0], 2).tolist() == [1]
    assert suppress(boxes, [0.0, 1.0], 2, max_overlap=1.0).tolist() == [1, 0]


def test_equal_scores_keep_the_order_of_input():
    boxes = random_boxes(np.random.default_rng(0), 20)
    assert suppress(boxes, np.zeros(20), 20, max_overlap=1.0).tolist() == list(range(20))


def test_boxes_of_huge_images_do_not_overflow():
    big = [[0, 0, 2_000_000_000, 2_000_000_000]]
    assert overlap(big, big) == [[1.0]]


def test_many_boxes_keep_the_invariant_of_suppression():
    rng = np.random.default_rng(1)
    boxes, scores = random_boxes(rng, 20_000, side=300), rng.normal(size=20_000)
    kept = suppress(boxes, scores, 500, max_overlap=0.5)
    between = overlap(boxes[kept], boxes[kept]) - np.eye(len(kept))
    assert len(kept) == 500
    assert between.max() <= 0.5
    assert (np.diff(scores[kept]) <= 0).all()
    passed_over = np.setdiff1d(np.flatnonzero(scores >= scores[kept[-1]]), kept)
    assert (best_overlap(boxes[passed_over], boxes[kept]) > 0.5).all()


def test_whole_floats_and_empty_lists_are_boxes():
    assert as_boxes([[0.0, 1.0, 2.0, 3.0]]).dtype == np.int64
    assert as_boxes([]).shape == (0, 4)
    assert overlap([], [[0, 0, 1, 1]]).shape == (0, 1)
    assert suppress([], [], 5).size == 0


@pytest.mark.parametrize(
    ("boxes", "message"),
    [
        ([0, 1, 2, 3], r"a has shape \(4,\)"),
        ([[0, 1, 2]], r"a has shape \(1, 3\)"),
        ([[0, 0, 1, 1], [3, 0, 2, 1]], r"a\[1\] is \[3, 0, 2, 1\]: expected left <= right"),
        ([[0, 2, 1, 1]], "top <= bottom"),
        ([[0.5, 0, 1, 1]], r"a\[0\] is \[0.5, 0.0, 1.0, 1.0\]: expected integers"),
        ([[np.nan, 0, 1, 1]], "expected integers"),
        ([["0", "0", "1", "1"]], "expected integers"),
    ],
)
def test_what_is_no_box_is_named(boxes, message):
    with pytest.raises(ValueError, match=message):
        overlap(boxes, [[0, 0, 1, 1]])


@pytest.mark.parametrize("box", [[-1, 0, 1, 1], [0, -1, 1, 1], [0, 0, 5, 1], [0, 0, 1, 4]])
def test_boxes_outside_of_the_image_are_named(box):
    with pytest.raises(ValueError, match=rf"windows\[1\] is \[{', '.join(map(str, box))}\].*5 x 4 pixels"):
        as_boxes_inside([[0, 0, 4, 3], box], (4, 5))


@pytest.mark.parametrize(
    ("scores", "max_boxes", "max_overlap", "message"),
    [
        ([1.0, 2.0], 1, 0.5, r"scores has shape \(2,\)"),
        ([np.nan], 1, 0.5, r"scores\[0\] is NaN"),
        ([1.0], -1, 0.5, "max_boxes is -1"),
        ([1.0], 1.5, 0.5, "max_boxes is 1.5"),
        ([1.0], 1, 1.5, "max_overlap is 1.5"),
        ([1.0], 1, np.nan, "max_overlap is nan"),
    ],
)
def test_wrong_arguments_of_suppression_are_named(scores, max_boxes, max_overlap, message):
    with pytest.raises(ValueError, match=message):
        suppress([[0, 0, 1, 1]], scores, max_boxes, max_overlap)


def test_boxes_of_half_precision_are_boxes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_boxes(np.array([[0, 1, 2048, 4]], dtype=np.float16)).tolist() == [[0, 1, 2048, 4]]


@pytest.mark.parametrize(("name", "wrong"), [("max_boxes", None), ("max_boxes", "1"), ("max_overlap", "1")])
def test_suppress_names_what_is_no_number(name, wrong):
    with pytest.raises(ValueError, match=f"{name} is {wrong}"):
        suppress([[0, 0, 1, 1]], [1.0], **{"max_boxes": 1, name: wrong})
