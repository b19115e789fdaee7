"""Exhibits that take seconds have the values and verdicts of the reference run on this machine, too."""

import subprocess
import sys

import pytest
from conftest import ROOT, run_snakemake

from reproduction.claims.reference import reference_path

#: Experiments without data that take seconds at demo scale.
QUICK = ("structured_losses", "tree_covariance", "level_sets", "two_moons")


@pytest.mark.skipif(not reference_path(root=ROOT).exists(), reason="there is no reference run")
def test_quick_exhibits_agree_with_the_reference(project):
    results = [f"data/results/{name}/values.json" for name in QUICK]
    finished = run_snakemake(project, *results, "--config", "scale=demo")
    assert finished.returncode == 0, finished.stdout[-3000:]
    command = [sys.executable, "-m", "reproduction.book.compare_reference"]
    compared = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True).stdout
    assert "\n0 differences" in compared, compared
