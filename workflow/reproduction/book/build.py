"""Assemble the pages of the book and build them with Sphinx; any warning is an error (rule build_book)."""

from pathlib import Path

from reproduction.book.assemble import add_files, stamp, write_sources
from reproduction.book.manual import DOCS, write_manual
from reproduction.book.run import Run, read_run
from reproduction.book.site import SETTINGS, build_site
from reproduction.pipeline.job import Paths, run_stage


def main(
    inputs: Paths,
    outputs: Paths,
    *,
    source: str,
    settings: str | Path = SETTINGS,
    reports: str = "reports",
    docs: str | Path | None = DOCS,
    threads: int = 2,
) -> None:
    """Build the book of the run whose files are given, by way of the pages in the folder ``source``.

    The manual is part of it, from the pages in ``docs``, unless this is None.
    """
    names = ("exhibits", "errata", "registry", "claims", "provenance", "receipts")
    run = read_run(**{name: inputs[name] for name in names}, reports=reports)
    html = Path(outputs["index"]).parent
    write_sources(run, source, manual=docs is not None)
    if docs is not None:
        write_manual(Path(source) / "manual", docs=docs, run_code=not _is_smoke(run), n_jobs=threads)
    build_site(source, html, settings=settings, options=_options(run))
    add_files(run, html)


def _is_smoke(run: Run) -> bool:
    return run.provenance["config"].get("scale") == "smoke"


def _options(run: Run) -> list[str]:
    options = ["-A", f"stamp={stamp(run)}"]
    if _is_smoke(run):
        notice = "Built at the smoke scale, which only shows that everything runs: do not read the numbers."
        options += ["-D", f"html_theme_options.announcement={notice}"]
    return options


if "snakemake" in globals():
    run_stage(main, snakemake)
