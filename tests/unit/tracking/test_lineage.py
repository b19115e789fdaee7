"""Tracks from events: what goes on, begins and ends; pieces, and cells taken for one."""

import numpy as np
import pytest
from ctc_metrics import evaluate_sequence

from ermlab.tracking.assignment import EVENTS
from ermlab.tracking.cells import film_of_masks
from ermlab.tracking.ctc import TrackedCells
from ermlab.tracking.ctc_results import write_tracking
from ermlab.tracking.events import Gates
from ermlab.tracking.films import CellFilm, frame_pairs
from ermlab.tracking.lineage import relabel, track_film
from reproduction.datasets.ctc_sim_truth import read_ctc_sim_truth, simulate_ctc_sim_truth


def draw(*frames):
    """Return a film without truth of detections (column, area), given for each frame."""
    detections = [(t, *cell) for t, cells in enumerate(frames) for cell in cells]
    n = len(detections)
    return CellFilm(
        frame=np.array([t for t, _, _ in detections], dtype=int),
        position=np.array([[50.0, column] for _, column, _ in detections]).reshape(-1, 2),
        area=np.array([float(area) for _, _, area in detections]),
        intensity=np.ones(n),
        eccentricity=np.zeros(n),
        shape=np.array([100, 200]),
        n_frames=len(frames),
        tracks=np.zeros((0, 2), dtype=int),
        lineage=np.zeros((0, 4), dtype=int),
    )


def track(film, *events):
    """Track a film by events (kind, columns before, columns after), given for each pair of frames."""
    pairs = frame_pairs(film, Gates(n_neighbors=9, move=9, division=9, pieces=9))
    names = list(EVENTS)
    chosen = []
    for pair, wanted in zip(pairs, events, strict=True):
        before, after = (film.cells(t).position[:, 1] for t in (pair.frame, pair.frame + 1))
        h = pair.hypotheses
        found = [
            (
                names[h.kind[e]],
                sorted(before[h.sources[e][h.sources[e] >= 0]]),
                sorted(after[h.targets[e][h.targets[e] >= 0]]),
            )
            for e in range(len(h))
        ]
        chosen.append(np.array([event in wanted for event in found]))
    tracks = track_film(film, pairs, chosen)
    labels = [tracks.label[film.numbers(t)].tolist() for t in range(len(film))]
    return labels, tracks.lineage.rows()


def move(a, b):
    return ("move", [a], [b])


def test_moves_divisions_and_appearances():
    film = draw([(20, 100)], [(22, 100), (80, 100)], [(20, 60), (30, 60), (81, 100)])
    labels, lineage = track(
        film,
        [move(20, 22), ("appearance", [], [80])],
        [("division", [22], [20, 30]), move(80, 81)],
    )
    assert labels == [[1], [1, 2], [3, 4, 2]]
    assert lineage == [[1, 0, 1, 0], [2, 1, 2, 0], [3, 2, 2, 1], [4, 2, 2, 1]]


def test_a_cell_that_comes_back_is_another_one_and_empty_frames_are_legal():
    labels, lineage = track(
        draw([(20, 100)], [], [(20, 100)]),
        [("disappearance", [20], [])],
        [("appearance", [], [20])],
    )
    assert labels == [[1], [], [2]]
    assert lineage == [[1, 0, 0, 0], [2, 2, 2, 0]]
    assert track(draw([], [], []), [], []) == ([[], [], []], [])
    assert track(draw([(20, 100)])) == ([[1]], [[1, 0, 0, 0]])


def test_pieces_that_come_together_again_have_one_label():
    labels, lineage = track(
        draw([(20, 100)], [(16, 50), (24, 50)], [(17, 50), (25, 50)], [(21, 100)]),
        [("split", [20], [16, 24])],
        [move(16, 17), move(24, 25)],
        [("merge", [17, 25], [21])],
    )
    assert labels == [[1], [1, 1], [1, 1], [1]]
    assert lineage == [[1, 0, 3, 0]]


def test_two_cells_taken_for_one_go_on_as_they_were():
    frames = [(20, 120), (40, 100)], [(30, 200)], [(31, 200)], [(22, 100), (42, 120)]
    labels, lineage = track(
        draw(*frames),
        [("merge", [20, 40], [30])],
        [move(30, 31)],
        [("split", [31], [22, 42])],
    )
    # The left one, larger at first, has label 1 throughout, though it is the smaller one in the end.
    assert labels == [[1, 2], [1], [1], [1, 3]]
    assert lineage == [[1, 0, 3, 0], [2, 0, 0, 0], [3, 3, 3, 2]]


def test_three_cells_taken_for_one_part_in_turn():
    labels, lineage = track(
        draw(
            [(20, 120), (40, 100), (60, 90)],
            [(30, 220), (60, 90)],
            [(40, 300)],
            [(32, 220), (62, 90)],
            [(20, 120), (42, 100), (62, 90)],
        ),
        [("merge", [20, 40], [30]), move(60, 60)],
        [("merge", [30, 60], [40])],
        [("split", [40], [32, 62])],
        [("split", [32], [20, 42]), move(62, 62)],
    )
    assert labels == [[1, 2, 3], [1, 3], [1], [1, 4], [1, 5, 4]]
    assert lineage == [[1, 0, 4, 0], [2, 0, 0, 0], [3, 0, 1, 0], [4, 3, 4, 3], [5, 4, 4, 2]]


def test_who_hides_in_a_cell_that_hides_itself_is_not_lost():
    labels, lineage = track(
        draw(
            [(20, 300), (60, 60), (80, 50)],
            [(20, 300), (70, 110)],
            [(40, 410)],
            [(20, 350), (70, 60)],
            [(20, 300), (60, 50), (72, 60)],
        ),
        [move(20, 20), ("merge", [60, 80], [70])],
        [("merge", [20, 70], [40])],
        [("split", [40], [20, 70])],
        [("split", [20], [20, 60]), move(70, 72)],
    )
    assert labels == [[1, 2, 3], [1, 2], [1], [1, 4], [1, 5, 4]]
    assert lineage == [[1, 0, 4, 0], [2, 0, 1, 0], [3, 0, 0, 0], [4, 3, 4, 2], [5, 4, 4, 3]]


def test_cells_that_were_never_seen_apart_part_without_a_division():
    labels, lineage = track(
        draw([(20, 200)], [(15, 90), (25, 110)], [(12, 90), (28, 110)]),
        [("split", [20], [15, 25])],
        [move(15, 12), move(25, 28)],
    )
    assert labels == [[1], [2, 1], [2, 1]]
    assert lineage == [[1, 0, 2, 0], [2, 1, 2, 0]]


def test_pieces_that_end_apart_are_two_cells():
    labels, lineage = track(
        draw([(20, 200)], [(15, 110), (25, 90)], [(12, 60), (18, 60), (26, 90)]),
        [("split", [20], [15, 25])],
        [("division", [15], [12, 18]), move(25, 26)],
    )
    assert labels == [[1], [1, 2], [3, 4, 2]]
    assert lineage == [[1, 0, 1, 0], [2, 1, 2, 0], [3, 2, 2, 1], [4, 2, 2, 1]]


def test_a_division_forgets_who_was_within():
    _, lineage = track(
        draw([(20, 120), (40, 100)], [(30, 200)], [(20, 90), (40, 90)]),
        [("merge", [20, 40], [30])],
        [("division", [30], [20, 40])],
    )
    assert lineage == [[1, 0, 1, 0], [2, 0, 0, 0], [3, 2, 2, 1], [4, 2, 2, 1]]


def test_true_events_give_back_the_true_tracks(tmp_path):
    # A film in which both daughters of each division stay visible: one alone is a move, not a division.
    simulate_ctc_sim_truth(tmp_path, 4, "smoke")
    truth = read_ctc_sim_truth(tmp_path)
    film = film_of_masks(truth)
    pairs = frame_pairs(film, Gates(move=9, division=9))
    assert all(pair.annotation.complete for pair in pairs)
    chosen = [np.isin(np.arange(len(pair.hypotheses)), pair.annotation.events) for pair in pairs]
    tracks = track_film(film, pairs, chosen)
    masks = list(relabel(truth.masks, film, tracks.label))
    write_tracking(tmp_path / "RES", masks, tracks.lineage)
    (tmp_path / "GT").mkdir()
    (tmp_path / "TRA").rename(tmp_path / "GT/TRA")
    scores = evaluate_sequence(
        str(tmp_path / "RES"), str(tmp_path / "GT"), metrics=["Valid", "DET", "TRA"], threads=1
    )
    assert (scores["Valid"], scores["DET"], scores["TRA"]) == (1, 1, 1)
    assert len(film_of_masks(TrackedCells(masks, tracks.lineage)).frame) == len(film.frame)


def test_events_that_do_not_fit_are_refused():
    film = draw([(20, 100)], [(22, 100)], [(22, 100)])
    pairs = frame_pairs(film, Gates())
    nothing = [np.zeros(len(pair.hypotheses), dtype=bool) for pair in pairs]
    with pytest.raises(ValueError, match="events of frame 0 are no assignment"):
        track_film(film, pairs, nothing)
    with pytest.raises(ValueError, match=r"pairs of frames \[0\] and 1 assignments: expected all of 0 to 1"):
        track_film(film, pairs[:1], nothing[:1])


def test_label_images_get_the_labels_of_tracks():
    film = draw([(20, 100), (40, 100)], [])
    images = [np.array([[0, 5], [9, 9]]), np.array([[0, 0], [0, 0]])]
    assert [image.tolist() for image in relabel(images, film, np.array([3, 3]))] == [
        [[0, 3], [3, 3]],
        [[0, 0], [0, 0]],
    ]
    with pytest.raises(ValueError, match="frame 0 has 1 regions: expected 2"):
        list(relabel([np.array([[5]])], film, np.array([3, 3])))
    with pytest.raises(ValueError, match="whole numbers"):
        list(relabel([np.array([[0.5]])], film, np.array([3, 3])))
    for wrong, message in (
        (images[:1], "1 label images: expected 2"),
        ([], "0 label images: expected 2"),
        ([*images, images[1]], "more than 2 label images: expected 2"),
    ):
        with pytest.raises(ValueError, match=message):
            list(relabel(wrong, film, np.array([3, 3])))
