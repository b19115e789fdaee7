"""Caches of users whose home folder cannot be written; a file in its place is one even for root."""

import os
from pathlib import Path

import pytest

from reproduction.pipeline.caches import use_writable_caches

NAMES = ("XDG_CACHE_HOME", "MPLCONFIGDIR")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder that is not there yet, and none of the variables."""
    for name in NAMES:
        monkeypatch.setenv(name, "")  # so that it is put back in the end, even if it is set in between
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_home_that_can_be_written_is_used(home, tmp_path):
    home.mkdir()
    use_writable_caches(tmp_path)
    assert not any(name in os.environ for name in NAMES)


def test_caches_go_to_the_project_if_the_home_cannot_be_written(home, tmp_path, monkeypatch):
    home.touch()
    monkeypatch.chdir(tmp_path)
    use_writable_caches()
    assert [os.environ[name] for name in NAMES] == [f"{tmp_path}/.cache", f"{tmp_path}/.cache/matplotlib"]


def test_a_cache_of_the_user_elsewhere_is_used_if_it_can_be_written(home, tmp_path, monkeypatch):
    home.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "mine"))
    use_writable_caches(tmp_path)
    assert Path(os.environ["XDG_CACHE_HOME"]).name == "elsewhere"
    (tmp_path / "blocked").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "blocked"))
    use_writable_caches(tmp_path)
    assert Path(os.environ["XDG_CACHE_HOME"]).name == ".cache"
    assert Path(os.environ["MPLCONFIGDIR"]).name == "mine"


def test_caches_of_a_user_whose_home_nobody_knows(home, tmp_path, monkeypatch):
    """Without HOME, for a user in no list of users, "~" stays as it is."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.chdir(tmp_path)
    use_writable_caches()
    assert os.environ["XDG_CACHE_HOME"] == f"{tmp_path}/.cache"
