"""Write the page of the data sets: description, and source in this run."""

from collections.abc import Mapping
from typing import Any

from reproduction.acquire.registry import Dataset
from reproduction.book import markup
from reproduction.book.run import Run

#: The section that shows a few pictures of every data set.
PICTURES = "datasets"

_SOURCES = {
    "raw": "already in data/raw",
    "mirror": "mirror folder",
    "package": "published Python package",
    "address": "official address",
    "simulator": "simulator",
}


def data_page(run: Run) -> str:
    """Return the page of the data sets."""
    rows = [_row(dataset, run.receipts.get(name)) for name, dataset in run.datasets.items()]
    lines = [
        "# Data sets",
        "",
        "Each data set is taken from the first place that has it: the project's own folder, a mirror, a "
        "published package, the official address, or the simulator. The hash, over names and contents of all "
        "files, identifies the data that this run used.",
        "",
        *_pictures_lines(run),
        markup.table(["Data set", "This run", "Source", "Files", "Size"], rows, "data"),
    ]
    for name, dataset in run.datasets.items():
        lines += [
            "",
            markup.anchor(name),
            "",
            f"## {markup.text(dataset.title)}",
            "",
            markup.text(dataset.description),
            "",
            markup.facts(_run_facts(run.receipts.get(name)) + _lasting_facts(run, dataset)),
        ]
    return "\n".join(lines)


def _pictures_lines(run: Run) -> list[str]:
    executed = [
        section for section in run.catalogue.sections if section.id == PICTURES and run.is_executed(section)
    ]
    return [f'<p><a href="sections/{section.id}.html">See them in pictures</a></p>\n' for section in executed]


def _row(dataset: Dataset, receipt: Mapping[str, Any] | None) -> list[str]:
    label = f'<a href="#{markup.html_text(dataset.name)}">{markup.html_text(dataset.title)}</a>'
    if receipt is None:
        return [label, "not asked for", "–", "–", "–"]
    if receipt["status"] != "available":
        return [label, "not available", "–", "–", "–"]
    return [
        label,
        markup.data_badge(f"{receipt['kind']} data"),
        _SOURCES[receipt["source"]],
        f"{receipt['files']:,}",
        markup.size(receipt["bytes"]),
    ]


def _run_facts(receipt: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return the facts about the data set in this run."""
    if receipt is None:
        return [("This run", "not asked for at this scale")]
    if receipt["status"] != "available":
        return [("This run", markup.text(f"not available: {receipt['reason']}"))]
    detail = f" ({markup.text(receipt['detail'])})" if receipt["detail"] else ""
    badge = markup.data_badge(f"{receipt['kind']} data")
    return [
        ("This run", f"{badge} {_SOURCES[receipt['source']]}{detail}"),
        ("Files", f"{receipt['files']:,}, {markup.size(receipt['bytes'])}"),
        ("SHA-256", markup.digest(receipt["tree_sha256"])),
    ]


def _lasting_facts(run: Run, dataset: Dataset) -> list[tuple[str, str]]:
    """Return the facts about the data set in the registry."""
    tree = dataset.tree
    real = "no source registered; simulated"
    if tree is not None:
        real = f"{tree.files:,} files, {markup.size(tree.bytes)} {markup.digest(tree.sha256)}"
    counts = ", ".join(f"{count:,} {what.replace('_', ' ')}" for what, count in dataset.counts.items())
    facts = [
        ("The real data", real),
        ("Counts", markup.text(counts)),
        ("Used for", ", ".join(_exhibit_link(run, id) for id in dataset.used_for)),
        ("Licence", markup.text(dataset.licence)),
        ("Cite", _with_links(dataset.citation)),
        ("Home", _with_links(dataset.homepage)),
        ("Notes", markup.text(dataset.notes or "")),
    ]
    return [(name, value) for name, value in facts if value]


def _exhibit_link(run: Run, id: str) -> str:
    """Return a link to the exhibit, or its bare name where the catalogue has no such exhibit."""
    known = {exhibit.id: exhibit for exhibit in run.catalogue.exhibits}
    if id not in known:
        return markup.text(id)
    return f'<a href="sections/{known[id].section}.html#{id}">{id}</a>'


def _with_links(plain: str) -> str:
    """Escape ``plain``, turning the addresses in it into links."""
    words = [
        f'<a href="{markup.html_text(word)}">{markup.html_text(word)}</a>'
        if word.startswith(("https://", "http://"))
        else markup.text(word)
        for word in str(plain).split()
    ]
    return " ".join(words)
