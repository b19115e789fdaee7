"""The commands that track a user's film and learn from a user's annotation, on simulated nuclei."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest
from ctc_metrics import evaluate_sequence
from PIL import Image

from ermlab._utils.image_files import read_labels
from ermlab.tracking import CellTracker, film_of_points, read_frames, read_tracking


@pytest.fixture
def folder(workspace):
    return workspace("track")


def quality(folder):
    return evaluate_sequence(str(folder), "film/01_GT", metrics=["Valid", "DET", "TRA"], threads=1)


def test_a_film_is_tracked_with_the_bundled_model(folder, summary):
    found = summary("track", "film/01", "01_RES", "--overlay", "tracks.gif")
    scores = quality("01_RES")
    assert scores["Valid"] == 1
    assert scores["DET"] > 0.9
    assert scores["TRA"] > 0.9
    masks, lineage = CellTracker.pretrained().track_images(read_frames("film/01"))
    written = read_tracking("01_RES")
    for one, other in zip(masks, written.masks, strict=True):
        np.testing.assert_array_equal(one, other)
    assert lineage.rows() == written.lineage.rows()
    table = pd.read_csv("01_RES.csv")
    assert found["frames"] == 6
    assert found["tracks"] == len(lineage) == table["track_id"].nunique()
    assert found["cells"] == len(table) == sum(len(np.unique(mask)) - 1 for mask in masks)
    row = table.iloc[0]
    places = np.argwhere(np.asarray(masks[0]) == row["track_id"])
    np.testing.assert_allclose(places.mean(axis=0), [row["y"], row["x"]], atol=0.01)
    assert Image.open("tracks.gif").n_frames == 6


def test_a_stack_is_tracked_as_its_frames_are(folder, run):
    frames = [Image.open(path) for path in sorted((folder / "film/01").glob("t*.tif"))]
    frames[0].save("stack.tif", save_all=True, append_images=frames[1:])
    run("track", "film/01", "a")
    run("track", "stack.tif", "b")
    assert (folder / "a/res_track.txt").read_text() == (folder / "b/res_track.txt").read_text()
    assert (folder / "a.csv").read_text() == (folder / "b.csv").read_text()
    assert Image.open("b.png").size == frames[0].size


def test_masks_are_tracked(folder, run):
    run("track", "masks", "RES", "--masks")
    scores = quality("RES")
    assert scores["DET"] > 0.99
    assert scores["TRA"] > 0.95


def test_points_are_tracked(folder, summary):
    found = summary("track", "points.csv", "tracks.csv")
    table = pd.read_csv("tracks.csv")
    library = CellTracker.pretrained().track_points("points.csv")
    pd.testing.assert_frame_equal(table, library)
    assert found["tracks"] == table["track_id"].nunique()
    assert found["cells"] == len(table)
    assert (folder / "tracks.png").read_bytes().startswith(b"\x89PNG")
    renamed = pd.read_csv("points.csv").rename(columns={"frame": "moment", "x": "u", "y": "v"})
    renamed.to_csv("renamed.csv", index=False)
    summary("track", "renamed.csv", "again.csv", "--columns", "frame=moment,x=u,y=v")
    np.testing.assert_array_equal(pd.read_csv("again.csv")["track_id"], table["track_id"])


def test_tables_without_measures_have_a_tracker_of_their_own(folder, summary):
    places = pd.read_csv("points.csv")[["frame", "x", "y"]]
    places.to_csv("places.csv", index=False)
    summary("track", "places.csv", "tracks.csv")
    library = CellTracker.pretrained("points").track_points("places.csv")
    pd.testing.assert_frame_equal(pd.read_csv("tracks.csv"), library)


def test_tracks_are_written_as_a_graph(folder, summary, refusal):
    geff = pytest.importorskip("geff")
    found = summary("track", "points.csv", "tracks.csv", "--geff", "tracks.geff")
    assert (found["geff"], found["unlike_training"]) == ("tracks.geff", [])
    graph, _ = geff.read("tracks.geff", backend="networkx")
    assert graph.number_of_nodes() == found["cells"]
    assert "tracks.geff: it exists" in refusal("track", "film/01", "RES", "--geff", "tracks.geff")
    assert not (folder / "RES").exists()


def test_a_tracker_is_learned_from_some_masks_and_used(folder, run, summary):
    annotation = folder / "TRA"
    annotation.mkdir()
    for t in (0, 1, 2):
        shutil.copy(folder / f"film/01_GT/TRA/man_track{t:03d}.tif", annotation)
    rows = np.loadtxt("film/01_GT/TRA/man_track.txt", dtype=int)
    rows = rows[rows[:, 1] <= 2]
    rows[:, 2] = np.minimum(rows[:, 2], 2)
    np.savetxt(annotation / "man_track.txt", rows, fmt="%d")
    output = run("track-train", "film/01", "TRA", "mine.json").stdout
    assert "mine.json: learned from" in output
    found, annotated = map(int, re.search(r"(\d+) of (\d+) annotated cells were detected", output).groups())
    cells = sum(len(np.unique(mask)) - 1 for mask in map(read_labels, annotation.glob("*.tif")))
    assert 0.9 * annotated < found <= annotated == cells
    assert summary("track", "film/02", "02_RES", "--model", "mine.json")["tracks"] > 5
    weights = CellTracker.load("mine.json").coef_
    assert not np.array_equal(weights, CellTracker.pretrained().coef_)


def test_a_tracker_is_learned_from_masks_or_a_table(folder, summary):
    of_masks = summary("track-train", "film/01_GT/TRA", "masks.json")
    assert of_masks["held_out_events_found"] > 0.8
    assert of_masks["annotated_cells"] is None
    columns = ("--columns", "track=track_id,parent=parent")
    of_points = summary("track-train", "annotated.csv", "points.json", *columns)
    film = film_of_points("annotated.csv", {"track": "track_id", "parent": "parent"})
    assert of_points["events_found"] == CellTracker().fit(film).score(film)
    assert of_points["events"] > 20


def test_what_is_wrong_is_said_in_one_line(folder, run, refusal):
    (folder / "empty").mkdir()
    (folder / "words.csv").write_text("frame,x,y\n0,one,2\n")
    (folder / "nan.csv").write_text("frame,x,y\n0,1,2\n1,nan,2\n")
    (folder / "columns.csv").write_text("a,b\n1,2\n")
    for args, message in (
        (("track", "absent", "RES"), "absent: No such file"),
        (("track", "empty", "RES"), "empty: "),
        (("track", "film/01", "RES", "--model", "absent.json"), "absent.json: No such file"),
        (("track", "points.csv", "t.csv", "--columns", "frame=moment"), "no column 'moment'"),
        (("track", "absent.csv", "t.csv"), "absent.csv"),
        (("track", "words.csv", "t.csv"), "one"),
        (("track", "nan.csv", "t.csv"), "nan"),
        (("track", "columns.csv", "t.csv"), "no column for 'frame'"),
        (("track-train", "film/01", "film/02_GT", "m.json"), "man_track.txt: No such file"),
        (("track-train", "absent", "m.json"), "absent: no such folder"),
    ):
        assert message in refusal(*args)
    assert not [path for name in ("RES*", "t.*", "m.json", ".part*") for path in folder.glob(name)]
    for args in (
        ("track", "points.csv", "RES"),
        ("track", "film/01", "RES", "--images", "film/01"),
        ("track", "film/01", "RES", "--overlay", "x.mp4"),
        ("track", "points.csv", "t.csv", "--columns", "frame"),
        ("track-train", "annotated.csv", "m.json"),
        ("track-train", "a", "b", "c", "m.json"),
    ):
        run(*args, code=2)


def test_a_place_that_is_taken_is_rejected_before_the_work(folder, refusal, monkeypatch):
    def work(*_):
        raise AssertionError("the work has begun")

    monkeypatch.setattr("ermlab.tracking.cell_detection.detect_frames", work)
    monkeypatch.setattr("ermlab.tracking.cell_tracker.detect_frames", work)
    (folder / "mine").mkdir()
    (folder / "mine/notes.txt").write_text("mine")
    (folder / "old").mkdir()
    (folder / "old/res_track.txt").write_text("")
    (folder / "done.csv").write_text("mine")
    for result, message in (
        ("mine", "there is notes.txt; expected"),
        ("mine/notes.txt", "a file; expected a folder"),
        ("film/01", "there is t000.tif; expected"),
        ("old", "old: an earlier result; expected a new folder, or --force"),
        ("done", "done.csv: the file exists"),
        ("absent/RES", "absent: no such folder"),
    ):
        assert message in refusal("track", "film/01", result)
    for model, message in (
        ("mine", "a folder; expected the name of a file"),
        ("absent/mine.json", "absent: no such folder; expected one to write mine.json to"),
    ):
        assert message in refusal("track-train", "film/01", "film/01_GT/TRA", model)
    assert [path.name for path in (folder / "mine").iterdir()] == ["notes.txt"]
