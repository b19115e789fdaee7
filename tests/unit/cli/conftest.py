import json
import shutil

import command_workspaces
import pytest
from click.testing import CliRunner

from ermlab.cli import ermlab


@pytest.fixture(scope="session")
def templates(tmp_path_factory):
    """Return a function that makes the folder with the files of a command once."""
    made = {}
    scratch = tmp_path_factory.mktemp("scratch")

    def template(command):
        if command not in made:
            made[command] = tmp_path_factory.mktemp("template") / "files"
            made[command].mkdir()
            command_workspaces.make(command, made[command], scratch)
        return made[command]

    return template


@pytest.fixture
def workspace(templates, tmp_path, monkeypatch):
    """Return a function that copies the files of a command to a new folder, and changes to it."""

    def enter(command):
        folder = tmp_path / "workspace"
        shutil.copytree(templates(command), folder)
        monkeypatch.chdir(folder)
        return folder

    return enter


@pytest.fixture
def run():
    """Return a function that runs `ermlab` and returns its result; by default it must succeed."""

    def invoke(*args, code=0):
        result = CliRunner().invoke(ermlab, [str(arg) for arg in args])
        assert result.exit_code == code, (result.output, result.exception)
        return result

    return invoke


@pytest.fixture
def summary(run):
    """Return a function that runs `ermlab ... --json` and returns what it printed."""
    return lambda *args: json.loads(run(*args, "--json").stdout)


@pytest.fixture
def refusal(run):
    """Return a function that runs `ermlab` on bad data, and returns the only line that it printed."""

    def invoke(*args, code=1):
        result = run(*args, code=code)
        assert result.stdout == ""
        lines = [
            line for line in result.stderr.splitlines() if not line.startswith(("Warning:", "compiling"))
        ]
        assert len(lines) == 1 or code == 2
        assert lines[-1].startswith("Error: ")
        return lines[-1]

    return invoke
