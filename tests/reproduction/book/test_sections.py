"""A section's page: the notebook dressed for reading, then the claims and the files."""

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from small_run import CERTAIN

from ermlab.exceptions import DataError
from reproduction.book.assemble import stamp, write_sources
from reproduction.book.run import Run
from reproduction.book.sections import write_section
from reproduction.claims.exhibits import Catalogue, Exhibit, Part, Section

FIGURE = Exhibit("T-fig-2.1", "losses", "figure", "Two bounds", "curves")
TABLE = Exhibit("T-tab-2.2", "losses", "table", "Their values", "numbers")
LOSSES = Section("losses", "part", "Losses", "About losses.", "20_losses", datasets=("cars", "flowers"))
LATER = Section("later", "part", "Later", "About B* and $x$.")
PROVENANCE = {
    "code": None,
    "python": "3.11",
    "packages": {},
    "config": {},
    "seeds": [],
    "machine": {
        "cores": 1,
        "memory_bytes": None,
        "processor": "p",
        "architecture": "a",
        "system": "s",
        "release": "r",
    },
    "run": {"finished": "now", "rules": []},
}


def claim(exhibit, status):
    return {
        "id": f"{exhibit}.{status.replace(' ', '-')}",
        "exhibit": exhibit,
        "text": "It holds.",
        "source": "page 1",
        "published": 1,
        "ours": {},
        **CERTAIN,
        "status": status,
        "reason": None,
        "badge": "no data",
        "datasets": {},
        "basis": "as in the source",
        "departures": [],
    }


@pytest.fixture
def run(tmp_path):
    """A run with one section told (a figure built, a table not) and one to come."""
    picture = new_output("display_data", {"image/svg+xml": "<svg/>"})
    notebook = new_notebook(
        cells=[
            new_markdown_cell("# Losses\nProse.\n\n\\begin{align}\nx &= y\n\\end{align}"),
            new_code_cell("first = 1"),
            new_code_cell("import numpy"),
            new_code_cell('draw("T-fig-2.1")', outputs=[picture]),
            new_code_cell('draw("T-fig-2.1") # T-tab-2.2', outputs=[picture]),
            new_markdown_cell("More prose."),
            new_code_cell("last = 1"),
        ]
    )
    for folder in ("notebooks", "figures"):
        (tmp_path / folder).mkdir()
    nbformat.write(notebook, tmp_path / "notebooks/20_losses.ipynb")
    for file in FIGURE.outputs:
        (tmp_path / file).write_text("x,y\n")
    return Run(
        catalogue=Catalogue((Part("part", "A part"),), (LOSSES, LATER), (FIGURE, TABLE)),
        claims=[claim("T-fig-2.1", "reproduced"), claim("T-tab-2.2", "not tested")],
        references={},
        errata=(),
        datasets={},
        receipts={"cars": {"kind": "real"}, "flowers": {"kind": "real"}},
        provenance=PROVENANCE,
        reports=tmp_path,
    )


def told_cells(run, folder):
    return nbformat.read(write_section(run, LOSSES, folder), as_version=4).cells


def test_place_and_badges_stand_below_the_title(run, tmp_path):
    first = told_cells(run, tmp_path / "book")[0].source
    title, place, badges, rest = first.split("\n\n", 3)
    assert title == "# Losses"
    assert "A part · Losses" in place
    assert "1 reproduced" in badges
    assert "1 not tested" in badges
    assert "real data" in badges
    assert rest.startswith("Prose.")


def test_one_simulated_data_set_makes_the_section_simulated(run):
    assert run.badge(LOSSES) == "real data"
    run.receipts["flowers"]["kind"] = "simulated"
    assert run.badge(LOSSES) == "simulated data"
    assert run.badge(LATER) == "no data"


def test_data_without_a_receipt_count_for_the_badge(run):
    run.claims[0]["datasets"] = {"digits": "simulated"}
    assert run.badge(LOSSES) == "simulated data"


def test_the_badge_of_an_exhibit_is_that_of_its_own_data(run):
    run.claims[1]["badge"] = None
    assert run.exhibit_badge(FIGURE) == "no data"
    assert run.exhibit_badge(TABLE) == "real data"
    run.claims[0]["datasets"] = {"cars": "simulated"}
    assert run.exhibit_badge(FIGURE) == "simulated data"


def test_equations_get_no_random_label(run, tmp_path):
    assert "\\begin{align*}\nx &= y\n\\end{align*}" in told_cells(run, tmp_path / "book")[0].source


def test_code_is_folded_and_pictures_are_described(run, tmp_path):
    code = [cell for cell in told_cells(run, tmp_path / "book") if cell.cell_type == "code"]
    assert [cell.metadata["tags"] for cell in code] == [["hide-input"], ["hide-input"], ["hide-cell"]]
    assert code[0].metadata["mystnb"]["image"]["alt"] == "Two bounds"
    assert "mystnb" not in code[2].metadata


def test_code_that_shows_nothing_joins_the_code_after_it(run, tmp_path):
    code = [cell for cell in told_cells(run, tmp_path / "book") if cell.cell_type == "code"]
    assert [cell.source for cell in code] == [
        'first = 1\n\nimport numpy\n\ndraw("T-fig-2.1")',
        'draw("T-fig-2.1") # T-tab-2.2',
        "last = 1",
    ]


def test_an_exhibit_has_one_anchor_where_it_is_first_shown(run, tmp_path):
    cells = told_cells(run, tmp_path / "book")
    source = "\n".join(cell.source for cell in cells)
    assert source.count('id="T-fig-2.1"') == 1
    assert source.count('id="T-tab-2.2"') == 1
    place = next(i for i, cell in enumerate(cells) if 'id="T-fig-2.1"' in cell.source)
    assert cells[place + 1].source.endswith('draw("T-fig-2.1")')
    assert 'id="T-tab-2.2"' in cells[-1].source


def test_files_are_linked_only_where_they_are(run, tmp_path):
    ending = told_cells(run, tmp_path / "book")[-1].source
    assert 'href="../figures/T-fig-2.1.svg"' in ending
    assert 'href="../figures/T-fig-2.1.csv"' in ending
    assert "T-tab-2.2.csv" not in ending
    assert "to come" in ending
    assert 'href="../notebooks/20_losses.ipynb"' in ending


def test_a_notebook_without_a_title_gets_the_section_s(run, tmp_path):
    nbformat.write(new_notebook(cells=[new_markdown_cell("No title.")]), run.notebook(LOSSES))
    assert told_cells(run, tmp_path / "book")[0].source.startswith("# Losses\n")


@pytest.mark.parametrize(
    "text", ["no JSON", '{"cells": 3, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}']
)
def test_a_damaged_notebook_is_named(run, tmp_path, text):
    run.notebook(LOSSES).write_text(text)
    with pytest.raises(DataError, match=r"20_losses\.ipynb is not a notebook"):
        write_section(run, LOSSES, tmp_path / "book")


def test_a_section_without_its_notebook_is_still_to_come(run, tmp_path):
    run.notebook(LOSSES).unlink()
    page = write_section(run, LOSSES, tmp_path / "book")
    text = page.read_text()
    assert page.suffix == ".md"
    assert "Still to come" in text
    assert 'id="T-tab-2.2"' in text


def test_sources_are_written_afresh(run, tmp_path):
    folder = tmp_path / "book"
    folder.mkdir()
    (folder / "old.md").write_text("# Of an older run")
    write_sources(run, folder)
    pages = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert pages == {
        "index.md",
        "data.md",
        "errata.md",
        "provenance.md",
        "workflow.md",
        "sections/losses.ipynb",
        "sections/later.md",
    }
    index = (folder / "index.md").read_text()
    assert "Later (to come) <sections/later>" in index
    assert "1 <small>of 2 built</small>" in index
    assert Path(folder / "sections/later.md").read_text().startswith("# Later")


def test_the_stamp_names_commit_and_scale(run):
    assert stamp(run) == "no commit · scale unknown"
    run.provenance.update(code={"commit": "0123456789abcdef", "dirty": True}, config={"scale": "demo"})
    try:
        assert stamp(run) == "0123456+ · scale demo"
    finally:
        run.provenance.update(code=None, config={})
