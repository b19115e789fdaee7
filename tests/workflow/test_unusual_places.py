"""The workflow of users without a home folder that can be written, in folders with unusual names."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from conftest import copy_project, snakemake_command

FIGURE = ("--config", "scale=smoke", "--", "T-fig-2.1")
NOBODY = 65534


def run(project, *arguments, home, **options):
    """Run Snakemake with a home folder, None for none, and without other places that a user may have set."""
    private = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR", "NUMBA_CACHE_DIR", "IPYTHONDIR")
    environment = {name: value for name, value in os.environ.items() if name not in private}
    if home is not None:
        environment["HOME"] = str(home)
    return subprocess.run(
        snakemake_command(*arguments),
        cwd=project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )


def test_a_figure_without_a_writable_home_in_a_folder_with_blanks_and_umlauts(tmp_path):
    project = copy_project(tmp_path / "Grüße an 'alle' & $HOME")
    # A file in place of the folder cannot be written to even by root.
    home = tmp_path / "home"
    home.touch()
    finished = run(project, *FIGURE, home=home)
    assert finished.returncode == 0, finished.stdout[-5000:]
    assert (project / "reports/figures/T-fig-2.1.svg").is_file()
    assert (project / ".cache/snakemake").is_dir()
    # Jobs inherit the places: Matplotlib would tell of a temporary one in the log.
    assert (project / ".cache/matplotlib").is_dir()
    assert "temporary" not in "".join(path.read_text() for path in (project / "logs").glob("*.log"))


def test_a_plan_without_a_home(project):
    planned = run(project, "--dry-run", *FIGURE, home=None)
    assert planned.returncode == 0, planned.stdout[-5000:]
    assert "evaluate" in planned.stdout


def nobody_runs_python() -> bool:
    command = [sys.executable, "-c", "import ermlab"]
    try:
        return (
            subprocess.run(command, user=NOBODY, group=NOBODY, extra_groups=[], check=False).returncode == 0
        )
    except PermissionError:
        return False


@pytest.mark.skipif(os.getuid() != 0, reason="only root can run a test as another user")
def test_a_plan_of_a_user_who_may_write_to_the_project_alone():
    if not nobody_runs_python():
        pytest.skip("the environment is in a folder of root alone")
    # Folders of pytest are those of one user.
    with tempfile.TemporaryDirectory() as temporary:
        project = copy_project(Path(temporary) / "project")
        for path in (Path(temporary), project, *project.rglob("*")):
            shutil.chown(path, NOBODY, NOBODY)
        planned = run(project, "--dry-run", *FIGURE, home="/", user=NOBODY, group=NOBODY, extra_groups=[])
        assert planned.returncode == 0, planned.stdout[-5000:]
        assert (project / ".cache/snakemake").is_dir()
