import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_curve

from ermlab.detection.boxes import overlap
from ermlab.metrics.detection import (
    CORRECT,
    FALSE,
    IGNORED,
    average_precision,
    best_overlap_at,
    detection_curve,
    ellipse_agreement,
    equal_error_rate,
    match_detections,
    recall_area,
    recall_at_false_positives,
    recall_overlap,
    roc_equal_error_rate,
)

unit = st.floats(0, 1)


def random_boxes(rng, n, side=10):
    return np.sort(rng.integers(0, side, size=(n, 2, 2)), axis=1).reshape(n, 4)


def points(n):
    """Boxes of one pixel far apart, so that each overlaps itself alone."""
    return np.array([[10 * i, 0, 10 * i, 0] for i in range(n)]).reshape(-1, 4)


def curve_of_labels(labels, scores):
    """A curve in which detections are right or wrong as the labels say and all truths are found."""
    labels = np.asarray(labels, dtype=bool)
    spots = points(len(labels))
    return detection_curve([spots], [scores], [spots[labels]])


# Recall against overlap


@given(st.lists(unit, min_size=1, max_size=30), st.lists(unit, max_size=8))
def test_recall_counts_boxes_at_or_above_each_overlap(overlaps, thresholds):
    thresholds = [*thresholds, *overlaps]
    expected = [sum(o >= t for o in overlaps) / len(overlaps) for t in thresholds]
    np.testing.assert_allclose(recall_overlap(overlaps, thresholds), expected, atol=1e-12)


@given(
    st.lists(unit, min_size=1, max_size=30), st.sampled_from([(0.5, 1.0), (0.0, 1.0), (0.3, 0.6), (0.0, 0.5)])
)
def test_area_is_that_of_the_step_curve(overlaps, limits):
    low, high = limits
    steps = np.unique(np.clip([low, *overlaps, high], low, high))
    heights = recall_overlap(overlaps, (steps[1:] + steps[:-1]) / 2)
    expected = np.sum(np.diff(steps) * heights) / (high - low)
    assert recall_area(overlaps, low, high) == pytest.approx(expected, abs=1e-9)


def test_perfect_windows_have_area_one():
    assert recall_area([1.0, 1.0]) == 1.0
    assert recall_area([0.5, 0.2]) == 0.0
    assert recall_area([0.75]) == 0.5


@given(st.integers(0, 2**32 - 1), st.integers(0, 5), st.integers(0, 30))
def test_best_overlap_of_the_first_windows(seed, n_truth, n_windows):
    rng = np.random.default_rng(seed)
    truth, windows = random_boxes(rng, n_truth), random_boxes(rng, n_windows)
    counts = (10, 3, 0, 100)
    expected = [overlap(truth, windows[:count]).max(axis=1, initial=0.0) for count in counts]
    np.testing.assert_array_equal(best_overlap_at(truth, windows, counts), np.stack(expected, axis=1))


# Matching


def match_by_the_rule(boxes, scores, truth, difficult, min_overlap):
    taken, verdict = set(), {}
    for i in sorted(range(len(boxes)), key=lambda i: (-scores[i], i)):
        overlaps = overlap(boxes[i : i + 1], truth)[0].tolist()
        best = max(range(len(truth)), key=lambda j: (overlaps[j], -j)) if len(truth) else None
        if best is None or overlaps[best] < min_overlap:
            verdict[i] = FALSE
        elif difficult[best]:
            verdict[i] = IGNORED
        else:
            verdict[i] = FALSE if best in taken else CORRECT
            taken.add(best)
    return [verdict[i] for i in range(len(boxes))]


@given(st.integers(0, 2**32 - 1), st.integers(0, 12), st.integers(0, 4), st.sampled_from([0.2, 0.5, 1.0]))
def test_matching_follows_the_rule(seed, n, n_truth, min_overlap):
    rng = np.random.default_rng(seed)
    boxes, truth = random_boxes(rng, n, 5), random_boxes(rng, n_truth, 5)
    scores, difficult = rng.integers(0, 3, size=n), rng.random(n_truth) < 0.3
    found = match_detections(boxes, scores, truth, difficult, min_overlap)
    assert found.tolist() == match_by_the_rule(boxes, scores, truth, difficult, min_overlap)
    claimed = overlap(boxes[found == CORRECT], truth).argmax(axis=1) if n_truth else []
    assert len(set(claimed)) == len(claimed)


def test_a_truth_box_is_claimed_once_by_the_best_score():
    box = [[0, 0, 9, 9]]
    assert match_detections(box * 3, [1.0, 3.0, 2.0], box).tolist() == [FALSE, CORRECT, FALSE]


def test_difficult_boxes_neither_count_nor_hurt():
    truth, difficult = points(3), [False, True, True]
    with_difficult = detection_curve([points(3)], [[1.0, 2.0, 3.0]], [truth], [difficult])
    without = detection_curve([points(1)], [[1.0]], [truth[:1]])
    np.testing.assert_array_equal(with_difficult.precision, without.precision)
    np.testing.assert_array_equal(with_difficult.recall, without.recall)


# Curves


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=40))
def test_curve_and_area_agree_with_sklearn(pairs):
    labels, scores = [pair[0] for pair in pairs], [float(pair[1]) for pair in pairs]
    if not any(labels):
        return
    curve = curve_of_labels(labels, scores)
    precision, recall, thresholds = precision_recall_curve(labels, scores)
    np.testing.assert_allclose(curve.thresholds, thresholds[::-1])
    np.testing.assert_allclose(curve.precision, precision[:-1][::-1])
    np.testing.assert_allclose(curve.recall, recall[:-1][::-1])
    area = average_precision(curve.precision, curve.recall)
    assert area == pytest.approx(average_precision_score(labels, scores))
    wrong = [sum(s >= t and not y for y, s in zip(labels, scores, strict=True)) for t in curve.thresholds]
    np.testing.assert_allclose(curve.false_positives_per_image, wrong)


def test_images_are_pooled_and_false_positives_are_per_image():
    spots = points(4)
    curve = detection_curve(
        [spots[:2], spots[2:]], [[4.0, 1.0], [3.0, 2.0]], [spots[:1], spots[3:]], min_overlap=0.5
    )
    np.testing.assert_allclose(curve.thresholds, [4, 3, 2, 1])
    np.testing.assert_allclose(curve.precision, [1, 1 / 2, 2 / 3, 1 / 2])
    np.testing.assert_allclose(curve.recall, [1 / 2, 1 / 2, 1, 1])
    np.testing.assert_allclose(curve.false_positives_per_image, [0, 1 / 2, 1 / 2, 1])
    np.testing.assert_allclose(recall_at_false_positives(curve, [0, 0.4, 0.5, 2]), [1 / 2, 1 / 2, 1, 1])


def test_eleven_point_average_of_a_known_curve():
    # Recall 1/2 at precision 1, recall 1 at precision 2/3: six recalls up to .5, five above.
    assert average_precision([1, 0.5, 2 / 3], [0.5, 0.5, 1], "eleven") == pytest.approx((6 + 5 * 2 / 3) / 11)
    assert average_precision([1.0], [0.3], "eleven") == pytest.approx(4 / 11)


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_precision_equals_recall_after_as_many_detections_as_truths(labels):
    if not any(labels):
        return
    curve = curve_of_labels(labels, -np.arange(len(labels), dtype=float))
    found = np.sum(labels[: sum(labels)]) / np.sum(labels)
    assert equal_error_rate(curve.precision, curve.recall) == pytest.approx(1 - found)


def test_equal_error_between_points_and_beyond_the_end():
    assert equal_error_rate([1.0, 0.0], [0.0, 1.0]) == pytest.approx(0.5)
    assert equal_error_rate([1.0], [0.3]) == pytest.approx(0.7)
    assert equal_error_rate([0.25], [1.0]) == pytest.approx(0.75)
    assert equal_error_rate([1.0], [1.0]) == 0.0


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=40))
def test_roc_equal_error_is_where_the_curve_meets_the_antidiagonal(pairs):
    labels, scores = np.array([pair[0] for pair in pairs]), np.array([float(pair[1]) for pair in pairs])
    if labels.all() or not labels.any():
        return
    false_rate, true_rate, _ = roc_curve(labels, scores, drop_intermediate=False)
    rate = roc_equal_error_rate(labels, scores)
    # On the polygon through the points of the curve: the point with false rate = miss rate = rate.
    distances = []
    for a, b in zip(np.c_[false_rate, true_rate][:-1], np.c_[false_rate, true_rate][1:], strict=True):
        along = np.clip(np.dot([rate, 1 - rate] - a, b - a) / max(np.dot(b - a, b - a), 1e-300), 0, 1)
        distances.append(np.abs(a + along * (b - a) - [rate, 1 - rate]).max())
    assert min(distances) <= 1e-12


def test_separated_classes_have_no_equal_error():
    assert roc_equal_error_rate([-1, -1, 1], [0.0, 1.0, 2.0]) == 0.0
    assert roc_equal_error_rate([1, 0], [0.0, 1.0]) == 1.0
    assert roc_equal_error_rate([1, 0], [1.0, 1.0]) == 0.5


# Degenerate and wrong input


def test_no_detections_give_an_empty_curve():
    curve = detection_curve([[], []], [[], []], [points(1), points(2)])
    assert curve.precision.shape == curve.recall.shape == (0,)
    assert average_precision(curve.precision, curve.recall) == 0.0
    assert average_precision(curve.precision, curve.recall, "eleven") == 0.0
    assert equal_error_rate(curve.precision, curve.recall) == 1.0
    np.testing.assert_array_equal(recall_at_false_positives(curve, [0.0, 1.0]), 0.0)


def test_detections_in_an_image_without_truth_are_false():
    assert match_detections(points(2), [1.0, 2.0], []).tolist() == [FALSE, FALSE]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: recall_overlap([], [0.5]), r"best_overlaps has shape \(0,\)"),
        (lambda: recall_overlap([1.2], [0.5]), r"best_overlaps\[0\] is 1.2"),
        (lambda: recall_overlap([0.2], [np.nan]), "thresholds hold NaN"),
        (lambda: recall_area([np.nan]), r"best_overlaps\[0\] is nan"),
        (lambda: recall_area([0.1], 0.5, 0.5), "low, high are 0.5, 0.5"),
        (lambda: best_overlap_at(points(1), points(1), [-1]), r"counts is \[-1\]"),
        (lambda: best_overlap_at(points(1), points(1), [1.5]), r"counts is \[1.5\]"),
        (lambda: match_detections(points(2), [1.0], points(1)), r"scores has shape \(1,\)"),
        (lambda: match_detections(points(1), [np.nan], points(1)), r"scores\[0\] is NaN"),
        (lambda: match_detections(points(1), [1.0], points(1), [True, False]), r"difficult has shape \(2,\)"),
        (lambda: match_detections(points(1), [1.0], points(1), min_overlap=0.0), "min_overlap is 0.0"),
        (lambda: detection_curve([points(1)], [[1.0]], [[]]), "recall is undefined"),
        (lambda: detection_curve([points(1)], [[1.0]], [points(1)], [[True]]), "recall is undefined"),
        (lambda: detection_curve([], [], []), "recall is undefined"),
        (lambda: detection_curve([points(1)], [], [points(1)]), r"have \[1, 0, 1, 1\] images"),
        (lambda: average_precision([1.0], [0.5], "area7"), "kind is 'area7'"),
        (lambda: average_precision([1.0, 1.0], [0.5]), r"shapes \(2,\), \(1,\)"),
        (lambda: average_precision([1.0, 1.0], [0.5, 0.2]), "recall decreases"),
        (lambda: equal_error_rate([np.nan], [0.5]), "between 0 and 1"),
        (lambda: roc_equal_error_rate([1, 1], [0.0, 1.0]), "2 positives of 2"),
        (lambda: roc_equal_error_rate([1, 0], [0.0]), r"scores has shape \(1,\)"),
        (lambda: recall_at_false_positives(curve_of_labels([True], [1.0]), [-1]), "rates is"),
    ],
)
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_ellipse_of_the_uiuc_cars():
    truth = [[100, 50, 199, 89]]
    corners = [(100, 50), (125, 50), (126, 50), (100, 60), (100, 61), (117, 57), (118, 58), (300, 50)]
    boxes = [[x, y, x + 99, y + 39] for x, y in corners]
    agreement = ellipse_agreement(boxes, truth)[:, 0]
    inside = [((x - 100) / 25) ** 2 + ((y - 50) / 10) ** 2 <= 1 for x, y in corners]
    assert (agreement >= 0.5).tolist() == inside
    assert agreement[0] == 1
    assert agreement[-1] == 0
    verdict = match_detections(boxes[:3], [3, 2, 1], truth, measure=ellipse_agreement)
    assert verdict.tolist() == [CORRECT, FALSE, FALSE]
    curve = detection_curve([boxes[1:3]], [[1, 2]], [truth], measure=ellipse_agreement)
    assert curve.precision.tolist() == [0, 0.5]


@pytest.mark.parametrize(("tied", "infinite"), [(3.0, np.inf), (1.0, -np.inf)])
def test_equal_scores_enter_together_even_if_infinite(tied, infinite):
    labels, scores = np.array([1, 0, 1, 0, 1, 0, 0]), np.array([3.0, 3.0, 3.0, 2.0, 1.0, 1.0, 1.0])
    found = roc_equal_error_rate(labels, np.where(scores == tied, infinite, scores))
    assert found == roc_equal_error_rate(labels, scores)


@pytest.mark.parametrize("labels", [[1.0, np.nan], [[1, 0]], ["a", "b"]])
def test_labels_that_are_no_numbers(labels):
    with pytest.raises(ValueError, match="labels of type"):
        roc_equal_error_rate(labels, [0.0, 1.0])


@pytest.mark.parametrize("agreement", [np.full((1, 1), np.nan), np.ones((2, 1))])
def test_measure_that_does_not_fit(agreement):
    with pytest.raises(ValueError, match="expected one number per pair"):
        match_detections([[0, 0, 1, 1]], [1.0], [[0, 0, 1, 1]], measure=lambda boxes, truth: agreement)


def test_complex_numbers_are_refused():
    for call in (
        lambda: recall_area(np.array([0.5 + 1j])),
        lambda: roc_equal_error_rate([1, 0], np.array([1j, 2])),
        lambda: average_precision(np.array([1j]), np.array([0.5])),
    ):
        with pytest.raises(ValueError, match="complex"):
            call()
    with pytest.raises(ValueError, match="min_overlap is 'half'"):
        match_detections([[0, 0, 1, 1]], [1.0], [[0, 0, 1, 1]], min_overlap="half")
