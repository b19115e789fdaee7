"""The manual: the code of its pages runs, it builds without a warning, links and names resolve."""

from pathlib import Path

import nbformat
import pytest
from site_links import dead_links
from sphinx.util.inventory import InventoryFile

import ermlab
from reproduction.book.api_reference import exported_names
from reproduction.book.build_manual import build_manual
from reproduction.book.manual import COMPILING, manual_pages, python_blocks, run_pages

ROOT = Path(__file__).parents[2]
PAGES = {str(page.relative_to(ROOT / "docs")): page for page in manual_pages(ROOT / "docs")}
PAGES_WITH_CODE = [name for name, page in PAGES.items() if python_blocks(page.read_text())]
TUTORIALS = [name for name in PAGES if name.startswith("tutorials/") and not name.endswith("index.md")]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("executed")


@pytest.mark.parametrize("name", PAGES_WITH_CODE)
def test_the_code_of_a_page_runs_without_warnings(name, cache, monkeypatch):
    monkeypatch.chdir(ROOT)
    (executed,) = run_pages([PAGES[name]], cache)
    outputs = [output for cell in nbformat.read(executed, 4).cells for output in cell.get("outputs", [])]
    errors = [output.text for output in outputs if output.get("name") == "stderr"]
    lines = [line for text in errors for line in text.splitlines() if not line.startswith(COMPILING)]
    assert lines == []


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_says_what_a_newcomer_asks(name):
    text = PAGES[name].read_text()
    for wanted in ("| **Input** |", "| **Output** |", "| **Judge by** |", "| **Limits** |"):
        assert wanted in text
    assert text.index("## Choose the parameters") < text.index("## Now with your files")
    assert python_blocks(text.split("## Now with your files")[1])


@pytest.fixture(scope="module")
def manual(cache, tmp_path_factory):
    """The built manual: read it, do not change it. Pages that ran before are not run again."""
    folder = tmp_path_factory.mktemp("manual")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        build_manual(folder / "html", folder / "source", cache=cache)
    return folder / "html"


def test_links_within_the_manual_resolve(manual):
    assert dead_links(manual) == []


def test_a_dead_link_is_found(manual):
    page = manual / "broken.html"
    page.write_text(
        '<a href="nowhere.html">x</a> <a href="index.html#nowhere">x</a> <a href="index.html">x</a>'
    )
    try:
        assert dead_links(manual) == ["broken.html: index.html#nowhere", "broken.html: nowhere.html"]
    finally:
        page.unlink()


def test_every_exported_name_has_an_entry(manual):
    with (manual / "objects.inv").open("rb") as stream:
        inventory = InventoryFile.load(stream, "", lambda base, path: path)
    entries = {name for kind, names in inventory.items() if kind.startswith("py:") for name in names}
    packages = exported_names()
    assert {f"{package}.{name}" for package, names in packages.items() for name in names} <= entries
    assert set(ermlab.__all__) <= {name for names in packages.values() for name in names}


def test_the_help_of_every_command_is_shown(manual):
    text = (manual / "howto/command.html").read_text()
    for name in ("rank train", "detect predict", "segment train", "track", "decode", "graphs", "taxonomy"):
        assert f"Usage: ermlab {name} " in text, name


def test_names_on_pages_lead_to_the_reference(manual):
    text = (manual / "tutorials/rank.html").read_text()
    assert 'href="../api/ranking.html#ermlab.ranking.RankingSVM"' in text


def test_tutorials_show_what_their_code_draws(manual):
    for name in ("detect", "equivariant", "segment", "track", "decode_fmri", "taxonomies"):
        assert "<img" in (manual / f"tutorials/{name}.html").read_text(), name


def test_pages_load_nothing_from_elsewhere(manual):
    for path in manual.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for attribute in ('src="http', '<link rel="stylesheet" href="http', "@import"):
            assert attribute not in text, path
