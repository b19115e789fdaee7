"""Assemble the pages that Sphinx reads, and the files that they link to."""

import shutil
from pathlib import Path

from reproduction.book.appendices import (
    REPORT_PLACEHOLDER,
    WORKFLOW_REPORT,
    errata_page,
    provenance_page,
    workflow_page,
)
from reproduction.book.data import data_page
from reproduction.book.front import front_page
from reproduction.book.run import Run
from reproduction.book.sections import write_section


def write_sources(run: Run, folder: str | Path, *, manual: bool = False) -> None:
    """Write every page of the book into ``folder``, which is emptied first.

    With ``manual``, the front page links to the manual, which `write_manual` writes into ``folder/manual``.
    """
    folder = Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for section in run.catalogue.sections:
        write_section(run, section, folder)
    pages = {
        "index": front_page(run, manual=manual),
        "data": data_page(run),
        "errata": errata_page(run),
        "provenance": provenance_page(run),
        "workflow": workflow_page(),
    }
    for name, page in pages.items():
        (folder / f"{name}.md").write_text(page, encoding="utf-8")


def add_files(run: Run, html: str | Path) -> None:
    """Copy the files that the pages link to: figures, tables, notebooks and placeholders."""
    html = Path(html)
    executed = [run.notebook(section) for section in run.catalogue.sections if run.is_executed(section)]
    built = [exhibit for exhibit in run.catalogue.exhibits if run.is_built(exhibit)]
    shown = [run.reports / file for exhibit in built for file in exhibit.outputs]
    for path in executed + shown:
        target = html / path.relative_to(run.reports)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    (html / WORKFLOW_REPORT).write_text(REPORT_PLACEHOLDER, encoding="utf-8")


def stamp(run: Run) -> str:
    """Return the line under the book's name: which commit, at which scale."""
    code = run.provenance["code"]
    commit = "no commit" if code is None else code["commit"][:7] + ("+" if code["dirty"] else "")
    return f"{commit} · scale {run.provenance['config'].get('scale', 'unknown')}"
