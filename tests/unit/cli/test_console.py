"""What commands print: JSON, progress on a terminal, and nothing of it elsewhere."""

import io
import json
import time

import click
import numpy as np
import pytest

from ermlab._utils.progress import report
from ermlab.cli import _console
from ermlab.cli._console import Watched, bar, plain, show, working
from ermlab.cli._outputs import check_folder, writing_folder
from ermlab.exceptions import DataError


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Return a function that makes the standard error a terminal; not earlier, as pytest replaces it too."""

    def attach():
        screen = Terminal()
        monkeypatch.setattr("sys.stderr", screen)
        return screen

    return attach


def test_json_has_no_values_that_are_not_json(capsys):
    show({"a": np.float64(1.5), "b": np.arange(2), "c": np.nan, "d": [np.inf, None, True], 5: io}, "", True)
    text = capsys.readouterr().out
    assert json.loads(text, parse_constant=lambda name: pytest.fail(name)) == {
        "a": 1.5,
        "b": [0, 1],
        "c": None,
        "d": [None, None, True],
        "5": str(io),
    }
    assert plain(np.int64(3)) == 3


def test_a_status_line_shows_the_solver(terminal, monkeypatch):
    monkeypatch.setattr(_console, "_INTERVAL", 0.001)
    screen = terminal()
    with working("training"):
        report("iteration", 3, objective=1.25, relative_gap=0.5)
        for _ in range(1000):
            if "iteration 3" in screen.getvalue():
                break
            time.sleep(0.01)
    text = screen.getvalue()
    assert "training, 0 s: iteration 3, objective 1.25, relative gap 0.5" in text
    assert text.endswith("\r\x1b[K")
    report("iteration", 4)  # nobody listens any more


def test_a_bar_counts_items_once(terminal):
    screen = terminal()
    with bar(3, "reading") as progress:
        items = Watched(["a", "b", "c"], progress)
        assert list(items) == ["a", "b", "c"]
        assert items[0] == "a"
        assert items[1:] == ["b", "c"]
        assert progress.pos == 3
    assert "reading" in screen.getvalue()
    assert "100%" in screen.getvalue()


def test_nothing_is_shown_without_a_terminal(capsys):
    with working("training"), bar(2, "reading") as progress:
        report("iteration", 1)
        progress.update(2)
    assert capsys.readouterr() == ("", "")


def test_a_line_is_not_wider_than_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    status = _console._Status("a long name of what is being done", clock=lambda: 0.0)
    assert len(status.line()) == 19


def test_folders_are_complete_or_absent(tmp_path):
    target = tmp_path / "result"

    def write(error):
        with writing_folder(target) as folder:
            (folder / "a.txt").write_text("new")
            if error:
                raise click.Abort

    with pytest.raises(click.Abort):
        write(error=True)
    assert list(tmp_path.iterdir()) == []
    write(error=False)
    (target / "mine.txt").write_text("mine")
    (target / "a.txt").write_text("old")
    write(error=False)
    assert {path.name: path.read_text() for path in target.iterdir()} == {"a.txt": "new", "mine.txt": "mine"}
    with pytest.raises(DataError, match=r"there is a\.txt"):
        check_folder(target, force=False)
    assert check_folder(target, force=True) == target
    assert check_folder(tmp_path / "new", force=False) == tmp_path / "new"
    assert [path.name for path in tmp_path.iterdir()] == ["result"]
