"""Publish: assemble the pages of the book and let Sphinx build them; any warning is an error."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from sphinx.cmd.build import main as sphinx_build

from reproduction.book.assemble import add_files, stamp, write_sources
from reproduction.book.run import Run, read_run
from reproduction.pipeline.job import job

SETTINGS = Path("workflow/book")


def main(
    html: str,
    source: str,
    settings: str | Path = SETTINGS,
    *,
    exhibits: str,
    errata: str,
    registry: str,
    claims: str,
    provenance: str,
    receipts: Sequence[str],
    reports: str = "reports",
) -> None:
    """Build the book of the run whose files are given into the folder ``html``, by way of ``source``."""
    run = read_run(
        exhibits=exhibits,
        errata=errata,
        registry=registry,
        claims=claims,
        provenance=provenance,
        receipts=receipts,
        reports=reports,
    )
    write_sources(run, source)
    shutil.rmtree(html, ignore_errors=True)
    status = sphinx_build(_sphinx_arguments(run, html, source, settings))
    if status:
        shutil.rmtree(html, ignore_errors=True)
        sys.exit(f"Sphinx found fault with the pages in {source} (above): the book was not built")
    add_files(run, html)


def _sphinx_arguments(run: Run, html: str, source: str, settings: str | Path) -> list[str]:
    doctrees = Path(source) / ".doctrees"
    arguments = ["-b", "html", "-c", str(settings), "-d", str(doctrees), "--fail-on-warning", "--quiet"]
    arguments += ["-A", f"stamp={stamp(run)}"]
    if run.provenance["config"].get("scale") == "smoke":
        notice = "Built at the smoke scale, which only shows that everything runs: do not read the numbers."
        arguments += ["-D", f"html_theme_options.announcement={notice}"]
    return [*arguments, source, html]


if "snakemake" in globals():
    with job(snakemake):
        main(
            str(Path(snakemake.output.index).parent),
            snakemake.params.source,
            exhibits=snakemake.input.exhibits,
            errata=snakemake.input.errata,
            registry=snakemake.input.registry,
            claims=snakemake.input.claims,
            provenance=snakemake.input.provenance,
            receipts=snakemake.input.receipts,
        )
