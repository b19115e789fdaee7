"""A scan of the user, from the block of the configuration to the weight map."""

import json

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import run_snakemake
from nilearn.datasets import load_mni152_template

TR, VOLUMES = 3.0, 30
BLOCK = {
    "bold": ["scan/run0.nii.gz", "scan/run1.nii.gz"],
    "labels": ["scan/run0.tsv", "scan/run1.tsv"],
    "unlabelled": "scan/rest.nii.gz",
    "repetition_time": TR,
    "target": "light",
    "convolve": False,
    "resolution": 10,
    "gap": 3.0,
}


def write_scan(folder):
    """Write two runs in which the left half of a brain follows a wave, and one without labels."""
    rng, template = np.random.default_rng(0), load_mni152_template(10)
    brain = template.get_fdata()
    left = np.arange(brain.shape[0])[:, None, None, None] < brain.shape[0] // 2
    folder.mkdir()
    for name, period in {"run0": 10, "run1": 12, "rest": 11}.items():
        wave = np.sin(2 * np.pi * np.arange(VOLUMES) / period)
        data = 1000 * brain[..., None] * (1 + 0.02 * left * wave)
        data += rng.normal(scale=10, size=data.shape)
        img = nib.Nifti1Image(data.astype(np.float32), template.affine)
        img.header.set_xyzt_units("mm", "sec")
        img.header.set_zooms((10, 10, 10, TR))
        nib.save(img, folder / f"{name}.nii.gz")
        pd.DataFrame({"light": wave}).to_csv(folder / f"{name}.tsv", sep="\t", index=False)


def configure(project, **changes):
    (project / "own.yaml").write_text(yaml.safe_dump({"own_fmri": {**BLOCK, **changes}}))
    return ("--configfile", "own.yaml", "--", "own_fmri")


def test_a_scan_is_preprocessed_learned_from_and_mapped(project):
    write_scan(project / "scan")
    target = configure(project)
    run = run_snakemake(project, *target)
    assert run.returncode == 0, run.stdout[-5000:]
    results = project / "data/results/own_fmri"
    values = json.loads((results / "values.json").read_text())["values"]
    assert values["correlation"] > 0.8
    assert values["held_out"] == "runs"
    assert values["chance_interval"][0] < values["chance"] < values["chance_interval"][1]
    assert values["ridge"] > 0.8
    assert pd.read_csv(results / "curve.csv")["selected"].sum() == 1
    assert len(pd.read_csv(results / "correlations.csv")) == 2
    assert len(pd.read_csv(results / "motion.csv")) == 3 * VOLUMES
    weights = nib.load(results / "weights.nii.gz")
    np.testing.assert_array_equal(weights.affine, load_mni152_template(10).affine)
    middle = weights.shape[0] // 2
    assert weights.get_fdata()[: middle - 1].sum() > 0 > weights.get_fdata()[middle + 1 :].sum()
    assert "<iframe" in (results / "map.html").read_text()

    assert "Nothing to be done" in run_snakemake(project, "--dry-run", *target).stdout
    labels = project / "scan/run0.tsv"
    labels.write_text(labels.read_text().replace("light", "dark"))
    failed = run_snakemake(project, *target)
    assert failed.returncode != 0
    log = (project / "logs/prepare_own_fmri.log").read_text()
    assert "scan/run0.tsv: no column 'light'; expected one of dark" in log


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": "scan/run0.tsv"}, "config: own_fmri has 2 bold series and 1 files of labels"),
        ({"events": "scan/run0.tsv"}, "config: own_fmri names both or neither of labels and events"),
        ({"metod": "ksupport"}, "config: own_fmri: metod is not a known key: did you mean method?"),
        ({"bold": ["scan/none.nii.gz"] * 2}, "scan/none.nii.gz"),
    ],
)
def test_a_wrong_block_is_refused_before_anything_runs(project, changes, message):
    answer = run_snakemake(project, "--dry-run", *configure(project, **changes))
    assert answer.returncode != 0
    assert message in answer.stdout
    assert "Traceback" not in answer.stdout


def test_without_a_block_the_target_says_what_to_write(project):
    answer = run_snakemake(project, "own_fmri")
    assert answer.returncode != 0
    lines = [line for line in answer.stdout.splitlines() if "write a block own_fmri" in line]
    assert len(lines) == 1, answer.stdout
    assert "Traceback" not in answer.stdout
