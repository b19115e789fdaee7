"""The project's own promises: pins, dependency table, environment files."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from reproduction.book.manual import python_blocks

ROOT = Path(__file__).parents[2]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.fixture(scope="module")
def named():
    """The packages that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    lists = [project["dependencies"], *extras]
    return {normal(re.match(r"[\w.-]+", text).group()) for names in lists for text in names} - {"ermlab"}


@pytest.fixture(scope="module")
def locked():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = (re.match(r"([\w.-]+)==([^ ;]+)", line) for line in lines)
    return {normal(pin.group(1)): pin.group(2) for pin in pins if pin}


def test_every_named_package_is_pinned(named, locked):
    assert named <= set(locked)


def test_the_lock_has_a_hash_for_every_pin_and_no_address():
    text = (ROOT / "requirements.lock").read_text()
    blocks = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert len(blocks) > 100
    assert all("--hash=sha256:" in block for block in blocks)
    assert "://" not in text
    assert "index" not in re.sub(r"#.*", "", text)


def test_conda_users_get_the_same_versions(locked):
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    pip = next(item["pip"] for item in environment["dependencies"] if isinstance(item, dict))
    pins = dict(re.match(r"([\w.-]+)==([^ ;]+)", line).groups() for line in pip if "==" in line)
    pins = {normal(name): version for name, version in pins.items()}
    assert pins == locked


def test_every_dependency_has_a_reason(named):
    table = (ROOT / "docs/dependencies.md").read_text()
    listed = set()
    for row in re.findall(r"^\| (`[^|]+) \| (.+) \|$", table, flags=re.MULTILINE):
        assert len(row[1]) > 10, f"no reason for {row[0]}"
        listed |= {normal(name) for name in re.findall(r"`([\w.-]+)`", row[0])}
    assert listed == named


def test_no_package_index_is_named_in_the_project():
    forbidden = re.compile(r"index-url|find-links|://\S+/simple\b")
    endings = {".toml", ".lock", ".yml", ".yaml", ".md", ".smk", ".txt"}
    for path in [*ROOT.glob("*.*"), *(ROOT / "config").rglob("*"), *(ROOT / "workflow").rglob("*")]:
        if path.suffix in endings:
            assert not forbidden.search(path.read_text()), path


DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_files_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text()):
        assert (document.parent / target).exists(), target


def test_the_code_of_the_readme_runs():
    blocks = python_blocks((ROOT / "README.md").read_text())
    assert len(blocks) == 1
    exec(compile(blocks[0], "README.md", "exec"), {})


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_snakemake_is_called_where_make_has_installed_it(document):
    commands = re.findall(r"^\$ (.*snakemake.*)$", document.read_text(), flags=re.MULTILINE)
    assert [command for command in commands if ".venv/bin/snakemake" not in command] == []


def test_make_help_lists_every_target():
    makefile = (ROOT / "Makefile").read_text()
    done = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True)
    targets = set(re.search(r"^\.PHONY: (.+)$", makefile, flags=re.MULTILINE)[1].split())
    listed = set(re.findall(r"\bmake ([a-z-]+)", done.stdout))
    assert listed == targets - {"report"}


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 130
