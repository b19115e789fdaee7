"""The commands `ermlab exhibits` and `ermlab data` of a clone."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ermlab.cli.app import Commands
from reproduction import cli
from reproduction.claims.exhibits import load_exhibits
from reproduction.claims.rows import suggestion

ROOT = Path(__file__).parents[2]
GROUP = Commands(commands={"exhibits": cli.exhibits, "data": cli.data}, name="ermlab")


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setattr("ermlab.cli.app.FROM_CLONE", {})  # the commands of this clone, whatever is installed

    def invoke(*args, code=0):
        result = CliRunner().invoke(GROUP, [str(arg) for arg in args])
        assert result.exit_code == code, (result.output, result.exception)
        return result

    return invoke


def test_all_exhibits_are_listed(run):
    rows = json.loads(run("exhibits", "list", "--json").stdout)
    known = [exhibit.id for exhibit in load_exhibits(ROOT / "config/exhibits.yaml").exhibits]
    assert [row["id"] for row in rows] == known
    assert all(row["command"] == f"make figure ID={row['id']}" for row in rows)
    assert {row["status"] for row in rows} <= {"built", "not built yet"}
    text = run("exhibits").stdout
    assert all(row["id"] in text and row["title"] in text for row in rows)
    part = json.loads(run("exhibits", "list", "--part", "inference", "--json").stdout)
    assert 0 < len(part) < len(known)
    assert "did you mean inference?" in run("exhibits", "list", "--part", "inferenc", code=1).stderr


def test_an_exhibit_that_was_built(run, tmp_path, monkeypatch):
    for name in ("config", "reports/figures", "workflow/schemas"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(ROOT / "workflow/schemas/exhibits.schema.yaml", tmp_path / "workflow/schemas")
    shutil.copy(ROOT / "config/exhibits.yaml", tmp_path / "config")
    monkeypatch.setattr(cli, "ROOT", tmp_path)
    (tmp_path / "reports/figures/T-fig-2.1.svg").write_text("<svg/>")
    assert "not built yet" in run("exhibits", "show", "T-fig-2.1").stdout
    (tmp_path / "reports/figures/T-fig-2.1.csv").write_text("x")
    shown = json.loads(run("exhibits", "show", "T-fig-2.1", "--json").stdout)
    assert shown["status"] == "built"
    assert shown["notebook"] == "notebooks/20_structured_losses.ipynb"
    assert shown["files"] == ["reports/figures/T-fig-2.1.svg", "reports/figures/T-fig-2.1.csv"]


def test_a_wrong_id_suggests_the_nearest(run):
    message = run("exhibits", "show", "t-fgi-2.1", code=1).stderr
    assert message.endswith("did you mean T-fig-2.1?\n")
    assert len(message.splitlines()) == 1
    script = ROOT / "workflow/reproduction/claims/section_of.py"
    done = subprocess.run(
        [sys.executable, script, "T-fig2.1"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.endswith("did you mean T-fig-2.1?\n")
    assert suggestion("zzz", ["alpha", "beta"]) == ""


def test_data_are_listed_fetched_and_verified(run, tmp_path):
    raw = ("--raw", tmp_path)
    rows = {row["name"]: row for row in json.loads(run("data", "list", "--json", *raw).stdout)}
    assert rows["letters"]["status"] == "absent"
    assert "uiuc_cars" in run("data").stdout
    assert "uiuc_cars: absent" in run("data", "verify", "uiuc_cars", *raw, code=1).stdout
    args = ("data", "fetch", "uiuc_cars", "--policy", "simulated", "--size", "smoke", *raw)
    (receipt,) = json.loads(run(*args, "--json").stdout)
    assert receipt["kind"] == "simulated"
    assert run("data", "verify", *raw).stdout == "uiuc_cars: simulated\n"
    next((tmp_path / "uiuc_cars").glob("*.txt")).write_text("changed")
    assert "other files" in run("data", "verify", *raw, code=1).stdout
    assert "uiuc_cars            present" in run("data", "list", *raw).stdout


def test_an_unknown_data_set_suggests_the_nearest(run, tmp_path):
    for command in (("fetch", "letter"), ("verify", "letter"), ("fetch", "letters", "letter")):
        message = run("data", *command, "--raw", tmp_path, code=1).stderr
        assert message.endswith("did you mean letters?\n")
    assert list(tmp_path.iterdir()) == []


def test_data_that_no_source_has(run, tmp_path, monkeypatch):
    monkeypatch.delenv("ERMLAB_MIRROR", raising=False)
    empty = tmp_path / "mirror"
    empty.mkdir()
    monkeypatch.setattr(
        "reproduction.acquire.registry.POLICIES", {"real": ("mirror",), "auto": ("mirror",), "simulated": ()}
    )
    args = ("data", "fetch", "uiuc_cars", "--mirror", empty, "--raw", tmp_path / "raw")
    assert "the mirror folder has no uiuc_cars.tar.xz" in run(*args, code=1).stdout
    assert "no source has the real data" in run(*args, "--policy", "real", code=1).stderr


def test_the_examples_in_the_help_work(run, tmp_path, monkeypatch):
    lines = []
    for command in (cli.exhibits, cli.data):
        for path in (command, *command.commands.values()):
            text = click.Context(path, info_name=path.name, terminal_width=200).get_help()
            lines += re.findall(r"^\s+ermlab (.*)$", text.partition("Example:")[2], flags=re.MULTILINE)
    assert len(lines) >= 7
    for line in lines:
        words = shlex.split(line)
        if words[1] == "fetch":
            words += ["--size", "smoke"]
        run(*words, *(["--raw", tmp_path] if words[0] == "data" and len(words) > 1 else []))
