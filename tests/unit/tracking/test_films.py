"""Films of detections: frames, tracks, pairs of frames, and what must not be read."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from ermlab.exceptions import DataError
from ermlab.tracking.annotations import annotate
from ermlab.tracking.assignment import EVENTS
from ermlab.tracking.ctc import Lineage
from ermlab.tracking.events import Gates, guessed_weights
from ermlab.tracking.films import CellFilm, frame_pairs, halves
from reproduction.datasets.cell_migration import Detections, Sequence
from reproduction.experiments.cell_films.prepare_migration import film_of_migration

LINEAGE = np.array([[1, 0, 0, 0], [2, 1, 1, 1], [3, 1, 1, 1], [4, 0, 1, 0]])


def lineage_with(track, row):
    """Return the lineage with another row of a track."""
    return np.where(LINEAGE[:, :1] == track, row, LINEAGE)


@pytest.fixture
def film():
    """Cell 1 divides after frame 0, cell 4 stays, frame 2 is empty; the last detection is not tracked."""
    n = 6
    return CellFilm(
        frame=np.array([0, 0, 1, 1, 1, 1]),
        position=np.array([[50.0, 20.0], [50, 80], [46, 20], [54, 20], [50, 81], [20, 50]]),
        area=np.full(n, 100.0),
        intensity=np.ones(n),
        eccentricity=np.zeros(n),
        shape=np.array([100, 100]),
        n_frames=3,
        tracks=np.array([[0, 1], [1, 4], [2, 2], [3, 3], [4, 4]]),
        lineage=LINEAGE,
    )


def test_frames_have_their_detections_and_tracks(film):
    assert [len(film.cells(t)) for t in range(len(film))] == [2, 4, 0]
    assert film.cells(1).position[2].tolist() == [50, 81]
    assert film.cells(0).shape == (100, 100)
    assert film.tracks_in(1) == [{2}, {3}, {4}, set()]


def test_pairs_hold_the_true_events(film):
    first, second = frame_pairs(film, Gates())
    names = np.array(list(EVENTS))
    assert names[first.hypotheses.kind[first.annotation.events]].tolist() == ["move", "division"]
    assert not first.annotation.complete
    assert names[second.hypotheses.kind[second.annotation.events]].tolist() == ["disappearance"] * 3
    assert first.assigner is first.assigner
    assert [pair.frame for pair in frame_pairs(film, Gates(), range(1, 2))] == [1]


def test_annotations_are_found_when_they_are_used(film, monkeypatch):
    found = []
    monkeypatch.setattr("ermlab.tracking.films.annotate", lambda *args: found.append(args) or annotate(*args))
    pairs = frame_pairs(film, Gates())
    pairs[0].assigner.best(pairs[0].hypotheses.scores(guessed_weights()))
    assert not found
    expected = [
        annotate(pair.hypotheses, film.tracks_in(t), film.tracks_in(t + 1), film.true_lineage, t)
        for t, pair in enumerate(pairs)
    ]
    for copies in (pickle.loads(pickle.dumps(pairs)), pairs, pairs):
        for pair, known in zip(copies, expected, strict=True):
            np.testing.assert_array_equal(pair.annotation.events, known.events)
            assert (pair.annotation.lost, pair.annotation.complete) == (known.lost, known.complete)
    assert len(found) == 2 * len(pairs)  # once for each copy
    with pytest.raises(AttributeError, match="has no attribute 'missing'"):
        pairs[0].annotation.missing  # noqa: B018


@pytest.mark.parametrize(("n_frames", "train", "test"), [(22, 10, 10), (7, 3, 2), (4, 1, 1)])
def test_halves_of_a_film_share_no_frame(film, n_frames, train, test):
    first, second = halves(replace(film, n_frames=n_frames))
    assert (len(first), len(second)) == (train, test)
    assert first.start == 0
    assert second.stop == n_frames - 1
    assert max(first) + 1 < min(second)


def test_a_film_comes_back_as_it_was_written(film, tmp_path):
    film.write(tmp_path / "film.npz")
    again = CellFilm.read(tmp_path / "film.npz")
    for name, value in vars(film).items():
        np.testing.assert_array_equal(getattr(again, name), value)
    (tmp_path / "film.npz").write_bytes((tmp_path / "film.npz").read_bytes()[:200])
    with pytest.raises(DataError, match=r"film\.npz"):
        CellFilm.read(tmp_path / "film.npz")


def test_untracked_detections_stay_without_a_track():
    found = Detections(
        frame=np.array([0, 1, 1]),
        label=np.array([1, 1, 2]),
        centroid=np.array([[5.0, 5.0], [6, 5], [30, 30]]),
        features=np.array([[9.0, 1, 2, 0.1, 0]] * 3),
        track=np.array([7, 7, 0]),
    )
    lineage = Lineage(np.array([7]), np.array([0]), np.array([1]), np.array([0]))
    film = film_of_migration(Sequence(1, found, lineage), (40, 50))
    assert film.tracks_in(1) == [{7}, set()]
    assert film.cells(1).area.tolist() == [9, 9]
    assert film.cells(0).shape == (40, 50)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frame": np.array([0, 0, 1, 1, 1, 3])}, "frame"),
        ({"frame": np.array([0, 1, 0, 1, 1, 1])}, "frame"),
        ({"tracks": np.array([[6, 1]])}, "tracks"),
        ({"tracks": np.array([[1, 1], [0, 1]])}, "tracks"),
        ({"tracks": np.zeros(3, dtype=int)}, "tracks has shape"),
        ({"lineage": np.zeros((2, 3), dtype=int)}, "lineage has shape"),
        ({"lineage": LINEAGE[:3]}, "track 4 is not in the lineage: expected a row"),
        ({"lineage": lineage_with(1, [1, 0, 0, 8])}, "track 8 is not in the lineage"),
        ({"lineage": LINEAGE[[0, 1, 2, 3, 3]]}, "a label below 1 or twice"),
        ({"lineage": lineage_with(1, [1, 0, 1, 0])}, "before its parent 1 has ended: expected"),
        ({"lineage": lineage_with(4, [4, 0, 0, 0])}, "track 4 in frame 1: expected frames 0 to 0"),
    ],
)
def test_films_that_contradict_themselves_are_refused(film, change, message):
    with pytest.raises(ValueError, match=message):
        replace(film, **change)


def test_pairs_beyond_the_film_are_refused(film):
    with pytest.raises(ValueError, match="frames are"):
        frame_pairs(film, Gates(), range(5))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("n_frames", 10**12),
        ("n_frames", -1),
        ("n_frames", 1.5),
        ("n_frames", "3"),
        ("frame", np.array([1, 0, 1, 1, 1, 1], dtype=np.uint8)),
        ("frame", np.array([0, 0.5, 1, 1, 1, 1])),
        ("frame", np.zeros((6, 1), dtype=int)),
        ("position", np.ones((7, 2))),
        ("area", np.ones(5)),
        ("shape", np.array([100, 100, 3])),
        ("shape", np.array([100, np.nan])),
        ("shape", np.array(100)),
        ("tracks", np.array([[0.5, 1]])),
        ("lineage", np.array([[2**63 - 1, 0, 1, 0]])),
    ],
)
def test_what_is_no_film_is_refused_by_name(film, name, wrong):
    with pytest.raises(ValueError, match=f"^{name}"):
        replace(film, **{name: wrong})


def test_an_endless_film_in_a_file_is_refused(film, tmp_path):
    object.__setattr__(film, "n_frames", 10**12)
    film.write(tmp_path / "film.npz")
    with pytest.raises(DataError, match="n_frames is 1000000000000"):
        CellFilm.read(tmp_path / "film.npz")
