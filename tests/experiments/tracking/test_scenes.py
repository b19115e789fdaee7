"""Parts of films: what is cut out, and which part is chosen to be looked at."""

from dataclasses import replace

import numpy as np
import pytest

from ermlab.tracking.cells import join_frames, measure
from ermlab.tracking.ctc import Lineage
from ermlab.tracking.films import CellFilm
from ermlab.tracking.lineage import CellTracks
from reproduction.experiments.tracking.scenes import (
    DetectedFrames,
    TrackedFrames,
    cut_film,
    cut_middle,
    few_cells,
)


@pytest.fixture
def film():
    """Cell 1 stays in a corner; cell 2, in another, divides into 3 and 4 after frame 1; 5 is near it."""
    rows = [
        (0, 1, 10, 10),
        (0, 2, 70, 70),
        (0, 5, 88, 75),
        (1, 1, 11, 10),
        (1, 2, 71, 70),
        (1, 5, 88, 76),
        (2, 1, 11, 11),
        (2, 3, 68, 70),
        (2, 4, 75, 70),
        (2, 5, 88, 75),
    ]
    frame, track, row, column = np.array(rows).T
    n = len(rows)
    return CellFilm(
        frame=frame,
        position=np.column_stack([row, column]).astype(float),
        area=np.arange(1.0, n + 1),
        intensity=np.arange(1.0, n + 1),
        eccentricity=np.linspace(0, 0.9, n),
        shape=np.array([100, 120]),
        n_frames=3,
        tracks=np.column_stack([np.arange(n), track]),
        lineage=np.array([[1, 0, 2, 0], [2, 0, 1, 0], [3, 2, 2, 2], [4, 2, 2, 2], [5, 0, 2, 0]]),
    )


def test_cutting_keeps_cells_and_what_is_known_of_them(film):
    part = cut_film(film, range(1, 3), (60, 60), (30, 30))
    assert part.frame.tolist() == [0, 0, 1, 1, 1]
    assert part.position.tolist() == [[11, 10], [28, 16], [8, 10], [15, 10], [28, 15]]
    assert part.area.tolist() == [5, 6, 8, 9, 10]
    assert part.tracks.tolist() == [[0, 2], [1, 5], [2, 3], [3, 4], [4, 5]]
    assert part.lineage[1].tolist() == [2, -1, 0, 0]
    assert part.shape.tolist() == [30, 30]
    assert len(part) == 2


def test_cutting_nothing_changes_nothing(film):
    same = cut_film(film, range(3))
    for name in ("frame", "position", "tracks", "lineage", "shape"):
        np.testing.assert_array_equal(getattr(same, name), getattr(film, name))


def test_a_square_with_a_division_is_chosen(film):
    t, corner = few_cells(film, 40)
    assert t == 1
    part = cut_film(film, range(t, t + 2), corner, (40, 40))
    assert part.tracks_in(0) == [{2}, {5}]
    assert part.tracks_in(1) == [{3}, {4}, {5}]


def test_a_division_counts_for_more_than_the_number_of_cells(film):
    """Three cells in another corner, to which a fourth comes, are as many as are looked for."""
    new = [(1, 6, 10, 100), (1, 7, 20, 100), (1, 8, 10, 110)]
    new += [(2, 6, 10, 100), (2, 7, 20, 100), (2, 8, 10, 110), (2, 9, 20, 110)]
    frame, track, row, column = np.array(new).T
    order = np.argsort(np.concatenate([film.frame, frame]), kind="stable")
    n = len(order)
    more = CellFilm(
        frame=np.concatenate([film.frame, frame])[order],
        position=np.concatenate([film.position, np.column_stack([row, column])])[order],
        area=np.ones(n),
        intensity=np.ones(n),
        eccentricity=np.zeros(n),
        shape=film.shape,
        n_frames=3,
        tracks=np.column_stack([np.arange(n), np.concatenate([film.tracks[:, 1], track])[order]]),
        lineage=np.vstack([film.lineage, [[6, 1, 2, 0], [7, 1, 2, 0], [8, 1, 2, 0], [9, 2, 2, 0]]]),
    )
    t, corner = few_cells(more, 40)
    assert cut_film(more, range(t, t + 2), corner, (40, 40)).tracks_in(0) == [{2}, {5}]
    undivided = replace(more, lineage=more.lineage * [1, 1, 1, 0])
    t, corner = few_cells(undivided, 40)
    assert cut_film(undivided, range(t, t + 2), corner, (40, 40)).tracks_in(0) == [{6}, {7}, {8}]


def test_without_a_division_there_is_a_square_too(film):
    t, corner = few_cells(cut_film(film, range(2)), 40)
    assert t == 0
    assert len(cut_film(film, range(t, t + 2), corner, (40, 40)).cells(0)) == 2
    with pytest.raises(ValueError, match="no cell in frames 0 to 1"):
        few_cells(cut_film(film, range(3), (40, 0), (10, 10)), 5)


def test_the_middle_shows_the_tracks_of_its_detections(tmp_path):
    """Two cells in each of two frames of 10 x 12 pixels; one of them reaches into the middle 4 x 4."""
    label_images = np.zeros((2, 10, 12), dtype=int)
    label_images[:, 0, 0] = 1
    label_images[0, 4:9, 5:7], label_images[1, 6:9, 7:9] = 2, 2
    images = np.arange(2 * 10 * 12).reshape(2, 10, 12).astype(np.uint16)
    film = join_frames([measure(labels)[1] for labels in label_images])
    cut_middle(images, label_images, film, 4).write(tmp_path / "detected.npz")
    frames = DetectedFrames.read(tmp_path / "detected.npz")
    np.testing.assert_array_equal(frames.images, images[:, 3:7, 4:8])
    # The second detection of each frame is the second and the fourth of the film.
    np.testing.assert_array_equal(frames.detections, (label_images == 2)[:, 3:7, 4:8] * [[[2]], [[4]]])
    assert cut_middle(images, label_images, film, 99).images.shape == (2, 10, 12)

    lineage = np.array([[5, 1, 1, 9], [7, 0, 1, 0], [9, 0, 0, 0]])
    tracks = CellTracks(np.array([7, 9, 7, 5]), Lineage(*lineage.T))
    frames.with_tracks(tracks, 2).write(tmp_path / "tracked.npz")
    tracked = TrackedFrames.read(tmp_path / "tracked.npz")
    np.testing.assert_array_equal(tracked.masks, (label_images == 2)[:, 3:7, 4:8] * [[[9]], [[5]]])
    np.testing.assert_array_equal(tracked.images, frames.images)
    assert tracked.lineage.tolist() == lineage.tolist()
    assert len(frames.with_tracks(tracks, 1).masks) == 1
