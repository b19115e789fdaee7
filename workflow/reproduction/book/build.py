"""Assemble the pages of the book and build them with Sphinx; any warning is an error (rule build_book)."""

import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx_build

from reproduction.book.assemble import add_files, stamp, write_sources
from reproduction.book.run import Run, read_run
from reproduction.pipeline.job import Paths, run_stage

SETTINGS = Path("workflow/book")


def main(
    inputs: Paths, outputs: Paths, *, source: str, settings: str | Path = SETTINGS, reports: str = "reports"
) -> None:
    """Build the book of the run whose files are given, by way of the pages in the folder ``source``."""
    names = ("exhibits", "errata", "registry", "claims", "provenance", "receipts")
    run = read_run(**{name: inputs[name] for name in names}, reports=reports)
    html = Path(outputs["index"]).parent
    write_sources(run, source)
    shutil.rmtree(html, ignore_errors=True)
    if sphinx_build(_sphinx_arguments(run, html, source, settings)):
        shutil.rmtree(html, ignore_errors=True)
        sys.exit(f"Sphinx found fault with the pages in {source} (above): the book was not built")
    add_files(run, html)


def _sphinx_arguments(run: Run, html: Path, source: str, settings: str | Path) -> list[str]:
    doctrees = Path(source) / ".doctrees"
    arguments = ["-b", "html", "-c", str(settings), "-d", str(doctrees), "--fail-on-warning", "--quiet"]
    arguments += ["-A", f"stamp={stamp(run)}"]
    if run.provenance["config"].get("scale") == "smoke":
        notice = "Built at the smoke scale, which only shows that everything runs: do not read the numbers."
        arguments += ["-D", f"html_theme_options.announcement={notice}"]
    return [*arguments, source, str(html)]


if "snakemake" in globals():
    run_stage(main, snakemake)
