"""The book opens from disk without a network, whole; and the check of that can fail."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from browser import check_book, find_chromium
from site_links import dead_links
from small_run import CLAIMS, ROOT, write_small_run

from reproduction.book.build import main
from reproduction.book.front import front_page
from reproduction.book.run import read_run

needs_chromium = pytest.mark.skipif(find_chromium() is None, reason="Chromium is not installed")

BROKEN = r"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Broken</title>
<link rel="stylesheet" href="missing.css"></head>
<body>
<h1 id="top">Broken</h1>
<img src="https://example.org/picture.png" alt="">
<img src="missing.png" alt="">
<a href="index.html">whole</a> <a href="#top">whole</a>
<a href="nowhere.html">dead</a> <a href="#nowhere">dead</a> <a href="index.html#nowhere">dead</a>
<p>A formula that nobody set: \(x^2\).</p>
<p><span class="math">\[\frac{1}{2}\]</span></p>
<script>console.error("said aloud"); throw new Error("thrown");</script>
</body></html>
"""


def build_book(html, files, docs=None):
    """Build the book of a run whose files `write_small_run` named, by default without the manual."""
    inputs, reports = {**files}, files["reports"]
    del inputs["reports"]
    settings = {
        "source": f"{reports}/book",
        "settings": ROOT / "workflow/book",
        "reports": reports,
        "docs": docs,
    }
    main(inputs, {"index": html / "index.html"}, **settings)


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A built book: read it, do not change it."""
    folder = tmp_path_factory.mktemp("small_run")
    html = folder / "reports/html"
    build_book(html, write_small_run(folder))
    return html


def page(book, name):
    return (book / name).read_text(encoding="utf-8")


@needs_chromium
def test_every_page_is_whole_without_a_network(book):
    assert check_book(book) == []


@needs_chromium
def test_the_check_finds_what_is_broken(book, tmp_path):
    folder = shutil.copytree(book, tmp_path / "html")
    (folder / "broken.html").write_text(BROKEN, encoding="utf-8")
    section = folder / "sections/structured_losses.html"
    section.write_text(page(book, "sections/structured_losses.html").replace(r"\mathcal{L}", r"\nosuch L", 1))
    problems = check_book(folder)
    assert {problem.page for problem in problems} == {"broken.html", "sections/structured_losses.html"}
    found = {(problem.kind, part) for problem in problems for part in SIGNS if part in problem.detail}
    assert found >= {
        ("external request", "https://example.org/picture.png"),
        ("missing image", "missing.png"),
        ("missing file", "missing.css"),
        ("console error", "said aloud"),
        ("console error", "thrown"),
        ("unrendered formula", r"\(x^2\)"),
        ("unrendered formula", r"\frac{1}{2}"),
        ("unrendered formula", "Undefined control sequence"),
        ("dead link", "nowhere.html"),
        ("dead link", "broken.html#nowhere"),
        ("dead link", "index.html#nowhere"),
    }
    assert not [problem for problem in problems if "#top" in problem.detail]


SIGNS = (
    "https://example.org/picture.png",
    "missing.png",
    "missing.css",
    "said aloud",
    "thrown",
    r"\(x^2\)",
    r"\frac{1}{2}",
    "Undefined control sequence",
    "nowhere.html",
    "broken.html#nowhere",
    "index.html#nowhere",
)


@needs_chromium
def test_a_folder_without_pages_is_refused(tmp_path):
    with pytest.raises(ValueError, match="build the book first"):
        check_book(tmp_path)


def test_the_same_run_gives_the_same_book(book, tmp_path):
    again = tmp_path / "reports/html"
    files = write_small_run(tmp_path)
    build_book(again, files)
    files = {path.relative_to(book) for path in book.rglob("*") if path.is_file()}
    assert files == {path.relative_to(again) for path in again.rglob("*") if path.is_file()}
    assert [name for name in sorted(files) if (book / name).read_bytes() != (again / name).read_bytes()] == []


def test_a_fault_in_a_page_stops_the_build_and_leaves_no_book(tmp_path):
    files = write_small_run(tmp_path)
    notebook = tmp_path / "reports/notebooks/20_structured_losses.ipynb"
    notebook.write_text(notebook.read_text().replace("## What we see", "{nosuchrole}`x`\\n\\n## What we see"))
    html = tmp_path / "reports/html"
    with pytest.raises(SystemExit, match="the book was not built"):
        build_book(html, files)
    assert not html.exists()


def test_a_book_at_the_smoke_scale_warns_of_its_numbers(book, tmp_path):
    files = write_small_run(tmp_path)
    provenance = Path(files["provenance"])
    provenance.write_text(provenance.read_text().replace('"demo"', '"smoke"'))
    html = tmp_path / "reports/html"
    build_book(html, files)
    assert "do not read the numbers" in page(html, "index.html")
    assert "do not read the numbers" not in page(book, "index.html")


def test_book_and_manual_are_one_site(tmp_path):
    files = write_small_run(tmp_path)
    provenance = Path(files["provenance"])
    provenance.write_text(provenance.read_text().replace('"demo"', '"smoke"'))  # runs no code of the manual
    html = tmp_path / "reports/html"
    build_book(html, files, docs=ROOT / "docs")
    assert 'href="manual/index.html"' in page(html, "index.html")
    manual = page(html, "manual/tutorials/rank.html")
    assert 'href="../../sections/structured_losses.html"' in manual
    assert 'href="../api/ranking.html#ermlab.ranking.RankingSVM"' in manual
    assert "Built at the smoke scale" in manual
    assert dead_links(html) == []


def test_pages_load_nothing_from_elsewhere(book):
    for path in book.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for attribute in ('src="http', "src='http", '<link rel="stylesheet" href="http', "@import"):
            assert attribute not in text, path


def test_mathematics_is_one_script_beside_the_pages(book):
    assert (book / "_static/tex-svg-full.js").stat().st_size > 1_000_000
    assert "tex-svg-full.js" in page(book, "sections/structured_losses.html")


def test_claims_stand_beside_the_published_values(book):
    text = page(book, "sections/structured_losses.html")
    assert "0.01235 (0.01 to 0.01469)" in text
    assert "holds in 98 % of draws" in text
    assert "5 seeds" in text
    assert "0.0111" in text  # the reference run
    assert "1, −2.5" in text
    assert '<span class="badge not-reproduced">' in text
    assert "does not hold" in text
    assert "uiuc_cars" in text
    assert 'href="../figures/T-fig-2.1.svg"' in text
    assert (book / "figures/T-fig-2.1.csv").is_file()
    assert (book / "tables/T-tab-2.9.csv").is_file()


def test_a_section_to_come_lists_what_was_published(book):
    text = page(book, "sections/joint_kernel_support.html")
    assert "Still to come" in text
    assert "S-SVM .18 .16 .27; JKSE .36 .35 .43" in text
    assert "section not built yet" in text
    assert "V D* V’ and _B*_ too" in text


def test_the_front_page_keeps_the_score(book):
    text = page(book, "index.html")
    assert "2 <small>of 3 built</small>" in text
    assert "1 <small>of 3 reproduced</small>" in text
    assert "1 <small>of 2 available</small>" in text
    assert "3 min 08 s" in text
    assert 'src="figures/T-fig-2.1.svg"' in text
    # Those of a reference run may follow in parentheses.
    for row, counts in (("all", (3, 1)), ("simulated data", (0, 1))):
        cells = "".join(rf"</td>\s*<td><p>{count}( \(\d+\))?</p>" for count in counts)
        assert re.search(f"<p>{row}</p>{cells}", text)


def test_the_front_page_shows_the_reference_runs(tmp_path):
    run = read_run(**write_small_run(tmp_path))
    assert "reference" not in front_page(replace(run, references={}))
    rows = {claim["id"]: claim for claim in CLAIMS}
    runs = {
        scale: {"claims": claims, "scale": scale, "code": {"commit": "0123456789"}}
        for scale, claims in (("demo", rows), ("paper", {"T-fig-2.1.bounds": rows["T-fig-2.1.bounds"]}))
    }
    lines = front_page(replace(run, references=runs)).splitlines()
    assert r"| Chapter 2\: foundations | 2 (2) | 1 (1) | 1 (1) | 0 (0) | 0 (0) | 0 (0) |" in lines
    assert "| simulated data | 0 (0) | 1 (1) | 0 (0) | 0 (0) |" in lines
    assert r"| Chapter 2\: foundations | 1 | 0 | 0 | 0 |" in lines
    assert not [line for line in lines if line.startswith(r"| Chapter 3\: empirical risk | 0 | 0 | 0 | 0 |")]


def test_the_workflow_report_is_never_a_dead_link(book):
    assert 'href="workflow-report.html"' in page(book, "workflow.html")
    assert "snakemake --report" in page(book, "workflow-report.html")
