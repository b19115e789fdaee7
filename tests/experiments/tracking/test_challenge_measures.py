"""Measures of the Cell Tracking Challenge from detections, against the library's own from label images."""

from dataclasses import replace

import numpy as np
import pytest
import tifffile
from ctc_metrics.scripts.evaluate import evaluate_sequence

from ermlab.tracking.ctc import Lineage
from ermlab.tracking.films import CellFilm
from ermlab.tracking.lineage import CellTracks
from reproduction.experiments.tracking.measures import challenge_measures

SIDE, N_FRAMES = 8, 12


def lineage_of(rows):
    return Lineage(*np.array(rows).reshape(-1, 4).T)


@pytest.fixture
def truth():
    """Cells in fixed places of a row, one of which divides; labels are not in the order of places."""
    return [[7, 0, 11, 0], [3, 0, 4, 0], [5, 5, 11, 3], [2, 5, 8, 3], [9, 2, 11, 0]]


@pytest.fixture
def film(truth):
    """Every true cell is detected, at its place."""
    rows = sorted((t, place) for place, (_, begin, end, _) in enumerate(truth) for t in range(begin, end + 1))
    frame, place = np.array(rows).T
    n = len(rows)
    return CellFilm(
        frame=frame,
        position=np.column_stack([np.full(n, 4.0), SIDE * place + 4.0]),
        area=np.full(n, 16.0),
        intensity=np.ones(n),
        eccentricity=np.zeros(n),
        shape=np.array([SIDE, SIDE * len(truth)]),
        n_frames=N_FRAMES,
        tracks=np.column_stack([np.arange(n), np.array([truth[p][0] for p in place])]),
        lineage=np.array(truth),
    )


def true_tracks(film):
    label = np.zeros(len(film.frame), dtype=int)
    label[film.tracks[:, 0]] = film.tracks[:, 1]
    return CellTracks(label, film.true_lineage)


def random_tracks(film, rng):
    """Return tracks that break off and change places now and then."""
    rows, label, current = [], np.zeros(len(film.frame), dtype=int), {}
    for t in range(N_FRAMES):
        here = np.arange(len(film.frame))[film.numbers(t)]
        places = (film.position[here, 1] // SIDE).astype(int).tolist()
        keys = rng.permutation(places).tolist() if rng.random() < 0.3 else places
        now = {}
        for detection, place, key in zip(here, places, keys, strict=True):
            old = current.get(key)
            if old is None or rng.random() < 0.2:
                parent = old if old is not None and rng.random() < 0.7 else 0
                rows.append([len(rows) + 1, t, t, parent or 0])
                old = len(rows)
            rows[old - 1][2] = t
            label[detection] = old
            now[place] = old
        current = now
    return CellTracks(label, lineage_of(rows))


def write_challenge(folder, film, found):
    """Write truth and result as label images."""
    for name, label, lineage in (
        ("truth/TRA/man_track", true_tracks(film).label, film.true_lineage),
        ("result/mask", found.label, found.lineage),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        for t in range(N_FRAMES):
            image = np.zeros(film.shape, dtype=np.uint16)
            for detection in range(len(film.frame)):
                if film.frame[detection] == t:
                    column = int(film.position[detection, 1])
                    image[2:6, column - 2 : column + 2] = label[detection]
            tifffile.imwrite(folder / f"{name}{t:03}.tif", image)
        table = "".join(" ".join(map(str, row)) + "\n" for row in lineage.rows())
        path = "truth/TRA/man_track.txt" if "truth" in name else "result/res_track.txt"
        (folder / path).write_text(table)
    return evaluate_sequence(str(folder / "result"), str(folder / "truth"), ["DET", "TRA", "LNK"], threads=1)


@pytest.mark.parametrize("seed", range(4))
def test_measures_are_those_of_the_label_images(film, tmp_path, seed):
    found = random_tracks(film, np.random.default_rng(seed))
    expected = write_challenge(tmp_path, film, found)
    measures = challenge_measures(film, found)
    for name in ("DET", "TRA", "LNK"):
        assert getattr(measures, name) == pytest.approx(expected[name]), name
    edges, missed = 35, expected["AOGM_EA"]
    right = edges - missed
    assert measures.edge_f1 == pytest.approx(2 * right / (2 * right + missed + expected["AOGM_ED"]))
    assert measures.LNK < 1


def test_the_truth_has_no_error(film):
    measures = challenge_measures(film, true_tracks(film))
    assert (measures.DET, measures.TRA, measures.LNK, measures.edge_f1) == (1, 1, 1, 1)


def test_of_some_frames_only_these_count(film):
    found = true_tracks(film)
    later = film.frame >= 6
    rows = [[7, 6, 11, 0], [5, 6, 11, 0], [2, 6, 8, 0], [9, 6, 11, 0]]
    measures = challenge_measures(film, CellTracks(np.where(later, found.label, 0), lineage_of(rows)))
    assert (measures.DET, measures.TRA, measures.LNK) == (1, 1, 1)


def test_frames_in_which_nothing_was_found_count_where_they_were_tracked(film):
    found = true_tracks(film)
    early = film.frame < 9
    missed = replace(film, tracks=film.tracks[early[film.tracks[:, 0]]])
    rows = [[7, 0, 8, 0], [3, 0, 4, 0], [5, 5, 8, 3], [2, 5, 8, 3], [9, 2, 8, 0]]
    tracks = CellTracks(np.where(early, found.label, 0), lineage_of(rows))
    assert challenge_measures(missed, tracks).DET == 1
    # Of 38 true cells 9 are in the last three frames.
    assert pytest.approx(1 - 9 / 38) == challenge_measures(missed, tracks, range(N_FRAMES)).DET


def test_without_tracks_all_is_missed(film):
    blind = replace(film, tracks=film.tracks[:0])
    none = CellTracks(np.zeros(len(film.frame), dtype=int), Lineage.empty())
    with pytest.raises(ValueError, match="no tracks: expected at least one, or which frames were tracked"):
        challenge_measures(blind, none)
    measures = challenge_measures(blind, none, range(N_FRAMES))
    assert (measures.DET, measures.TRA, measures.edge_f1) == (0, 0, 0)
    unknown = replace(blind, lineage=film.lineage[:0])
    with pytest.raises(ValueError, match=r"no true cell in range\(0, 12\)"):
        challenge_measures(unknown, true_tracks(film))


def test_unknown_detections_cost_nothing(film):
    """What is done with them does not matter: a track through one has a gap there."""
    unknown = replace(film, tracks=film.tracks[film.tracks[:, 0] != 4])
    found = true_tracks(film)
    measures = challenge_measures(unknown, found)
    # The true cell is not detected, so it is missed, with its two links, and nothing else.
    vertices, edges = 38, 35
    assert pytest.approx(1 - 1 / vertices) == measures.DET
    assert pytest.approx(1 - 2 / edges) == measures.LNK


@pytest.mark.parametrize(("track", "frame", "links"), [(5, 8, 2), (3, 4, 3), (5, 5, 2), (9, 2, 1)])
def test_a_track_goes_on_after_an_unknown_detection_without_a_parent(film, track, frame, links):
    """Missed are the cell and the links that it has, and no link goes round it."""
    here = (film.frame[film.tracks[:, 0]] == frame) & (film.tracks[:, 1] == track)
    assert here.sum() == 1
    measures = challenge_measures(replace(film, tracks=film.tracks[~here]), true_tracks(film))
    assert pytest.approx(1 - 1 / 38) == measures.DET
    assert pytest.approx(1 - links / 35) == measures.LNK
    assert measures.edge_f1 == pytest.approx(2 * (35 - links) / (2 * 35 - links))


def test_two_cells_in_one_detection_are_one_too_few(film):
    # Detection 0 holds cells 7 and 3 of the first frame, and detection 1 is a smaller piece of cell 7.
    held = np.vstack([[[0, 3]], film.tracks])
    held[2, 1] = 7
    area = np.where(np.arange(len(film.frame)) == 1, 4.0, film.area)
    measures = challenge_measures(replace(film, tracks=held, area=area), true_tracks(film))
    split, invented = 5, 1
    assert pytest.approx(1 - (split + invented) / (10 * 38)) == measures.DET
