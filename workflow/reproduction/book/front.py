"""The front page: the scorecard, the gallery of this run, and the list of all exhibits."""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from reproduction.book import markup
from reproduction.book.markup import STATUS_SIGNS
from reproduction.book.run import Run
from reproduction.book.sections import exhibit_place, page_name
from reproduction.claims.exhibits import Exhibit, Section
from reproduction.claims.ledger import REAL_DATA, SIMULATED_DATA
from reproduction.claims.reference import SCALES, count_by_basis, count_by_part

TITLE = "Every published figure and table, redone"
_LEAD = (
    "All methods of this book minimize the sum of a regularizer and a risk, "
    r"$\min_w \lambda\,\Omega(w) + R(w)$. Each page takes a section of the sources, computes its figures and "
    "tables again, and shows our numbers next to the published ones, whether they agree or not."
)
_MANUAL = "The [manual](manual/index.md) shows how to use the methods on data of your own."
_BASES = (
    "What a verdict says about a source depends on how near its test is to the source: with its protocol, "
    "its data and its sizes, or with others. A claim that departs from the source in several ways is counted "
    "in the last row that applies; its page names all of them if it is not reproduced or undecided."
)
APPENDICES = ("data", "errata", "provenance", "workflow")


def front_page(run: Run, *, manual: bool = False) -> str:
    """Return the front page, with the table of contents of the book and, if it is there, of the manual."""
    return "\n".join(
        [
            f"# {TITLE}",
            "",
            "{.lead}",
            f"{_LEAD} {_MANUAL}" if manual else _LEAD,
            "",
            _scorecard(run),
            "",
            "## By chapter",
            "",
            *_chapters(run),
            "## By test",
            "",
            *_bases(run),
            *_gallery(run),
            "## All exhibits",
            "",
            "Claims are counted as ✓ reproduced, ✗ not reproduced, ≈ undecided, ○ not tested.",
            "",
            *_exhibit_lists(run),
            *(_toctree("The library", ["Manual <manual/index>"]) if manual else []),
            *_contents(run),
        ]
    )


def _scorecard(run: Run) -> str:
    tiles = [_exhibits_tile(run), _claims_tile(run), _data_tile(run), _time_tile(run)]
    return f'<div class="scorecard">{"".join(tiles)}</div>'


def _tile(title: str, figure: str, rest: str) -> str:
    return f'<section class="score"><h2>{title}</h2><p class="figure">{figure}</p>{rest}</section>'


def _bar(label: str, shares: Mapping[str, int]) -> str:
    """Return a bar of parts in proportion; to a screen reader it is one image called ``label``."""
    parts = "".join(f'<span class="{name}" style="flex:{n}"></span>' for name, n in shares.items() if n)
    return f'<div class="bar" role="img" aria-label="{markup.html_text(label)}">{parts}</div>'


def _key(entries: Iterable[tuple[str, str, object]]) -> str:
    """Return the lines below a tile's figure: sign, words and value of each."""
    items = "".join(
        f'<li><span class="{words.replace(" ", "-")}"><span aria-hidden="true">{sign}</span> {words}</span>'
        f"<b>{markup.html_text(value)}</b></li>"
        for sign, words, value in entries
    )
    return f'<ul class="key">{items}</ul>'


def _exhibits_tile(run: Run) -> str:
    exhibits = run.catalogue.exhibits
    built = sum(run.is_built(exhibit) for exhibit in exhibits)
    bar = _bar(f"{built} of {len(exhibits)} exhibits", {"built": built, "not-tested": len(exhibits) - built})
    entries = []
    for kind in dict.fromkeys(exhibit.kind for exhibit in exhibits):
        same = [exhibit for exhibit in exhibits if exhibit.kind == kind]
        entries.append(("", f"{kind}s", f"{sum(map(run.is_built, same))} of {len(same)}"))
    return _tile("Exhibits", f"{built} <small>of {len(exhibits)} built</small>", bar + _key(entries))


def _claims_tile(run: Run) -> str:
    tally = run.tally()
    shares = {status.replace(" ", "-"): count for status, count in tally.items()}
    label = ", ".join(f"{count} {status}" for status, count in tally.items())
    key = [(markup.STATUS_SIGNS[status], status, count) for status, count in tally.items()]
    figure = f"{tally['reproduced']} <small>of {len(run.claims)} reproduced</small>"
    return _tile("Claims", figure, _bar(label, shares) + _key(key))


def _data_tile(run: Run) -> str:
    kinds = Counter(receipt["kind"] for receipt in run.receipts.values())
    key = [
        (markup.DATA_SIGNS[REAL_DATA], REAL_DATA, kinds["real"]),
        (markup.DATA_SIGNS[SIMULATED_DATA], SIMULATED_DATA, kinds["simulated"]),
        ("○", "not available", kinds[None]),
    ]
    note = '<p class="note"><a href="data.html">Sources, hashes and licenses</a></p>'
    figure = f"{len(run.receipts) - kinds[None]} <small>of {len(run.receipts)} available</small>"
    return _tile("Data sets", figure, _key(key) + note)


def _time_tile(run: Run) -> str:
    rules = run.provenance["run"]["rules"]
    key = [
        ("", "jobs", sum(rule["jobs"] for rule in rules)),
        ("", "cores", run.provenance["machine"]["cores"]),
        ("", "scale", run.provenance["config"].get("scale", "unknown")),
    ]
    note = '<p class="note"><a href="provenance.html">Commit, versions, configuration, machine</a></p>'
    figure = f"{markup.duration(run.seconds())} <small>over all jobs</small>"
    return _tile("Run time", figure, _key(key) + note)


def _chapters(run: Run) -> list[str]:
    """Return the table of exhibits and verdicts by chapter, next to the reference runs if there are any."""
    reference = run.references.get(SCALES[0])
    theirs = count_by_part(reference["claims"].values(), run.catalogue) if reference else {}
    lines = [f"{_reference_words(reference)}\n"] if reference else []
    lines.append(_counts_table("chapter", count_by_part(run.claims, run.catalogue), theirs))
    for scale, other in run.references.items():
        if scale != SCALES[0]:
            counts = count_by_part(other["claims"].values(), run.catalogue)
            verdicts = {title: {name: row[name] for name in STATUS_SIGNS} for title, row in counts.items()}
            tested = {title: row for title, row in verdicts.items() if any(row.values())}
            words = f"Sections that were also run on real data at {scale} scale (commit {_commit(other)}):\n"
            lines += [words, _counts_table("chapter", tested)]
    return lines


def _bases(run: Run) -> list[str]:
    """Return the table of verdicts by how claims were tested."""
    reference = run.references.get(SCALES[0])
    theirs = count_by_basis(reference["claims"].values()) if reference else {}
    ours = count_by_basis(run.claims)
    return [f"{_BASES}\n", _counts_table("tested", ours, theirs)] if ours else ["No claim has results.\n"]


def _counts_table(
    title: str, ours: Mapping[str, Mapping[str, int]], theirs: Mapping[str, Mapping[str, int]] | None = None
) -> str:
    """Return a table of counts, with those of the reference run in parentheses."""
    rows = [
        [
            markup.text(name),
            *(_with_reference(n, (theirs or {}).get(name, {}).get(column)) for column, n in row.items()),
        ]
        for name, row in ours.items()
    ]
    return markup.table([title, *next(iter(ours.values()))], rows, "chapters")


def _reference_words(reference: Mapping[str, Any]) -> str:
    scale, commit = reference["scale"], _commit(reference)
    return f"This run, and in parentheses the reference run on real data ({scale} scale, commit {commit})."


def _commit(reference: Mapping[str, Any]) -> str:
    return reference["code"]["commit"][:7]


def _with_reference(count: int, reference: int | None) -> str:
    return str(count) if reference is None else f"{count} ({reference})"


def _gallery(run: Run) -> list[str]:
    cards = [
        _card(run, section, exhibit)
        for section in run.catalogue.sections
        if run.is_executed(section)
        for exhibit in run.exhibits_in(section)
        if run.is_built(exhibit)
    ]
    if not cards:
        return []
    return ["## In this run", "", f'<ul class="gallery">{"".join(cards)}</ul>', ""]


def _card(run: Run, section: Section, exhibit: Exhibit) -> str:
    title = markup.html_text(exhibit.title)
    shown = exhibit.outputs[0]
    if shown.endswith(".svg"):
        picture = f'<span class="thumbnail"><img src="{shown}" alt="" loading="lazy"></span>'
    else:
        picture = f'<span class="thumbnail" aria-hidden="true">{_table_top(run.reports / shown)}</span>'
    caption = f"<b>{markup.html_text(exhibit.id)}</b>{title}{_tally(run, exhibit)}"
    place = exhibit_place(section, exhibit)
    return f'<li><a href="{place}">{picture}<span class="caption">{caption}</span></a></li>'


def _table_top(path: Path, rows: int = 5, columns: int = 4) -> str:
    """Return the first cells of a CSV file, as the thumbnail of a table."""
    with path.open(encoding="utf-8", newline="") as stream:
        top = [line[:columns] for line in islice(csv.reader(stream), rows)]
    cells = "".join(f"<i>{markup.html_text(cell[:12])}</i>" for line in top for cell in line)
    return f'<span class="tabular" style="--columns:{max(map(len, top), default=1)}">{cells}</span>'


def _tally(run: Run, exhibit: Exhibit) -> str:
    """Return the exhibit's claims counted by status, spelt out for screen readers."""
    counts = {status: n for status, n in run.tally(run.claims_of(exhibit)).items() if n}
    if not counts:
        return ""
    marks = "".join(
        f'<span class="{status.replace(" ", "-")}" title="{n} {status}">'
        f"{markup.STATUS_SIGNS[status]}&nbsp;{n}</span>"
        for status, n in counts.items()
    )
    return f'<span class="tally">{marks}</span>'


def _exhibit_lists(run: Run) -> list[str]:
    lines = []
    for part in run.catalogue.parts:
        rows = [
            [
                f'<a href="{exhibit_place(section, exhibit)}">{markup.html_text(exhibit.id)}</a>',
                markup.text(exhibit.title),
                f'<a href="{page_name(section)}.html">{markup.html_text(section.title)}</a>',
                _tally(run, exhibit),
                markup.data_badge(run.exhibit_badge(exhibit)) if run.is_built(exhibit) else "to come",
            ]
            for section in part_sections(run, part.id)
            for exhibit in run.exhibits_in(section)
        ]
        if rows:
            header = ["Exhibit", "What it shows", "Section", "Claims", "Data"]
            lines += [f"### {markup.text(part.title)}", "", markup.table(header, rows, "exhibits")]
    return lines


def part_sections(run: Run, part: str) -> list[Section]:
    """Return the sections of a part, in reading order."""
    return [section for section in run.catalogue.sections if section.part == part]


def _contents(run: Run) -> list[str]:
    lines = []
    for part in run.catalogue.parts:
        entries = [_entry(run, section) for section in part_sections(run, part.id)]
        lines += _toctree(part.title, entries)
    return lines + _toctree("Behind the book", list(APPENDICES))


def _entry(run: Run, section: Section) -> str:
    later = "" if run.is_executed(section) else " (to come)"
    return f"{section.title}{later} <{page_name(section)}>"


def _toctree(caption: str, entries: list[str]) -> list[str]:
    if not entries:
        return []
    return [":::{toctree}", ":hidden:", f":caption: {caption}", "", *entries, ":::", ""]
