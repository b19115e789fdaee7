"""The project's own promises: pins, dependency table, environment files."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

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


DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_files_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
        assert (document.parent / target).exists(), target


@pytest.mark.parametrize(
    ("document", "block"),
    [
        (document.name, block)
        for document in DOCUMENTS
        for block in re.findall(
            r"^```python\n(.*?)^```", document.read_text(), flags=re.DOTALL | re.MULTILINE
        )
    ],
)
def test_the_code_of_the_documentation_runs(document, block):
    exec(compile(block, document, "exec"), {})


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 130
