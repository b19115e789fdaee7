"""Reference runs: values and verdicts of the last runs on real data, complete at demo scale.

``reference/demo-real.json`` is committed, so that pages show its numbers next to those of any other run, and
so that a run can be compared with it. ``reference/paper-real.json`` has the sections that were also run at
the published sizes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduction.claims.departures import BASES
from reproduction.claims.exhibits import Catalogue
from reproduction.claims.ledger import REAL_DATA, STATUSES, Claim
from reproduction.claims.results import read_json

#: Scales of reference runs; a complete run at the first one is the reference.
SCALES = ("demo", "paper")
_KEPT = (
    "exhibit",
    "control",
    "status",
    "reason",
    "probability",
    "units",
    "ours",
    "intervals",
    "badge",
    "datasets",
    "basis",
    "departures",
)
#: Numbers that were not measured repeatedly are the same up to rounding, which differs between machines.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Difference:
    """One way in which a run differs from the reference."""

    claim: str
    what: str
    reference: str
    run: str


def reference_path(scale: str = SCALES[0], root: str | Path = ".") -> Path:
    """Return the file of the reference run at a scale."""
    return Path(root) / f"reference/{scale}-real.json"


def read_references(root: str | Path = ".") -> dict[str, dict[str, Any]]:
    """Return the reference runs that there are, by scale."""
    paths = {scale: reference_path(scale, root) for scale in SCALES}
    return {scale: read_json(path) for scale, path in paths.items() if path.exists()}


def reference_document(
    rows: Iterable[Mapping[str, Any]],
    sections: Iterable[str],
    provenance: Mapping[str, Any],
    claims: Iterable[Claim],
    results: Mapping[str, Mapping[str, Any]],
    before: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the content of a reference file.

    Parameters
    ----------
    rows
        Claims and controls of the sections, as `check_claims` decided them, as mappings.
    sections
        Ids of the sections that were run.
    provenance
        ``code``, ``packages`` and ``scale`` of the run.
    claims
        As `load_claims` returns them.
    results
        Experiment names to what `read_results` returns. The values that claims name are kept, with repeats.
    before
        An earlier document, whose other sections are kept.
    """
    rows = list(rows)
    values: dict[str, dict[str, Any]] = {}
    ids = {row["id"] for row in rows}
    for claim in claims:
        if claim.id in ids:
            known = results.get(claim.experiment, {"values": {}})["values"]
            kept = {name: known[name] for name in sorted(claim.names) if name in known}
            values.setdefault(claim.experiment, {}).update(kept)
    before = before or {"sections": {}, "claims": {}, "values": {}}
    return {
        **provenance,
        "sections": before["sections"] | dict.fromkeys(sections, provenance["code"]["commit"]),
        "claims": before["claims"] | {row["id"]: {name: row[name] for name in _KEPT} for row in rows},
        "values": before["values"] | values,
    }


def compare(reference: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> list[Difference]:
    """Return what differs between the reference and the claims of a run.

    A verdict differs if it is another one, and a number if the 95 % intervals do not overlap. Claims without
    results in either run are left out.
    """
    return [
        difference for row in rows for difference in _compare_row(reference["claims"].get(row["id"]), row)
    ]


def count_by_part(rows: Iterable[Mapping[str, Any]], catalogue: Catalogue) -> dict[str, dict[str, int]]:
    """Count exhibits, and claims by verdict and with real data, for the title of each part and ``all``."""
    rows = [row for row in rows if not row["control"]]
    counts = {}
    for part in catalogue.parts:
        sections = {section.id for section in catalogue.sections if section.part == part.id}
        exhibits = {exhibit.id for exhibit in catalogue.exhibits if exhibit.section in sections}
        if exhibits:
            counts[part.title] = _count([row for row in rows if row["exhibit"] in exhibits], len(exhibits))
    return counts | {"all": _count(rows, len(catalogue.exhibits))}


def count_by_basis(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Count claims by verdict for each way in which they were tested; those without results are left out."""
    rows = [row for row in rows if not row["control"]]
    counts = {}
    for basis in BASES:
        if same := [row for row in rows if row["basis"] == basis]:
            counts[basis] = _count_verdicts(same)
    return counts


def results_tables(reference: Mapping[str, Any], catalogue: Catalogue) -> str:
    """Return Markdown tables of the verdicts of a reference run, by chapter and by how claims were tested."""
    rows = reference["claims"].values()
    tables = [
        _markdown_table("chapter", count_by_part(rows, catalogue)),
        _markdown_table("tested", count_by_basis(rows)),
    ]
    return "\n\n".join(tables)


def _markdown_table(title: str, counts: Mapping[str, Mapping[str, int]]) -> str:
    header = [title, *next(iter(counts.values()), {})]
    lines = [header, ["---", *["---:"] * (len(header) - 1)]]
    lines += [[name, *map(str, row.values())] for name, row in counts.items()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _count_verdicts(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {status: sum(row["status"] == status for row in rows) for status in STATUSES}


def _count(rows: Sequence[Mapping[str, Any]], exhibits: int) -> dict[str, int]:
    real = sum(row["badge"] == REAL_DATA for row in rows)
    return {"exhibits": exhibits, **_count_verdicts(rows), "with real data": real}


def _compare_row(before: Mapping[str, Any] | None, row: Mapping[str, Any]) -> Iterator[Difference]:
    if before is None or row["badge"] is None:
        return
    if before["status"] != row["status"]:
        yield Difference(row["id"], "verdict", before["status"], row["status"])
    for text, ours in row["ours"].items():
        if text not in before["ours"]:
            continue
        old = _intervals(before["ours"][text], before["intervals"].get(text))
        new = _intervals(ours, row["intervals"].get(text))
        for place in old.keys() & new.keys():
            (low, high), (other_low, other_high) = old[place], new[place]
            rounding = _ROUNDING * max(1.0, abs(low), abs(high))
            if other_low > high + rounding or other_high < low - rounding:
                yield Difference(row["id"], text + place, _text(low, high), _text(other_low, other_high))


def _intervals(value: Any, ends: Mapping[str, Any] | None) -> dict[str, tuple[float, float]]:
    """Return the interval of each number in a value, by its place; of length 0 for one that is certain."""
    low, high = (value, value) if ends is None else (ends["low"], ends["high"])
    lows, highs = dict(_leaves(low)), dict(_leaves(high))
    return {place: (lows[place], highs[place]) for place in sorted(lows)}


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _leaves(item, f"{place}.{name}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _leaves(item, f"{place}[{i}]")
    else:
        yield place, float(value)


def _text(low: float, high: float) -> str:
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
