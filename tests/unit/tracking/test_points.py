"""Tables of points: columns are recognized, units do not matter, broken tables are refused."""

import numpy as np
import pandas as pd
import pytest
from laptrack import LapTrack

from ermlab.exceptions import DataError
from ermlab.tracking import CellTracker, annotate, film_of_points, frame_pairs
from ermlab.tracking.events import Gates


@pytest.fixture(scope="module")
def tracker():
    return CellTracker.pretrained()


def grid(n_frames=5, step=1.5, seed=0):
    """Return a table of 25 points, 12 apart, that move in random directions; rows are shuffled."""
    rng = np.random.default_rng(seed)
    y, x = (12.0 * part.ravel() for part in np.indices((5, 5)))
    parts = []
    for t in range(n_frames):
        parts.append(pd.DataFrame({"frame": t, "y": y, "x": x, "true": np.arange(1, 26)}))
        y, x = y + rng.normal(0, step, 25), x + rng.normal(0, step, 25)
    return pd.concat(parts).sample(frac=1, random_state=seed)


def is_correct(found):
    """Whether tracks and true tracks correspond one to one."""
    pairs = found[["true", "track_id"]].drop_duplicates()
    return len(pairs) == pairs["true"].nunique() == pairs["track_id"].nunique()


def test_the_table_comes_back_with_tracks(tracker):
    table = grid()
    before = table.copy()
    found = tracker.track_points(table)
    pd.testing.assert_frame_equal(table, before)
    pd.testing.assert_frame_equal(found[table.columns], table)  # same rows and index, which has duplicates
    assert list(found.columns) == [*table.columns, "track_id", "tree_id", "parent_track_id"]
    assert is_correct(found)
    assert (found["tree_id"] == found["track_id"]).all()
    assert (found["parent_track_id"] == 0).all()
    peer = LapTrack(cutoff=36).predict_dataframe(
        table.reset_index(drop=True), coordinate_cols=["y", "x"], only_coordinate_cols=False
    )[0]
    both = pd.DataFrame({"true": peer["true"].to_numpy(), "track_id": peer["track_id"].to_numpy()})
    assert is_correct(both)


@pytest.mark.parametrize(
    "names",
    [
        {"frame": "t"},
        {"frame": "FRAME", "y": "POSITION_Y", "x": "POSITION_X"},
        {"y": "centroid-0", "x": "centroid-1"},
    ],
)
def test_usual_names_are_recognized(tracker, names):
    expected = tracker.track_points(grid())
    found = tracker.track_points(grid().rename(columns=names))
    np.testing.assert_array_equal(found["track_id"], expected["track_id"])


def test_names_can_be_given(tracker, tmp_path):
    table = grid().rename(columns={"frame": "when", "y": "north", "x": "east"}).assign(x=0.0, y=7.0)
    with pytest.raises(ValueError, match=r"no column for 'frame' \(frame, t, .*its columns are when, north"):
        tracker.track_points(table)
    names = {"frame": "when", "y": "north", "x": "east"}
    expected = tracker.track_points(grid())["track_id"].to_numpy()
    np.testing.assert_array_equal(tracker.track_points(table, names)["track_id"], expected)
    table.to_csv(tmp_path / "points.csv", index=False)
    np.testing.assert_array_equal(tracker.track_points(tmp_path / "points.csv", names)["track_id"], expected)
    np.testing.assert_array_equal(tracker.track_points(dict(table), names)["track_id"], expected)


def test_units_and_numbers_of_frames_do_not_matter(tracker):
    expected = tracker.track_points(grid())["track_id"].to_numpy()
    for scale, shift in ((1e-6, 0.0), (1e7, -5e8), (1.0, 1e6)):
        table = grid().assign(y=lambda d, s=scale, o=shift: s * d["y"] + o, x=lambda d, s=scale: s * d["x"])
        np.testing.assert_array_equal(tracker.track_points(table)["track_id"], expected)
    for first in (-3, 10**6):
        table = grid().assign(frame=lambda d, first=first: (d["frame"] + first).astype(float))
        np.testing.assert_array_equal(tracker.track_points(table)["track_id"], expected)


def test_what_a_table_lacks_makes_no_difference_between_cells():
    film = film_of_points(grid())
    assert (
        len(np.unique(film.area)) == len(np.unique(film.intensity)) == len(np.unique(film.eccentricity)) == 1
    )
    for pair in frame_pairs(film, Gates()):
        moves = pair.hypotheses.candidates["move"].features
        assert (moves[:, 4:] == 0).all()
    # The size follows from the distances, from the areas, or is given.
    for table, options in (
        (grid(step=0), {}),
        (grid(step=0).assign(area=(12 / 1.7) ** 2), {}),
        (grid(step=0), {"diameter": 12 / 1.7 * 2 / np.sqrt(np.pi)}),
    ):
        film = film_of_points(table, **options)
        np.testing.assert_allclose(film.area, 100)
        np.testing.assert_allclose(film.position.max(), 48 * 10 / (12 / 1.7))
        assert film.shape.tolist() == [69, 69]


def test_measurements_and_the_frame_are_used():
    table = grid().assign(area=50.0, mean_intensity=7.0, eccentricity=0.5)
    film = film_of_points(
        table.assign(area=np.arange(1, 126)), shape=(100, 200), diameter=20 / np.sqrt(np.pi)
    )
    assert film.shape.tolist() == [101, 201]
    assert (film.intensity[0], film.eccentricity[0]) == (7, 0.5)
    order = np.argsort(table["frame"], kind="stable")
    np.testing.assert_allclose(film.area, 1.0 + order)
    np.testing.assert_allclose(film.position[:, 1], table["x"].to_numpy()[order])


def test_divisions_have_parents_and_trees(tracker):
    table = pd.DataFrame(
        {
            "frame": [0, 0, 1, 1, 2, 2, 2, 3, 3, 3],
            "y": [0, 60, 0, 60, -4, 4, 60, -5, 5, 60.0],
            "x": [0, 60, 0, 60, 0, 0, 60, 0, 0, 60.0],
            "area": [100, 100, 100, 100, 50, 50, 100, 50, 50, 100],
            "eccentricity": [0.5, 0.5, 0.9, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5],
        }
    )
    found = tracker.track_points(table)
    assert found["track_id"].tolist() == [1, 2, 1, 2, 3, 4, 2, 3, 4, 2]
    assert found["parent_track_id"].tolist() == [0, 0, 0, 0, 1, 1, 0, 1, 1, 0]
    assert found["tree_id"].tolist() == [1, 2, 1, 2, 1, 1, 2, 1, 1, 2]


def test_a_track_has_one_row_per_frame(tracker):
    """Pieces of a cell would have the same label, which points must not have."""
    rng = np.random.default_rng(0)
    y, x = rng.uniform(0, 60, (2, 240))
    table = pd.DataFrame({"frame": np.repeat(np.arange(6), 40), "y": y, "x": x})
    assert not tracker.track_points(table).duplicated(["frame", "track_id"]).any()


def test_frames_without_points_end_tracks(tracker):
    table = grid(n_frames=6)
    table = table[table["frame"] != 3]
    with pytest.warns(UserWarning, match="frame 3 has no points, and 1 frames in all: tracks end there"):
        found = tracker.track_points(table)
    assert found["track_id"].nunique() == 50
    assert len(tracker.track_points(table[table["frame"] == 1])) == 25
    single = table[table["true"] == 3]
    with pytest.raises(ValueError, match=r"size of a cell cannot be estimated.*pass its diameter"):
        tracker.track_points(single)
    with pytest.warns(UserWarning, match="frame 3 has no points"):
        assert tracker.track_points(single, diameter=8)["track_id"].nunique() == 2


def changed(row, column, value):
    table = grid().reset_index(drop=True).astype({"frame": object, "x": object})
    table.loc[row, column] = value
    return table


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (grid().drop(columns="x"), "no column for 'x'"),
        (grid().iloc[:0], "no rows"),
        (pd.DataFrame(), "no column for 'frame' .*its columns are none"),
        (changed(3, "x", np.nan), "column 'x' is nan in row 3: expected a finite number"),
        (changed(4, "y", np.inf), "column 'y' is .*inf.* in row 4: expected a finite number"),
        (changed(5, "x", "left"), "column 'x' is 'left' in row 5: expected a finite number"),
        (changed(6, "frame", 1.5), "column 'frame' is 1.5 in row 6: expected a whole number"),
        (changed(6, "frame", 1e12), "column 'frame' is 1000000000000.0 in row 6: expected a whole number of"),
        (changed(7, "frame", None), "column 'frame' is None in row 7"),
        (grid().assign(area=0.0), "column 'area' is 0.0 in row .*: expected more than 0"),
        (grid().assign(intensity=-1.0), "column 'intensity' is -1.0 in row"),
        (grid().assign(area=np.nan), "column 'area' is nan in row 0"),
        (grid().assign(z=lambda d: d["x"]), r"column 'z' has different values: .*volumes \(3-D\) are not"),
        (grid().assign(track_id=1), "the table has a column 'track_id' already: drop or rename it"),
        (pd.concat([grid(), grid()[["x"]]], axis=1), "the table has the column 'x' of 'x' twice"),
        (changed(0, "x", 1e30), "points up to 1e.30 and cells of the size"),
        (np.zeros((3, 3)), "a table of type ndarray: expected a DataFrame"),
    ],
)
def test_broken_tables_are_refused(tracker, table, message):
    with pytest.raises(ValueError, match=message):
        tracker.track_points(table)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": {"place": "x"}}, "columns has 'place': expected some of frame, y, x"),
        ({"columns": {"x": "z"}}, "the table has no column 'z': its columns are frame"),
        ({"diameter": 0}, "diameter is 0: expected a positive number"),
        ({"diameter": np.nan}, "diameter is nan"),
        ({"shape": (10, -1)}, r"shape\[1\] is -1: expected a positive number"),
        ({"diameter": 1e-30}, "expected a ratio below"),
    ],
)
def test_wrong_options_are_refused(tracker, options, message):
    with pytest.raises(ValueError, match=message):
        tracker.track_points(grid(), **options)


def test_broken_files_are_refused(tracker, tmp_path):
    with pytest.raises(DataError, match=r"points\.csv: No such file"):
        tracker.track_points(tmp_path / "points.csv")
    for content, message in ((b"", "EmptyDataError"), (b"frame,x,y\n0,1,2\n1,2,3,4\n", "ParserError")):
        (tmp_path / "points.csv").write_bytes(content)
        with pytest.raises(DataError, match=rf"points\.csv: {message}"):
            tracker.track_points(tmp_path / "points.csv")


def test_a_tracker_learns_from_tables():
    table = grid(n_frames=8, step=2.5)
    film = film_of_points(table, {"track": "true"})
    assert film.lineage.tolist() == [[k, 0, 7, 0] for k in range(2, 27)]
    assert CellTracker(n_jobs=1).fit(film).score(film) > 0.95
    # Missing tracks are unknown; the first label may be 0; a track may name itself its parent.
    table["true"] = table["true"].where(table["true"] > 5) - 6
    film = film_of_points(table.assign(mother=table["true"]), {"track": "true", "parent": "mother"})
    assert film.lineage[:, 0].tolist() == list(range(1, 21))
    assert (film.lineage[:, 3] == 0).all()
    assert len(film.tracks) == 160


def test_families_in_tables_are_true_divisions():
    table = pd.DataFrame(
        {
            "frame": [0, 1, 1, 0, 1],
            "y": [0, -4, 4, 40, 40.0],
            "x": [0, 0, 0, 0, 0.0],
            "track": [1, 2, 3, 7, 7],
            "parent": [0, 1, 1, 0, 0],
        }
    )
    film = film_of_points(table, {"track": "track", "parent": "parent"}, diameter=10)
    (pair,) = frame_pairs(film, Gates())
    again = annotate(pair.hypotheses, film.tracks_in(0), film.tracks_in(1), film.true_lineage, 0)
    assert again.events.tolist() == pair.annotation.events.tolist()
    kinds = [list(pair.hypotheses.candidates)[kind] for kind in pair.hypotheses.kind[pair.annotation.events]]
    assert kinds == ["move", "division"]
    for wrong, message in (
        (table.assign(track=1), "column 'track' has track 1 more than once in a frame"),
        (table.assign(parent=[0, 1, 9, 0, 0]), "column 'parent' has 9: expected one of the tracks"),
        (table.assign(parent=[0, 1, 1, 0, 1]), "track 7 has several parents"),
        (table.assign(track=[1, 2, 3, 7, 7.5]), "column 'track' is 7.5 in row 4"),
        (table.assign(parent=[0, 1, 7, 0, 0]), "before its parent"),
    ):
        with pytest.raises(ValueError, match=message):
            film_of_points(wrong, {"track": "track", "parent": "parent"})
    with pytest.raises(ValueError, match="a 'parent' without a 'track'"):
        film_of_points(table, {"parent": "parent"})
