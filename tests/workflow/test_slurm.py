"""The SLURM profile on a real cluster: jobs go through its queue, and the report comes out."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from conftest import ROOT
from slurm_cluster import SlurmCluster, slurm_cluster, why_not

SNAKEFILE = """
rule all:
    input:
        "report.json",


rule prepare_part:
    output:
        "part.json",
    threads: 2
    resources:
        mem_mb=200,
        runtime=5,
    script:
        "record.py"


rule publish_report:
    input:
        "part.json",
    output:
        "report.json",
    resources:
        mem_mb=100,
        runtime=5,
    shell:
        "cp {input} {output}"
"""

# Jobs that take seconds are asked for after seconds.
QUICKLY = ("--slurm-init-seconds-before-status-checks", "2")

RECORD = """
import json, os

names = ("SLURM_JOB_ID", "SLURM_CPUS_PER_TASK", "SLURM_JOB_PARTITION", "NUMBA_CACHE_DIR", "ERMLAB_MIRROR")
with open(snakemake.output[0], "w") as file:
    json.dump({name: os.environ.get(name) for name in names}, file)
"""


@pytest.fixture
def slurm() -> Iterator[SlurmCluster]:
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with slurm_cluster() as cluster:
        yield cluster


def run_on_slurm(folder: Path, environment: dict[str, str], *arguments: str) -> set[int]:
    """Run the workflow of a folder to its end and return the ids of the SLURM jobs that it submitted."""
    profile = ("--workflow-profile", "profiles/slurm")
    command = [sys.executable, "-m", "snakemake", *profile, *QUICKLY, *arguments]
    run = subprocess.run(
        command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert run.returncode == 0, run.stdout
    logs = [log.read_text() for log in (folder / ".snakemake/log").glob("*.snakemake.log")]
    return {int(job) for log in logs for job in re.findall(r"submitted with SLURM jobid (\d+)", log)}


def test_reason_where_no_cluster_can_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    for name in ("munged", "slurmctld", "slurmd", "sbatch", "setpriv"):
        monkeypatch.setattr(f"{why_not.__module__}.SYSTEM_PATH", str(tmp_path))
        assert name in why_not()
        (tmp_path / name).touch(mode=0o755)
    assert why_not() == "SLURM's daemons must be started by root"


def test_nothing_of_a_stopped_cluster_is_left(slurm: SlurmCluster) -> None:
    with slurm_cluster() as second:
        command = ["sbatch", "--parsable", "--output=/dev/null", "--wrap=srun sleep 600"]
        subprocess.run(command, env=second.environment, check=True, capture_output=True)
        assert set(second.processes()).isdisjoint(slurm.processes())
    assert not list(second.processes())
    assert not second.folder.exists()
    assert len(list(slurm.processes())) >= 3


def test_jobs_run_on_the_node_with_the_environment_of_the_caller(slurm: SlurmCluster, tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "record.py").write_text(RECORD)
    shutil.copytree(ROOT / "profiles", tmp_path / "profiles")
    given = {"NUMBA_CACHE_DIR": str(tmp_path / "numba"), "ERMLAB_MIRROR": str(tmp_path / "mirror")}

    submitted = run_on_slurm(tmp_path, slurm.environment | given)

    assert len(submitted) == 2
    assert slurm.completed_jobs() == submitted
    seen = json.loads((tmp_path / "report.json").read_text())
    assert int(seen.pop("SLURM_JOB_ID")) in submitted
    assert seen == given | {"SLURM_CPUS_PER_TASK": "2", "SLURM_JOB_PARTITION": "main"}


def keep_sections(project: Path, kept: set[str]) -> None:
    """Leave all sections but a few to be built later: to start a job takes longer than most jobs."""
    path = project / "config/exhibits.yaml"
    catalogue = yaml.safe_load(path.read_text())
    for section in catalogue["sections"]:
        if section["id"] not in kept:
            for name in ("notebook", "experiments", "datasets"):
                section.pop(name, None)
    path.write_text(yaml.safe_dump(catalogue, sort_keys=False))


def test_smoke_report_is_built_by_slurm_jobs(slurm: SlurmCluster, project: Path) -> None:
    environment = os.environ | {"PATH": slurm.environment["PATH"]}
    keep_sections(project, {"structured_losses", "joint_kernel_support"})

    submitted = run_on_slurm(project, environment, "--config", "scale=smoke")

    assert slurm.completed_jobs() == submitted
    # Every rule that does anything has a benchmark; none of them ran outside the queue.
    assert len(submitted) == len(list((project / "logs/benchmarks").rglob("*.tsv")))
    assert (project / "reports/html/index.html").is_file()
    assert json.loads((project / "reports/claims.json").read_text())
