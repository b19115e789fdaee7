"""Shares of wrong detections on a film that is counted by hand."""

from dataclasses import replace

import numpy as np
import pytest

from ermlab.tracking.films import CellFilm
from reproduction.experiments.cell_films.prepare_nuclei import detection_errors
from reproduction.experiments.tracking.scenes import cut_film

#: Frame 0 shows cells 1 to 4, frame 1 cells 1, 2, 5, 6 and 7: nine true cells. In frame 0, cell 1 is cut in
#: two, and cells 2 to 4 are joined; in frame 1, cell 1 is cut in two, one detection is false, others missed.
FILM = CellFilm(
    frame=np.array([0, 0, 0, 1, 1, 1]),
    position=np.zeros((6, 2)),
    area=np.ones(6),
    intensity=np.ones(6),
    eccentricity=np.zeros(6),
    shape=np.array([10, 10]),
    n_frames=2,
    tracks=np.array([[0, 1], [1, 1], [2, 2], [2, 3], [2, 4], [3, 1], [4, 1]]),
    lineage=np.array(
        [[1, 0, 1, 0], [2, 0, 1, 0], [3, 0, 0, 0], [4, 0, 0, 0], [5, 1, 1, 0], [6, 1, 1, 0], [7, 1, 1, 0]]
    ),
)


def test_each_kind_of_error_is_counted():
    assert detection_errors(FILM) == pytest.approx(
        {"missed": 4 / 9, "cut": 2 / 9, "joined": 3 / 9, "spurious": 1 / 9}
    )


def test_only_the_frames_of_a_part_of_a_film_count():
    assert detection_errors(cut_film(FILM, range(1))) == pytest.approx(
        {"missed": 0, "cut": 1 / 4, "joined": 3 / 4, "spurious": 0}
    )
    assert detection_errors(cut_film(FILM, range(1, 2))) == pytest.approx(
        {"missed": 4 / 5, "cut": 1 / 5, "joined": 0, "spurious": 1 / 5}
    )


def test_films_without_tracks_are_refused():
    unknown = replace(FILM, tracks=np.zeros((0, 2), dtype=int), lineage=np.zeros((0, 4), dtype=int))
    with pytest.raises(ValueError, match="no true cells"):
        detection_errors(unknown)
