"""The command `ermlab` as a whole: help, examples, exit codes, plugins, and what it imports."""

import os
import re
import shlex
import subprocess
import sys
import textwrap

import click
import pytest
from click.testing import CliRunner

from ermlab.cli import app, ermlab
from ermlab.cli._outputs import writing

ALL = app.COMMANDS


def tree(command, path=()):
    """Yield the path of each command and subcommand of the library."""
    yield (*path, command.name), command
    for child in getattr(command, "commands", {}).values():
        yield from tree(child, (*path, command.name))


EVERY = [item for command in ALL for item in tree(command)]


def example_lines(command):
    """Return the example in the help of a command, one line per call."""
    text = click.Context(command, info_name=command.name, terminal_width=200).get_help()
    return re.findall(r"^\s+(ermlab .*)$", text.partition("Example:")[2], flags=re.MULTILINE)


@pytest.mark.parametrize(("path", "command"), EVERY, ids=[" ".join(path) for path, _ in EVERY])
def test_the_example_in_the_help_works(path, command, workspace, run):
    folder = workspace(path[0])
    lines = example_lines(command)
    assert lines
    assert all(line.startswith(f"ermlab {' '.join(path)}") for line in lines)
    if path[-1] in ("predict", "evaluate"):  # which need a model
        run(*shlex.split(example_lines(dict(EVERY)[path[:1]])[0])[1:])
    before = set(folder.rglob("*"))
    for line in lines:
        assert run(*shlex.split(line)[1:]).stdout
    assert path[-1] == "evaluate" or set(folder.rglob("*")) > before
    assert not list(folder.rglob(".part*"))


@pytest.mark.parametrize(("path", "command"), EVERY, ids=[" ".join(path) for path, _ in EVERY])
def test_every_command_has_the_common_options(path, command):
    if isinstance(command, click.Group):
        return
    options = {name for parameter in command.params for name in parameter.opts}
    assert "--json" in options
    assert "--force" in options or path[-1] == "evaluate"


def test_help_imports_nothing_heavy():
    code = """
        import sys
        from ermlab.cli import ermlab
        try:
            ermlab(["--help"], prog_name="ermlab")
        except SystemExit as end:
            assert end.code == 0
        heavy = {"numba", "scipy", "sklearn", "numpy", "pandas", "matplotlib", "nibabel", "PIL", "highspy"}
        assert not heavy & set(sys.modules), heavy & set(sys.modules)
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Exit codes: 0 success, 1 bad data or a failure, 2 wrong usage." in done.stdout
    for name in ("rank", "detect", "segment", "track", "track-train", "decode", "graphs", "taxonomy", "data"):
        assert re.search(rf"^  {name} ", done.stdout, flags=re.MULTILINE)


def test_a_real_process(tmp_path):
    command = [sys.executable, "-m", "ermlab", "rank", "train", "absent.txt", "model.ranker"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("Error: absent.txt: No such file or directory; expected lines")
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_wrong_usage(run):
    assert "Did you mean 'decode'" in run("decoed", code=2).stderr
    assert "Missing argument" in run("rank", "train", code=2).stderr
    assert "No such option" in run("rank", "train", "a", "b", "--frce", code=2).stderr
    assert "is not a valid float" in run("rank", "train", "a", "b", "--C", "much", code=2).stderr


def test_without_a_clone_it_says_where_the_command_is(run, monkeypatch):
    monkeypatch.setattr(app, "entry_points", lambda **_: _NoEntryPoints())
    for name in ("exhibits", "data"):
        message = run(name, "list", "--json", code=1).stderr
        assert f"`ermlab {name}` needs the reproduction, which is in a clone of the repository" in message
        assert len(message.splitlines()) == 1


class _NoEntryPoints(list):
    names = frozenset()


def _installed(folder, entries, modules):
    """Write a distribution that adds commands to a folder."""
    info = folder / "plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ermlab.commands]\n" + "\n".join(entries) + "\n")
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))


def test_other_packages_add_commands(tmp_path):
    module = """
        import click

        @click.command()
        def hello():
            "Greet."
            click.echo("hello from a plugin")
        """
    _installed(
        tmp_path,
        ["hello = plugin_module:hello", "lost = plugin_absent:lost", "poor = plugin_poor:poor"],
        {"plugin_module": module, "plugin_poor": "import module_that_is_absent"},
    )
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}

    def call(*args):
        command = [sys.executable, "-m", "ermlab", *args]
        return subprocess.run(command, capture_output=True, text=True, env=environment)

    assert call("hello").stdout == "hello from a plugin\n"
    assert "hello" in call("--help").stdout
    for name, missing in (("lost", "plugin_absent"), ("poor", "module_that_is_absent")):
        done = call(name)
        assert done.returncode == 1
        assert done.stderr == f"Error: `ermlab {name}` needs {missing}\n"


def test_errors_and_warnings_take_one_line():
    @click.command()
    def fail():
        import warnings

        warnings.warn("first\nsecond", UserWarning, stacklevel=1)
        raise ValueError("a value\nof two lines")

    group = app.Commands(commands={"fail": fail})
    result = CliRunner().invoke(group, ["fail"])
    assert result.exit_code == 1
    assert result.stderr == "Warning: first second\nError: a value of two lines\n"
    silent = app.Commands(commands={"fail": click.Command("fail", callback=_out_of_memory)})
    assert CliRunner().invoke(silent, ["fail"]).stderr == "Error: MemoryError\n"


def _out_of_memory():
    raise MemoryError


def test_a_killed_command_leaves_no_file(tmp_path):
    code = """
        import os, signal, sys, time
        import click
        from pathlib import Path
        from ermlab.cli import app
        from ermlab.cli._outputs import writing, writing_folder

        @app.ermlab.command()
        def slow():
            with writing_folder(Path("folder")) as folder, writing(Path("file.txt")) as part:
                (folder / "one.txt").write_text("some")
                part.write_text("some")
                assert len(os.listdir()) == 2
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(60)

        app.main(["slow"])
        """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=tmp_path, timeout=50)
    assert done.returncode == 143
    assert list(tmp_path.iterdir()) == []


def test_an_error_while_writing_keeps_the_old_file(tmp_path):
    path = tmp_path / "result.csv"
    path.write_text("old")

    def write():
        with writing(path) as part:
            part.write_text("half")
            raise ValueError("a bad row")

    with pytest.raises(ValueError, match="a bad row"):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_name_of_the_group():
    assert ermlab.name == "ermlab"
    assert set(app.FROM_CLONE) <= set(ermlab.commands)
