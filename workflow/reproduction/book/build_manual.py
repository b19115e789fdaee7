"""Build the manual alone, without a run of the workflow (make docs)."""

import argparse
import shutil
from pathlib import Path

from reproduction.book.manual import CACHE, DOCS, write_manual
from reproduction.book.site import SETTINGS, build_site


def build_manual(
    html: str | Path,
    source: str | Path,
    *,
    docs: str | Path = DOCS,
    settings: str | Path = SETTINGS,
    cache: str | Path = CACHE,
) -> None:
    """Build the manual into ``html``, by way of pages in the folder ``source``; both are emptied first."""
    shutil.rmtree(source, ignore_errors=True)
    write_manual(source, docs=docs, cache=cache)
    build_site(source, html, settings=settings, name="manual")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--html", default="reports/html-manual", help="folder of the site")
    parser.add_argument("--source", default="reports/manual", help="folder of the assembled pages")
    arguments = parser.parse_args()
    build_manual(arguments.html, arguments.source)
    print(f"The manual: {arguments.html}/index.html")
