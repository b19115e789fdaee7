"""A run that is killed: its jobs, their children and the kernels of notebooks end with it."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import nbformat
import psutil
import pytest
from conftest import run_snakemake, snakemake_command
from nbformat.v4 import new_code_cell, new_notebook

from reproduction.pipeline.guard import VARIABLE

# Safety against a test that never ends; nothing is measured by it.
PATIENCE = 120
TARGETS = ("waited.txt", "waited.ipynb")
RULES = """

rule wait_in_script:
    output:
        "waited.txt",
    log:
        "logs/wait.log",
    script:
        "workflow/wait.py"


rule wait_in_notebook:
    input:
        notebook="notebooks/wait.ipynb",
    output:
        notebook="waited.ipynb",
    log:
        text="logs/wait_notebook.log",
        notebook="logs/wait.ipynb",
    params:
        parameters={"name": "notebook"},
    script:
        "workflow/reproduction/pipeline/run_notebook.py"
"""
# A child in a session of its own, and then a call that does not let other threads of the interpreter run.
WAIT = """
import re, subprocess
from pathlib import Path

def wait(name):
    if Path("go").exists():
        return
    subprocess.Popen(["sleep", "100000"], start_new_session=True)
    Path(name + ".started").touch()
    re.match("(a+)+$", 60 * "a" + "b")
"""
SCRIPT = """
from reproduction.pipeline.job import job

if "snakemake" in globals():
    with job(snakemake):
        wait("script")
        Path(snakemake.output[0]).touch()
"""


@pytest.fixture
def waiting_project(project):
    """The project with two jobs that wait for ever, unless there is a file ``go``."""
    with (project / "Snakefile").open("a") as file:
        file.write(RULES)
    (project / "workflow/wait.py").write_text(WAIT + SCRIPT)
    cells = [
        new_code_cell('name = ""', metadata={"tags": ["parameters"]}),
        new_code_cell(WAIT + "\nwait(name)"),
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=cells, metadata=kernel), project / "notebooks/wait.ipynb")
    return project


@pytest.fixture
def started(waiting_project):
    """A run of both jobs, and all its processes; whatever the test leaves of them is killed."""
    run = subprocess.Popen(
        snakemake_command(*TARGETS),
        cwd=waiting_project,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    processes = []
    try:
        wait_until(lambda: len(list(waiting_project.glob("*.started"))) == 2 or run.poll() is not None)
        assert run.poll() is None, "the run ended before it could be killed"
        processes = psutil.Process(run.pid).children(recursive=True)
        yield run, processes
    finally:
        for process in [*processes, run]:
            with contextlib.suppress(psutil.Error, OSError):
                process.kill()
        run.wait()


def wait_until(is_so):
    end = time.monotonic() + PATIENCE
    while not is_so() and time.monotonic() < end:
        time.sleep(0.05)


def jobs_of(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [process for process in processes if VARIABLE in process.environ()]


def test_jobs_end_with_a_run_that_is_killed_and_the_next_run_does_them(started, waiting_project):
    run, processes = started
    # Shell, script and child; shell, script, kernel and child: no shell need be left of those.
    assert {"sleep"} < {process.name() for process in processes}
    assert len(jobs_of(processes)) >= 5
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    assert alive == []

    (waiting_project / "go").touch()
    again = run_snakemake(waiting_project, *TARGETS)
    assert again.returncode == 0, again.stdout[-5000:]
    assert all((waiting_project / target).is_file() for target in TARGETS)


def test_a_new_run_ends_what_is_left_when_the_guard_was_killed_too(started, waiting_project):
    run, processes = started
    jobs = jobs_of(processes)
    guards = [process for process in processes if process not in jobs]
    assert ["reproduction.pipeline.guard" in process.cmdline() for process in guards] == [True]
    for process in (*guards, run):
        process.kill()
    run.wait()
    assert all(process.is_running() for process in jobs)

    (waiting_project / "go").touch()
    again = run_snakemake(waiting_project, *TARGETS)
    assert again.returncode == 0, again.stdout[-5000:]
    _, alive = psutil.wait_procs(jobs, timeout=PATIENCE)
    assert alive == []


def test_the_guard_of_a_finished_run_leaves(waiting_project):
    (waiting_project / "go").touch()
    finished = run_snakemake(waiting_project, TARGETS[0])
    assert finished.returncode == 0, finished.stdout[-5000:]
    place = str(Path(waiting_project).resolve())

    def guards():
        found = (process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"]))
        return [line for line in found if any(part.startswith(f"{place}:") for part in line)]

    wait_until(lambda: not guards())
    assert guards() == []
