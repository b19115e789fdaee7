"""Runs are found by names of BIDS, in data sets and derivatives, with what belongs to them."""

import json

import pytest

from ermlab.exceptions import DataError
from ermlab.fmri import find_runs, read_events


def touch(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


@pytest.fixture
def study(tmp_path):
    """A data set with two tasks and derivatives in two spaces."""
    root = tmp_path / "study"
    for run in (1, 2):
        name = f"sub-01/ses-a/func/sub-01_ses-a_task-look_run-{run}"
        touch(root, f"{name}_bold.nii.gz", f"{name}_events.tsv")
        for space in ("MNI", "T1w"):
            of_space = f"derivatives/prep/{name}_space-{space}_desc"
            touch(root, f"{of_space}-preproc_bold.nii.gz", f"{of_space}-brain_mask.nii.gz")
    touch(root, "sub-01/ses-a/func/sub-01_ses-a_task-rest_bold.nii")
    (root / "task-look_bold.json").write_text(json.dumps({"RepetitionTime": 2.5}))
    (root / "sub-01/ses-a/func/sub-01_ses-a_task-look_run-2_bold.json").write_text('{"RepetitionTime": 3}')
    (root / "task-rest_bold.json").write_text(json.dumps({"EchoTime": 1}))
    return root


def test_derivatives(study):
    runs = find_runs(study / "derivatives", space="MNI")
    assert [run.image.name for run in runs] == [
        f"sub-01_ses-a_task-look_run-{k}_space-MNI_desc-preproc_bold.nii.gz" for k in (1, 2)
    ]
    for k, run in enumerate(runs, start=1):
        assert run.events == study / f"sub-01/ses-a/func/sub-01_ses-a_task-look_run-{k}_events.tsv"
        assert run.mask.name == f"sub-01_ses-a_task-look_run-{k}_space-MNI_desc-brain_mask.nii.gz"
    assert [run.repetition_time for run in runs] == [2.5, 3.0]  # the nearer sidecar counts


def test_preprocessed_images_take_precedence(study):
    assert all("preproc" in run.image.name for run in find_runs(study, task="look", space="T1w"))
    with pytest.raises(DataError, match="space MNI, T1w; expected one of them, choose a space"):
        find_runs(study)


def test_files_and_tasks(study):
    raw = study / "sub-01"
    with pytest.raises(DataError, match="task look, rest; expected one of them, choose a task"):
        find_runs(raw)
    (rest,) = find_runs(raw, task="task-rest")
    assert rest.events is None
    assert rest.repetition_time is None
    assert rest.mask is None
    chosen = sorted(raw.rglob("*task-look*_bold.nii.gz"))
    assert [run.image for run in find_runs(chosen[::-1])] == chosen[::-1]
    touch(study, "scan.nii.gz")
    (other,) = find_runs(study / "scan.nii.gz")
    assert (other.events, other.repetition_time, other.mask) == (None, None, None)


def test_other_entities_do_not_belong(tmp_path):
    touch(
        tmp_path,
        "sub-01_task-look_run-1_bold.nii.gz",
        "sub-01_task-look_run-2_events.tsv",
        "sub-02_task-look_run-1_events.tsv",
        "sub-01_task-look_run-1_acq-x_events.tsv",
    )
    assert find_runs(tmp_path)[0].events is None
    touch(tmp_path, "task-look_events.tsv")
    assert find_runs(tmp_path)[0].events.name == "task-look_events.tsv"
    touch(tmp_path, "sub-01_task-look_events.tsv")
    assert find_runs(tmp_path)[0].events.name == "sub-01_task-look_events.tsv"


def test_broken_folders_and_sidecars(tmp_path):
    with pytest.raises(DataError, match="absent: no such file or folder"):
        find_runs(tmp_path / "absent")
    with pytest.raises(DataError, match=r"no file \*_bold\.nii\.gz"):
        find_runs(tmp_path)
    touch(tmp_path, "sub-01_task-look_bold.nii.gz")
    with pytest.raises(DataError, match="no image of sub-02; expected one of 01"):
        find_runs(tmp_path, subject="02")
    for text, message in (
        ("{", "valid JSON"),
        ('{"RepetitionTime": -1}', "RepetitionTime -1; expected a positive number"),
        ('{"RepetitionTime": true}', "RepetitionTime True"),
        ('{"RepetitionTime": "2"}', "RepetitionTime '2'"),
    ):
        (tmp_path / "task-look_bold.json").write_text(text)
        with pytest.raises(DataError, match=message):
            find_runs(tmp_path)
    (tmp_path / "task-look_bold.json").write_text("[]")
    assert find_runs(tmp_path)[0].repetition_time is None


def test_events(tmp_path):
    path = tmp_path / "events.tsv"
    path.write_text("onset\tduration\ttrial_type\tresponse\n1\t2\t01\tx\n3.5\t2\tn/a\ty\n")
    table = read_events(path)
    assert table.to_numpy().tolist() == [[1, 2, "01"]]
    for text, message in (
        ("", "events.tsv: "),
        ("onset,duration\n1,2\n", "no column"),
        ("\x00", "events.tsv"),
    ):
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            read_events(path)
    with pytest.raises(DataError, match="No such file"):
        read_events(tmp_path / "absent.tsv")
