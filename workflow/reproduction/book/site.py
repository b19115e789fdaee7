"""Run Sphinx on assembled pages: the manual alone, or the manual and the book."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from sphinx.cmd.build import main as sphinx_build

SETTINGS = Path("workflow/book")


def build_site(
    source: str | Path,
    html: str | Path,
    *,
    settings: str | Path = SETTINGS,
    options: Sequence[str] = (),
    name: str = "book",
) -> None:
    """Build the pages in ``source`` into ``html``, which is emptied first; any warning is an error."""
    shutil.rmtree(html, ignore_errors=True)
    doctrees = Path(source) / ".doctrees"
    arguments = ["-b", "html", "-c", str(settings), "-d", str(doctrees), "--fail-on-warning", "--quiet"]
    if sphinx_build([*arguments, *options, str(source), str(html)]):
        shutil.rmtree(html, ignore_errors=True)
        sys.exit(f"Sphinx found fault with the pages in {source} (above): the {name} was not built")
