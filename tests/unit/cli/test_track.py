"""The commands that track a user's film and learn from a user's annotation, on simulated nuclei."""

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from ctc_metrics import evaluate_sequence
from ermlab.cli.train_tracker import main as train_tracker

from ermlab._utils.image_files import read_labels
from ermlab.cli.track import main as track
from ermlab.exceptions import DataError
from ermlab.tracking.ctc_results import read_tracking
from reproduction.datasets.nuclei_films import simulate_mitocheck_nuclei


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    folder = tmp_path_factory.mktemp("film")
    simulate_mitocheck_nuclei(folder, 11, "smoke")
    return folder


def test_a_film_is_tracked_with_the_shipped_model(film, tmp_path, capsys):
    track(film / "01", tmp_path / "01_RES", None)
    assert "6 frames" in capsys.readouterr().out
    assert len(read_tracking(tmp_path / "01_RES").masks) == 6
    scores = evaluate_sequence(
        str(tmp_path / "01_RES"), str(film / "01_GT"), metrics=["Valid", "DET", "TRA"], threads=1
    )
    assert scores["Valid"] == 1
    assert scores["DET"] > 0.9
    assert scores["TRA"] > 0.9


def test_a_tracker_is_learned_from_some_masks_and_used(film, tmp_path, capsys):
    annotation = tmp_path / "TRA"
    annotation.mkdir()
    for t in (0, 1, 2):
        shutil.copy(film / f"01_GT/TRA/man_track{t:03d}.tif", annotation)
    rows = np.loadtxt(film / "01_GT/TRA/man_track.txt", dtype=int)
    rows = rows[rows[:, 1] <= 2]
    rows[:, 2] = np.minimum(rows[:, 2], 2)
    np.savetxt(annotation / "man_track.txt", rows, fmt="%d")
    model = tmp_path / "mine.json"
    train_tracker(film / "01", annotation, model)
    output = capsys.readouterr().out
    assert "mine.json: learned from" in output
    found, annotated = map(int, re.search(r"(\d+) of (\d+) annotated cells were detected", output).groups())
    cells = sum(len(np.unique(mask)) - 1 for mask in map(read_labels, annotation.glob("*.tif")))
    assert 0.9 * annotated < found <= annotated == cells
    track(film / "02", tmp_path / "02_RES", model)
    assert len(read_tracking(tmp_path / "02_RES").lineage) > 5


def test_what_is_wrong_is_said_in_one_line(film, tmp_path):
    command = [
        sys.executable,
        "-m",
        "ermlab.cli.train_tracker",
        film / "01",
        film / "02_GT",
        tmp_path / "mine.json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "man_track.txt: No such file" in done.stderr
    for film_folder, model, message in (
        (tmp_path / "absent", None, "absent: no such folder"),
        (film / "01", tmp_path / "absent.json", "absent.json: No such file"),
    ):
        with pytest.raises(DataError, match=message):
            track(film_folder, tmp_path / "RES", model)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_taken_is_rejected_before_the_work(film, tmp_path, monkeypatch):
    def work(*_):
        raise AssertionError("the work has begun")

    monkeypatch.setattr("ermlab.tracking.cell_detection.detect_frames", work)
    monkeypatch.setattr("ermlab.tracking.cell_tracker.detect_frames", work)
    (tmp_path / "notes.txt").write_text("mine")
    for result, message in (
        (tmp_path, r"there is notes\.txt; expected"),
        (tmp_path / "notes.txt", "a file; expected a folder"),
        (film / "01", r"there is t000\.tif; expected"),
    ):
        with pytest.raises(DataError, match=message):
            track(film / "01", result, None)
    for model, message in (
        (tmp_path, "a folder; expected the name of a file"),
        (tmp_path / "absent/mine.json", r"absent: no such folder; expected one to write mine\.json to"),
    ):
        with pytest.raises(DataError, match=message):
            train_tracker(film / "01", film / "01_GT/TRA", model)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
