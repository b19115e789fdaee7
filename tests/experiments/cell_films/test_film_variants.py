"""Films at lower frame rates are those of the data set, and films of positions have no measurements."""

import numpy as np
import pytest

from ermlab.tracking import CellFilm, film_of_points
from reproduction.datasets.cell_migration import read_cell_migration, simulate_cell_migration
from reproduction.experiments.cell_films.film_variants import every_nth_frame, positions_only
from reproduction.experiments.cell_films.prepare_migration import film_of_migration


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("migration")
    simulate_cell_migration(folder, 0, "smoke")
    return read_cell_migration(folder)


@pytest.mark.parametrize("step", [2, 3, 5])
def test_frames_are_those_that_the_data_set_has_at_this_rate(data, step):
    shape = data.truth.masks[0].shape
    expected = film_of_migration(data.sequences[step], shape)
    found = every_nth_frame(film_of_migration(data.sequences[1], shape), step)
    assert len(found) == len(expected)
    for name in ("frame", "position", "area", "intensity", "eccentricity", "tracks"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name))
    np.testing.assert_array_equal(found.lineage[:, :3], expected.lineage[:, :3])
    same = found.lineage[:, 3] == expected.lineage[:, 3]
    assert (expected.lineage[~same, 3] == 0).all()  # a parent between two frames


def test_children_of_a_track_between_frames_go_to_its_parent():
    film = CellFilm(
        frame=np.array([0, 1, 2, 2, 3, 4, 4]),
        position=np.zeros((7, 2)),
        area=np.ones(7),
        intensity=np.ones(7),
        eccentricity=np.zeros(7),
        shape=np.array([9, 9]),
        n_frames=5,
        tracks=np.column_stack([np.arange(7), [1, 2, 3, 4, 3, 3, 4]]),
        lineage=np.array([[1, 0, 0, 0], [2, 1, 1, 1], [3, 2, 4, 2], [4, 2, 4, 2]]),
    )
    found = every_nth_frame(film, 2)
    assert found.lineage.tolist() == [[1, 0, 0, 0], [3, 1, 2, 1], [4, 1, 2, 1]]
    assert found.tracks.tolist() == [[0, 1], [1, 3], [2, 4], [3, 3], [4, 4]]
    assert found.frame.tolist() == [0, 1, 1, 2, 2]


def test_positions_are_scaled_like_points(data):
    film = film_of_migration(data.sequences[2], data.truth.masks[0].shape)
    ours = positions_only(film)
    table = {"frame": film.frame, "y": film.position[:, 0], "x": film.position[:, 1]}
    theirs = film_of_points(table)
    for one in (ours, theirs):
        assert len(np.unique(one.area)) == len(np.unique(one.intensity)) == 1
        assert not one.eccentricity.any()
    # Distances relative to the size of a cell are the same.
    sizes = [np.sqrt(one.area[0]) for one in (ours, theirs)]
    spans = [np.ptp(one.position, axis=0) / size for one, size in zip((ours, theirs), sizes, strict=True)]
    np.testing.assert_allclose(*spans)
