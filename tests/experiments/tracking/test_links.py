"""Tracks from links: cells that go on, divide, come together, appear and vanish, in a drawn film."""

import numpy as np
import pytest

from ermlab.exceptions import DataError
from ermlab.tracking.assignment import EVENTS, Assigner
from ermlab.tracking.events import Gates
from ermlab.tracking.films import CellFilm, frame_pairs
from reproduction.experiments.tracking.links import events_of, join_links, links_of, read_tracks, write_tracks


@pytest.fixture
def film():
    """Three frames of 2, 3 and 2 cells: the first divides, then two pieces of the second come together."""
    return CellFilm(
        frame=np.array([0, 0, 1, 1, 1, 2, 2]),
        position=np.array([[50.0, 20.0], [50, 80], [46, 20], [54, 20], [50, 80], [46, 20], [50, 80]]),
        area=np.array([100.0, 100, 40, 60, 100, 100, 100]),
        intensity=np.ones(7),
        eccentricity=np.zeros(7),
        shape=np.array([100, 100]),
        n_frames=3,
        tracks=np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 2], [5, 3], [6, 2]]),
        lineage=np.array([[1, 0, 0, 0], [2, 0, 2, 0], [3, 1, 2, 1], [4, 1, 1, 1]]),
    )


def links(*rows):
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def test_a_cell_goes_on_divides_and_ends(film):
    tracks = join_links(film, 0, [links([0, 0], [0, 1], [1, 2]), links([0, 0], [2, 1])])
    assert tracks.label.tolist() == [1, 2, 3, 4, 2, 3, 2]
    assert tracks.lineage.rows() == [[1, 0, 0, 0], [2, 0, 2, 0], [3, 1, 2, 1], [4, 1, 1, 1]]


def test_the_largest_piece_goes_on(film):
    tracks = join_links(film, 0, [links([0, 0], [1, 2]), links([0, 0], [1, 0], [2, 1])])
    # The second piece, 60 pixels against 40, appeared as track 3.
    assert tracks.label.tolist() == [1, 2, 1, 3, 2, 3, 2]
    assert tracks.lineage.rows() == [[1, 0, 1, 0], [2, 0, 2, 0], [3, 1, 2, 0]]


def test_without_links_all_appear(film):
    tracks = join_links(film, 1, [links()])
    assert tracks.label.tolist() == [0, 0, 1, 2, 3, 4, 5]
    assert tracks.lineage.begin.tolist() == tracks.lineage.end.tolist() == [1, 1, 1, 2, 2]


def test_tracks_come_back_as_they_were(film, tmp_path):
    found = {
        "some": join_links(film, 0, [links([0, 0], [0, 1], [1, 2]), links([0, 0], [2, 1])]),
        "none_at_all": join_links(film, 1, [links()]),
    }
    write_tracks(tmp_path / "tracks.npz", found)
    read = read_tracks(tmp_path / "tracks.npz")
    assert list(read) == list(found)
    for name, tracks in found.items():
        assert read[name].label.tolist() == tracks.label.tolist()
        assert read[name].lineage.rows() == tracks.lineage.rows()


@pytest.fixture
def interrupted():
    """A cell, an empty frame, and a cell."""
    return CellFilm(
        frame=np.array([0, 2]),
        position=np.full((2, 2), 5.0),
        area=np.ones(2),
        intensity=np.ones(2),
        eccentricity=np.zeros(2),
        shape=np.array([10, 10]),
        n_frames=3,
        tracks=np.zeros((0, 2), dtype=int),
        lineage=np.zeros((0, 4), dtype=int),
    )


def test_an_empty_frame_ends_all_tracks(interrupted):
    tracks = join_links(interrupted, 0, [links(), links()])
    assert tracks.lineage.rows() == [[1, 0, 0, 0], [2, 2, 2, 0]]


def test_beside_an_empty_frame_cells_come_and_go(interrupted):
    gone, new = (pair.hypotheses for pair in frame_pairs(interrupted, Gates()))
    for hypotheses, kind in ((gone, "disappearance"), (new, "appearance")):
        y = events_of(hypotheses, links())
        assert [list(EVENTS)[number] for number in hypotheses.kind[y]] == [kind]
        assert hypotheses.is_assignment(y)


def test_true_events_give_the_true_tracks(film):
    pairs = frame_pairs(film, Gates())
    found = []
    for pair in pairs:
        y = np.isin(np.arange(len(pair.hypotheses)), pair.annotation.events)
        found.append(links_of(pair.hypotheses, y))
    tracks = join_links(film, 0, found)
    truth = dict(film.tracks.tolist())
    assert [truth[i] for i in range(7)] == tracks.label.tolist()
    assert tracks.lineage.rows() == film.lineage.tolist()


def test_links_of_all_kinds_of_events(film):
    hypotheses = frame_pairs(film, Gates())[0].hypotheses
    kinds = list(hypotheses.candidates)
    for number in range(len(hypotheses)):
        y = np.arange(len(hypotheses)) == number
        sources = [c for c in hypotheses.sources[number].tolist() if c >= 0]
        targets = [c for c in hypotheses.targets[number].tolist() if c >= 0]
        expected = [[i, j] for i in sources for j in targets]
        assert links_of(hypotheses, y).tolist() == sorted(expected), kinds[hypotheses.kind[number]]


@pytest.mark.parametrize("seed", range(3))
def test_events_of_links_of_an_assignment_are_its_own(film, seed):
    hypotheses = frame_pairs(film, Gates())[0].hypotheses
    rng, assigner = np.random.default_rng(seed), Assigner(hypotheses)
    is_split = hypotheses.kind == list(EVENTS).index("split")
    for _ in range(20):
        y = assigner.best(rng.normal(size=len(hypotheses)) - 100 * is_split)
        np.testing.assert_array_equal(events_of(hypotheses, links_of(hypotheses, y)), y)


def test_links_that_are_no_candidate_are_no_event(film):
    hypotheses = frame_pairs(film, Gates())[0].hypotheses
    y = events_of(hypotheses, links([0, 2]))  # far away
    kinds = [list(EVENTS)[kind] for kind in hypotheses.kind[y]]
    assert kinds == ["appearance", "appearance", "disappearance"]
    assert not hypotheses.is_assignment(y)


def test_wrong_input_is_rejected(film):
    with pytest.raises(ValueError, match="frames 1 to 3 are linked: expected some of 0 to 2"):
        join_links(film, 1, [links(), links()])
    with pytest.raises(ValueError, match="links of 2 cells with 3: a cell does not exist"):
        join_links(film, 0, [links([0, 3]), links()])


def test_a_damaged_file_of_tracks_is_named(tmp_path):
    path = tmp_path / "tracks.npz"
    for content in (b"", b"PK", b"no tracks"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"tracks\.npz.*expected tracks"):
            read_tracks(path)
