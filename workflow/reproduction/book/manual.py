"""Assemble the manual: the pages of ``docs``, run and linked to the API reference.

A page is Markdown with blocks of Python, which share one namespace. `write_manual` runs each page with such
blocks as a notebook, so that the site shows what they print and draw.
"""

import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import nbformat
import papermill
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from reproduction.book.api_reference import write_api_reference
from reproduction.book.command_reference import PLACE, command_help
from reproduction.book.manual_links import link_names, page_links
from reproduction.pipeline.digest import Library
from reproduction.pipeline.notebook import execute_notebook

DOCS = Path("docs")
CACHE = Path(".cache/manual")
#: How the library announces that it compiles.
COMPILING = "compiling ermlab."

_PYTHON = re.compile(r"^```python\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
_PAGE_LINK = re.compile(r"(?<=\]\()([\w./-]+)\.md(?=[)#])")


def manual_pages(docs: Path = DOCS) -> list[Path]:
    """Return the pages of the manual, sorted."""
    return sorted(docs.rglob("*.md"))


def python_blocks(text: str) -> list[str]:
    """Return the blocks of Python of a page."""
    return _PYTHON.findall(text)


def write_manual(
    folder: str | Path,
    *,
    docs: str | Path = DOCS,
    cache: str | Path = CACHE,
    run_code: bool = True,
    n_jobs: int = 2,
) -> None:
    """Write the sources of the manual into ``folder``: pages, run as notebooks, pictures and API reference.

    Parameters
    ----------
    folder : path
        Where to write, made if missing.
    docs : path
        The pages and their pictures.
    cache : path
        Executed pages are kept here and used again while the page and the code that it imports stay the same.
    run_code : bool
        Whether to run the blocks of Python; without, the site shows the code alone.
    n_jobs : int
        Number of pages that run at the same time.
    """
    folder, docs = Path(folder), Path(docs)
    pages = manual_pages(docs)
    with_code = [page for page in pages if run_code and python_blocks(page.read_text(encoding="utf-8"))]
    executed = dict(zip(with_code, run_pages(with_code, cache, n_jobs), strict=True))
    for source in sorted(path for path in docs.rglob("[!.]*") if path.is_file()):
        target = folder / source.relative_to(docs)
        target.parent.mkdir(parents=True, exist_ok=True)
        if source not in pages:
            shutil.copyfile(source, target)
            continue
        text = _with_help(source.read_text(encoding="utf-8"))
        links = page_links(python_blocks(text))
        if source in executed:
            notebook = nbformat.read(executed[source], as_version=4)
            for cell in notebook.cells:
                if cell.cell_type == "markdown":
                    cell.source = _with_links(cell.source, source, links, executed)
                else:
                    cell.outputs = settle_outputs(cell.outputs)
            nbformat.write(notebook, target.with_suffix(".ipynb"))
        else:
            target.write_text(_with_links(text, source, links, executed), encoding="utf-8")
    write_api_reference(folder / "api")


def _with_help(text: str) -> str:
    """Put the help of the command line into its place, if a page has one."""
    return text.replace(PLACE, command_help()) if PLACE in text else text


def settle_outputs(outputs: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Return what a cell prints and draws, without what differs from one run to the next.

    The library's logger announces what was not compiled before, a kernel sends printed text in any number of
    parts, and the value of a last expression is often an object with its address.
    """
    settled: list[NotebookNode] = []
    for output in outputs:
        if output.output_type == "execute_result":
            continue
        if output.get("name") == "stderr":
            lines = output.text.splitlines(keepends=True)
            output.text = "".join(line for line in lines if not line.startswith(COMPILING))
            if not output.text:
                continue
        if "name" in output and settled and settled[-1].get("name") == output.name:
            settled[-1].text += output.text
        else:
            settled.append(output)
    return settled


def run_pages(pages: Iterable[Path], cache: str | Path = CACHE, n_jobs: int = 2) -> list[Path]:
    """Run pages as notebooks, unless ``cache`` has them, and return the executed notebooks."""
    library = Library()
    executed, waiting = [], []
    for page in pages:
        notebook = page_notebook(page.read_text(encoding="utf-8"))
        target = Path(cache) / f"{page.stem}-{_digest(notebook, library)}.ipynb"
        executed.append(target)
        if not target.is_file():
            waiting.append((notebook, target, str(page)))
    with ProcessPoolExecutor(n_jobs) as pool:
        list(pool.map(_run_page, *zip(*waiting, strict=True)) if waiting else [])
    return executed


def page_notebook(text: str) -> NotebookNode:
    """Return a page as a notebook: its blocks of Python are the code cells."""
    cells = []
    for i, part in enumerate(_PYTHON.split(text)):
        new = new_code_cell if i % 2 else new_markdown_cell
        if part.strip():
            cells.append(new(part.strip("\n"), id=f"cell-{i}"))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel})


def _run_page(notebook: NotebookNode, target: Path, name: str) -> None:
    with tempfile.TemporaryDirectory(prefix="ermlab-") as folder:
        source = Path(folder, "page.ipynb")
        nbformat.write(notebook, source)
        work = Path(folder, "work")
        work.mkdir()
        try:
            execute_notebook(source, target, {}, log=Path(folder, "log.ipynb"), folder=work)
        except papermill.PapermillExecutionError as error:
            raise RuntimeError(f"the code of {name} does not run:\n{error}") from None


def _digest(notebook: NotebookNode, library: Library) -> str:
    """Digest the text of a page and all code of the library that it imports."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.ipynb")
        nbformat.write(notebook, path)
        code = library.digest(path)
    return hashlib.sha256(f"{code}\0{nbformat.writes(notebook)}".encode()).hexdigest()[:16]


def _with_links(text: str, page: Path, links: Mapping[str, str], executed: Iterable[Path]) -> str:
    """Link names to the API reference, and let links to other pages lead to their notebooks."""
    notebooks = {path.resolve() for path in executed}

    def page_link(found: re.Match[str]) -> str:
        is_notebook = (page.parent / f"{found[1]}.md").resolve() in notebooks
        return f"{found[1]}.ipynb" if is_notebook else found[0]

    return _PAGE_LINK.sub(page_link, link_names(text, links))
