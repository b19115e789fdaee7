"""Real runs of the workflow, at smoke scale, in copies of the project."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# What takes longest comes first, then what waits most: the other worker does all the rest meanwhile.
FIRST = ("test_smoke_run", "test_slurm", "test_own_fmri", "test_rules", "test_book")


def pytest_collection_modifyitems(items):
    order = {Path(__file__).parent / f"{name}.py": i for i, name in enumerate(FIRST)}
    items.sort(key=lambda item: order.get(item.path, len(FIRST)))


def copy_project(target: Path) -> Path:
    """Copy what git would commit: no data, no environment, nothing built."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


def snakemake_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]


def run_snakemake(project: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run Snakemake to its end and return what it printed, both streams in one.

    The library is the installed one, whose compiled kernels all runs share.
    """
    return subprocess.run(
        snakemake_command(*arguments),
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.fixture
def project(tmp_path):
    """A fresh copy of the project."""
    return copy_project(tmp_path)


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory):
    """A copy of the project after a whole smoke run: read it, do not change it."""
    project = copy_project(tmp_path_factory.mktemp("finished"))
    finished = run_snakemake(project, "--config", "scale=smoke")
    assert finished.returncode == 0, finished.stdout[-5000:]
    return project
