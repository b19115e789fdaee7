"""Cells of label images: measured as scikit-image does, matched with true cells, joined to films."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from skimage.measure import regionprops

from ermlab.tracking.assignment import EVENTS
from ermlab.tracking.cells import film_of_masks, match_tracks, measure, settle_tracks
from ermlab.tracking.ctc import Lineage, TrackedCells
from ermlab.tracking.events import Gates
from ermlab.tracking.films import CellFilm, frame_pairs


@given(arrays(np.uint8, (7, 9), elements=st.integers(0, 4)), st.integers(0, 2**32 - 1))
def test_measures_are_those_of_regionprops(labels, seed):
    image = np.random.default_rng(seed).uniform(1, 2, labels.shape)
    numbers, cells = measure(labels, image)
    regions = regionprops(labels, image)
    assert numbers.tolist() == [region.label for region in regions]
    np.testing.assert_allclose(cells.position, np.reshape([r.centroid for r in regions], (-1, 2)), rtol=1e-12)
    np.testing.assert_array_equal(cells.area, [r.area for r in regions])
    np.testing.assert_allclose(cells.intensity, [r.intensity_mean for r in regions], rtol=1e-12)
    # Regions on a line have eccentricity 1 up to rounding: its square is compared.
    np.testing.assert_allclose(cells.eccentricity**2, [r.eccentricity**2 for r in regions], atol=1e-12)


def test_measures_lose_no_digits_far_from_the_origin():
    labels = np.zeros((3000, 3000), dtype=np.uint16)
    labels[2990:2993, 2980:2987] = 65535
    numbers, cells = measure(labels)
    assert numbers.tolist() == [65535]
    assert cells.position.tolist() == [[2991, 2983]]
    assert cells.intensity.tolist() == [1]
    np.testing.assert_allclose(cells.eccentricity, np.sqrt(1 - 8 / 48), rtol=1e-14)


def test_an_empty_frame_has_no_cells():
    numbers, cells = measure(np.zeros((4, 5), dtype=int), np.zeros((4, 5)))
    assert len(numbers) == len(cells) == 0
    assert cells.shape == (4, 5)
    assert match_tracks(np.zeros((4, 5), dtype=int), np.zeros((4, 5), dtype=int)).shape == (0, 2)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros((3, 3)), "of float64: expected two axes of whole numbers"),
        (np.zeros((3, 3), dtype=bool), "of bool"),
        (np.zeros((3, 3, 3), dtype=int), r"shape \(3, 3, 3\)"),
        (-np.ones((3, 3), dtype=int), "the label -1"),
    ],
)
def test_label_images_that_are_none_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        measure(labels)
    with pytest.raises(ValueError, match=message):
        match_tracks(np.zeros(labels.shape[:2], dtype=int), labels)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros((2, 3)), r"shape \(2, 3\): expected \(3, 3\)"),
        (np.full((3, 3), "a"), "expected numbers"),
        (np.array([[1, 2, 3], [4, np.nan, 6], [7, 8, 9]]), "nan in row 1, column 1"),
        (np.zeros((3, 3)), "no intensity"),
    ],
)
def test_images_that_do_not_fit_are_refused(image, message):
    with pytest.raises(ValueError, match=message):
        measure(np.ones((3, 3), dtype=int), image)


# A true cell in columns 0 to 9, another in columns 10 to 19; both in rows 0 to 9.
TRUTH = np.repeat([[7] * 10 + [9] * 10], 10, axis=0)


def drawn(*boxes):
    """Return a label image with boxes (first row, last row, first column, last column), the later above."""
    labels = np.zeros(TRUTH.shape, dtype=int)
    for label, (top, bottom, left, right) in enumerate(boxes, start=1):
        labels[top : bottom + 1, left : right + 1] = label
    return labels


@pytest.mark.parametrize(
    ("labels", "held"),
    [
        (drawn((0, 9, 0, 9), (0, 9, 10, 19)), [[1, 7], [2, 9]]),
        (drawn((1, 8, 0, 9)), [[1, 7]]),  # the other one is missed
        (drawn((0, 4, 0, 9), (5, 9, 0, 9)), [[1, 7], [2, 7]]),  # cut in two
        (drawn((0, 9, 0, 9), (4, 5, 4, 5)), [[1, 7], [2, 7]]),  # a speck in it
        (drawn((0, 9, 0, 19)), [[1, 7], [1, 9]]),  # two in one
        (drawn((0, 9, 0, 15)), [[1, 7], [1, 9]]),  # one and the larger part of the other
        (drawn((0, 9, 0, 14)), [[1, 7]]),  # exactly half of the other is not enough
        (drawn((0, 9, 4, 15)), [[1, 7], [1, 9]]),
        (drawn((0, 9, 0, 12), (0, 9, 13, 19)), [[1, 7], [2, 9]]),  # a border at the wrong place
        (drawn((0, 3, 6, 13)), []),  # half on one, half on the other
        (drawn((0, 3, 6, 14)), [[1, 9]]),
    ],
)
def test_detections_hold_cells_by_more_than_half(labels, held):
    assert match_tracks(labels, TRUTH).tolist() == held


def test_a_detection_off_all_cells_holds_none():
    truth = TRUTH.copy()
    truth[:, 12:] = 0
    assert match_tracks(drawn((0, 9, 14, 19), (0, 9, 0, 9)), truth).tolist() == [[2, 7]]


small_labels = arrays(np.uint8, (6, 6), elements=st.integers(0, 3))


@given(small_labels, small_labels)
def test_matches_are_those_of_the_definition(labels, truth):
    expected = [
        [i, k]
        for i in (1, 2, 3)
        for k in (1, 2, 3)
        if (shared := np.sum((labels == i) & (truth == k))) > np.sum(labels == i) / 2
        or shared > np.sum(truth == k) / 2
    ]
    assert match_tracks(labels, truth).tolist() == expected


def test_masks_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match=r"truth has shape \(10, 20\): expected \(3, 3\)"):
        match_tracks(np.ones((3, 3), dtype=int), TRUTH)


def test_a_film_of_true_masks():
    masks = [drawn((0, 3, 0, 3), (5, 9, 10, 19)), drawn(), drawn((0, 1, 0, 1)) * 3]
    lineage = Lineage(*np.array([[1, 0, 0, 0], [2, 0, 0, 0], [3, 2, 2, 1]]).T)
    film = film_of_masks(TrackedCells(masks, lineage))
    assert [len(film.cells(t)) for t in range(len(film))] == [2, 0, 1]
    assert [film.tracks_in(t) for t in range(len(film))] == [[{1}, {2}], [], [{3}]]
    assert film.area.tolist() == [16, 50, 4]
    assert film.intensity.tolist() == [1, 1, 1]
    assert film.lineage.tolist() == lineage.rows()
    assert film.shape.tolist() == [10, 20]


@pytest.mark.parametrize(
    ("masks", "message"),
    [([], "no frames"), ([np.zeros((2, 3), dtype=int), np.zeros((3, 2), dtype=int)], "of shapes")],
)
def test_films_without_frames_or_of_several_shapes_are_refused(masks, message):
    with pytest.raises(ValueError, match=message):
        film_of_masks(TrackedCells(masks, Lineage.empty()))


def film_of(detections, lineage):
    """Return a film of detections (frame, column, tracks); cells stay in their columns."""
    n = len(detections)
    return CellFilm(
        frame=np.array([frame for frame, _, _ in detections]),
        position=np.array([[50.0, column] for _, column, _ in detections]),
        area=np.full(n, 100.0),
        intensity=np.ones(n),
        eccentricity=np.zeros(n),
        shape=np.array([100, 300]),
        n_frames=max(frame for frame, _, _ in detections) + 1,
        tracks=np.array([[i, k] for i, (_, _, tracks) in enumerate(detections) for k in tracks]).reshape(
            -1, 2
        ),
        lineage=np.array(lineage),
    )


def true_events(film):
    """Return the known events of each pair of frames: kind and columns."""
    names = list(EVENTS)
    return [
        sorted(
            (
                names[pair.hypotheses.kind[e]],
                [film.cells(pair.frame).position[i, 1] for i in pair.hypotheses.sources[e] if i >= 0],
                [film.cells(pair.frame + 1).position[j, 1] for j in pair.hypotheses.targets[e] if j >= 0],
            )
            for e in pair.annotation.events
        )
        for pair in frame_pairs(film, Gates())
    ]


def test_false_detections_appear_and_disappear_once_the_truth_is_complete():
    film = film_of([(0, 50, [1]), (0, 150, []), (1, 50, [1])], [[1, 0, 1, 0]])
    assert true_events(film) == [[("move", [50], [50])]]
    settled = settle_tracks(film)
    assert true_events(settled) == [[("disappearance", [150], []), ("move", [50], [50])]]
    assert frame_pairs(settled, Gates())[0].annotation.complete


def test_a_track_with_a_gap_disappears_and_appears():
    film = film_of(
        [(0, 50, [1]), (0, 150, [2]), (1, 150, [2]), (2, 50, [1]), (2, 150, [2])],
        [[1, 0, 2, 0], [2, 0, 2, 0]],
    )
    settled = settle_tracks(film)
    assert true_events(settled) == [
        [("disappearance", [50], []), ("move", [150], [150])],
        [("appearance", [], [50]), ("move", [150], [150])],
    ]
    assert [film.cells(t).position.tolist() for t in range(3)] == [
        settled.cells(t).position.tolist() for t in range(3)
    ]


def test_tracks_that_are_missed_at_their_ends_are_as_long_as_they_are_seen():
    settled = settle_tracks(film_of([(1, 50, [1]), (3, 99, [])], [[1, 0, 2, 0], [7, 0, 3, 0]]))
    assert settled.lineage.tolist() == [[1, 1, 1, 0], [7, 0, 3, 0], [8, 3, 3, 0]]
    assert true_events(settled)[0] == [("appearance", [], [50])]
    assert true_events(settled)[1] == [("disappearance", [50], [])]


def test_divisions_that_are_not_seen_whole_stay_unknown():
    whole = [(0, 50, [1]), (1, 45, [2]), (1, 55, [3]), (2, 45, [2]), (2, 55, [3])]
    lineage = [[1, 0, 0, 0], [2, 1, 2, 1], [3, 1, 2, 1]]
    assert true_events(settle_tracks(film_of(whole, lineage)))[0] == [("division", [50], [45, 55])]
    child_missed = [row for row in whole if row[:2] != (1, 55)]
    assert true_events(settle_tracks(film_of(child_missed, lineage)))[0] == []
    # The parent is seen in frame 0, and not in frame 1 before its children.
    later = [(0, 50, [1]), *((t + 1, x, k) for t, x, k in whole[1:])]
    events = true_events(settle_tracks(film_of(later, [[1, 0, 1, 0], [2, 2, 3, 1], [3, 2, 3, 1]])))
    assert events[0] == []
    assert events[1] == []


def test_children_still_know_a_parent_whose_track_is_broken():
    seen = [(0, 50, [1]), (2, 50, [1]), (3, 45, [2]), (3, 55, [3])]
    settled = settle_tracks(film_of(seen, [[1, 0, 2, 0], [2, 3, 3, 1], [3, 3, 3, 1]]))
    assert true_events(settled) == [
        [("disappearance", [50], [])],
        [("appearance", [], [50])],
        [("division", [50], [45, 55])],
    ]


def test_a_track_that_is_never_seen_may_last_for_ever():
    film = film_of_masks(TrackedCells([np.array([[1, 0]])], Lineage(*np.array([[1, 0, 0, 0]]).T)))
    endless = np.array([[1, 0, 0, 0], [2, 0, 2**31 - 2, 0]])
    assert settle_tracks(replace(film, lineage=endless)).lineage.tolist() == endless.tolist()


def test_an_image_beyond_double_precision_is_refused():
    if np.finfo(np.longdouble).max <= np.finfo(float).max:
        pytest.skip("long double is double here")
    with pytest.raises(ValueError, match="beyond double precision"):
        measure(np.ones((2, 2), dtype=int), np.full((2, 2), np.longdouble("1e4000")))
