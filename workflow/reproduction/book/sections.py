"""Write one page per section: the executed notebook, then its exhibits and their files."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from ermlab.exceptions import DataError
from reproduction.book import markup
from reproduction.book.claim_table import claims_table
from reproduction.book.run import Run
from reproduction.claims.exhibits import Exhibit, Section

# MyST gives a numbered environment a random label, another one in each build and of no use to a writer.
_NUMBERED = re.compile(r"\\(begin|end)\{(equation|align|alignat|flalign|gather|multline)\}")


def page_name(section: Section) -> str:
    """Return the name of a section's page, without a suffix, from the top of the book."""
    return f"sections/{section.id}"


def exhibit_place(section: Section, exhibit: Exhibit) -> str:
    """Return the address of an exhibit from the top of the book."""
    return f"{page_name(section)}.html#{exhibit.id}"


def write_section(run: Run, section: Section, folder: Path) -> Path:
    """Write the page of ``section`` into ``folder``, as a notebook if the run has one, and return it."""
    page = folder / page_name(section)
    page.parent.mkdir(parents=True, exist_ok=True)
    if not run.is_executed(section):
        page = page.with_suffix(".md")
        page.write_text(_page_to_come(run, section), encoding="utf-8")
        return page
    notebook = _read_notebook(run.notebook(section))
    _put_title_first(notebook, section)
    _put_place_and_badges_below_title(notebook, run, section)
    _join_silent_code(notebook)
    anchored = _dress_cells(notebook, run.exhibits_in(section))
    notebook.cells.append(_markdown(_ending(run, section, anchored), "exhibits-and-files"))
    page = page.with_suffix(".ipynb")
    nbformat.write(notebook, page)
    return page


def _read_notebook(path: Path) -> NotebookNode:
    try:
        return nbformat.read(path, as_version=4)
    # nbformat joins lines before it validates, and trips over what is not even a list of cells.
    except (nbformat.reader.NotJSONError, nbformat.ValidationError, AttributeError, TypeError) as error:
        raise DataError(f"{path} is not a notebook ({error}): delete it and run `make` again") from error


def _markdown(source: str, cell_id: str) -> NotebookNode:
    return nbformat.v4.new_markdown_cell(source, id=cell_id)


def _put_title_first(notebook: NotebookNode, section: Section) -> None:
    first = notebook.cells[0] if notebook.cells else None
    if first is None or first.cell_type != "markdown" or not first.source.lstrip().startswith("# "):
        notebook.cells.insert(0, _markdown(f"# {markup.text(section.title)}", "section-title"))


def _put_place_and_badges_below_title(notebook: NotebookNode, run: Run, section: Section) -> None:
    """Insert the section, the verdicts on its claims and the kind of data below the title."""
    tally = run.tally(run.claims_of(*run.exhibits_in(section)))
    badges = [markup.status_badge(status, count) for status, count in tally.items() if count]
    badges.append(markup.data_badge(run.badge(section)))
    title, _, rest = notebook.cells[0].source.lstrip().partition("\n")
    place = f"{run.catalogue.part(section.part).title} · {section.title}"
    notebook.cells[0].source = "\n\n".join(
        [
            title,
            f'<p class="place">{markup.html_text(place)}</p>',
            f'<p class="badges">{" ".join(badges)}</p>',
            rest.lstrip(),
        ]
    )


def _join_silent_code(notebook: NotebookNode) -> None:
    """Merge code cells without output into the next one, so that there are fewer folded cells."""
    joined: list[NotebookNode] = []
    for cell in notebook.cells:
        before = joined[-1] if joined else None
        if before is not None and before.cell_type == cell.cell_type == "code" and not before.outputs:
            cell.source = f"{before.source}\n\n{cell.source}"
            joined.pop()
        joined.append(cell)
    notebook.cells = joined


def _dress_cells(notebook: NotebookNode, exhibits: Sequence[Exhibit]) -> set[str]:
    """Fold the code, describe the pictures, and insert an anchor before the cell that first shows an exhibit.

    Return the ids of the exhibits that now have an anchor.
    """
    anchored: set[str] = set()
    dressed = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _NUMBERED.sub(r"\\\1{\2*}", cell.source)
        elif cell.cell_type == "code":
            made = [exhibit for exhibit in exhibits if f'"{exhibit.id}"' in cell.source]
            _dress_code(cell, made)
            new = [exhibit.id for exhibit in made if exhibit.id not in anchored]
            if new:
                dressed.append(_markdown("".join(map(markup.anchor, new)), f"place-{len(dressed)}"))
                anchored.update(new)
        dressed.append(cell)
    notebook.cells = dressed
    return anchored


def _dress_code(cell: NotebookNode, made: Sequence[Exhibit]) -> None:
    """Fold the code of a cell; its picture is described by the titles of the exhibits it makes."""
    cell.metadata.setdefault("tags", []).append("hide-input" if cell.outputs else "hide-cell")
    if made and _shows_picture(cell):
        titles = "; ".join(exhibit.title for exhibit in made)
        cell.metadata["mystnb"] = {"image": {"alt": titles}}


def _shows_picture(cell: NotebookNode) -> bool:
    return any(kind.startswith("image/") for output in cell.outputs for kind in output.get("data", {}))


def _page_to_come(run: Run, section: Section) -> str:
    exhibits = run.exhibits_in(section)
    lines = [
        f"# {markup.text(section.title)}",
        "",
        markup.text(section.summary),
        "",
        '<p class="coming"><strong>Still to come.</strong> This section is not part of this run: below '
        "are its exhibits with the published values, and the claims that wait for them.</p>",
        "",
        *_exhibits_lines(run, exhibits, unanchored={exhibit.id for exhibit in exhibits}),
        *_claims_lines(run, exhibits),
    ]
    return "\n".join(lines)


def _ending(run: Run, section: Section, anchored: set[str]) -> str:
    """Return what follows the notebook: the exhibits with the published values and the files."""
    exhibits = run.exhibits_in(section)
    unanchored = {exhibit.id for exhibit in exhibits} - anchored
    name = run.notebook(section).name
    lines = [
        *_exhibits_lines(run, exhibits, unanchored),
        f'<p>This page is a notebook: <a href="../notebooks/{name}" download>{name}</a>.</p>',
    ]
    return "\n".join(lines)


def _claims_lines(run: Run, exhibits: Sequence[Exhibit]) -> list[str]:
    claims = run.claims_of(*exhibits)
    return ["## Published and ours", "", claims_table(claims, run.references)] if claims else []


def _exhibits_lines(run: Run, exhibits: Sequence[Exhibit], unanchored: set[str]) -> list[str]:
    return ["## Exhibits", "", _exhibits_table(run, exhibits, unanchored)] if exhibits else []


def _exhibits_table(run: Run, exhibits: Iterable[Exhibit], unanchored: set[str]) -> str:
    rows = []
    for exhibit in exhibits:
        anchor = markup.anchor(exhibit.id) if exhibit.id in unanchored else ""
        rows.append(
            [
                f"{anchor}{markup.text(exhibit.id)}",
                markup.text(exhibit.title),
                markup.text(markup.number(exhibit.published)),
                _downloads(run, exhibit, "../"),
            ]
        )
    return markup.table(["Exhibit", "What it shows", "Published", "Files"], rows, "files")


def _downloads(run: Run, exhibit: Exhibit, up: str) -> str:
    """Return links to an exhibit's files, which lie beside the pages as they do in ``reports``."""
    if not run.is_built(exhibit):
        return "to come"
    links = [
        f'<a href="{up}{markup.html_text(file)}" download>{Path(file).suffix[1:].upper()}</a>'
        for file in exhibit.outputs
    ]
    return f'<span class="downloads">{" ".join(links)}</span>'
