"""The command `ermlab decode`: equal to the library, names of BIDS, and broken input."""

import json
import shutil

import nibabel
import numpy as np
import pandas as pd
import pytest

from ermlab.fmri import decode


@pytest.fixture
def folder(workspace):
    return workspace("decode")


def tables(folder):
    return [pd.read_csv(folder / f"e{run}.tsv", sep="\t") for run in (1, 2, 3)]


def test_a_contrast_equals_the_library(folder, summary):
    found = summary("decode", "study", "out", "--contrast", "face,house", "--permutations", 50)
    func = folder / "study/sub-01/func"
    library = decode(
        [str(path) for path in sorted(func.glob("*_bold.nii.gz"))],
        repetition_time=2.0,
        events=tables(folder),
        contrast=["face", "house"],
        mask=str(func / "sub-01_task-look_run-1_desc-brain_mask.nii.gz"),
        n_permutations=50,
    )
    results = library.decoding_
    assert found["scoring"] == "balanced accuracy"
    assert found["score"] == pytest.approx(results.score)
    assert found["score"] > 0.8
    assert found["interval"] == pytest.approx(list(results.interval))
    assert found["chance"] == pytest.approx(results.chance)
    assert found["p_value"] == pytest.approx(results.p_value)
    assert found["ridge"] == pytest.approx(results.ridge)
    assert found["voxels"] == 12 * 12 * 10
    assert found["repetition_time"] == 2
    assert json.loads((folder / "out/summary.json").read_text()) == found
    weights = nibabel.load(folder / "out/weights.nii.gz").get_fdata()
    np.testing.assert_allclose(weights, library.coef_img_.get_fdata(), rtol=1e-6)
    curve = pd.read_csv(folder / "out/curve.csv")
    np.testing.assert_allclose(curve["held_out"], results.curve["held_out"])
    assert len(pd.read_csv(folder / "out/parts.csv")) == 3


def test_a_target_of_files_of_any_name(folder, run):
    args = ["run1.nii.gz", "run2.nii.gz", "run3.nii.gz", "out", "--target", "face", "--permutations", 20]
    for number in (1, 2, 3):
        args += ["--events", f"e{number}.tsv"]
    output = run("decode", *args).stdout
    assert "3 runs" in output
    assert "correlation on held-out volumes" in output
    assert "chance:" in output
    assert "ridge regression:" in output


def test_a_choice_between_subjects_is_needed(folder, refusal, run):
    other = folder / "study/sub-02/func"
    other.mkdir(parents=True)
    for path in (folder / "study/sub-01/func").iterdir():
        shutil.copy(path, other / path.name.replace("sub-01", "sub-02"))
    assert "study: sub 01, 02; expected one of them" in refusal("decode", "study", "out", "--target", "face")
    run("decode", "study", "out", "--target", "face", "--subject", "02", "--permutations", 10)
    message = refusal("decode", "study", "more", "--target", "face", "--subject", "03")
    assert "no image of sub-03; expected one of 01, 02" in message


def test_broken_input(folder, run, refusal):
    (folder / "empty").mkdir()
    (folder / "notes.nii.gz").write_text("text")
    (folder / "odd.tsv").write_text("onset\tduration\n1\t2\n")
    (folder / "late.tsv").write_text("onset\tduration\ttrial_type\n1e6\t2\tface\n")
    (folder / "nan.tsv").write_text("onset\tduration\ttrial_type\nn/a\t2\tface\n")
    image = ("decode", "run1.nii.gz", "out", "--target", "face")
    for args, message in (
        (("decode", "absent", "out"), "absent: no such file or folder; expected an image, or a folder"),
        (("decode", "empty", "out"), "empty: no file *_bold.nii.gz"),
        (image, "run1.nii.gz: no table of events; expected *_events.tsv by its name, or --events"),
        ((*image, "--events", "absent.tsv"), "absent.tsv: No such file"),
        ((*image, "--events", "odd.tsv"), "odd.tsv: no column trial_type"),
        ((*image, "--events", "late.tsv"), "no event begins in the series"),
        ((*image, "--events", "nan.tsv"), "onset is nan"),
        (
            (*image, "--events", "e1.tsv", "--events", "e2.tsv"),
            "2 tables of events: expected one for",
        ),
        (("decode", "study", "out", "--contrast", "face,hose"), "no 'hose' in the events: expected some of"),
        (("decode", "study", "out", "--target", "face", "--mask", "absent.nii"), "absent.nii"),
        (("decode", "study", "out", "--target", "face", "--tr", "9"), "but the header of the image says 2 s"),
        (("decode", "notes.nii.gz", "out", "--events", "e1.tsv", "--tr", 2), "notes.nii.gz"),
    ):
        assert message in refusal(*args)
        assert not (folder / "out").exists()
    both = ("--target", "face", "--contrast", "face,house")
    assert "expected one of them" in run("decode", "study", "out", *both, code=2).stderr
    (folder / "study/task-look_bold.json").write_text('{"RepetitionTime": "two"}')
    assert "task-look_bold.json: RepetitionTime 'two'" in refusal("decode", "study", "out")
