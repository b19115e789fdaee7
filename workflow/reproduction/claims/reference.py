"""The reference run: values and verdicts of the last complete run on real data at demo scale.

``reference/demo-real.json`` is committed, so that pages show its numbers next to those of any other run, and
so that a run can be compared with it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduction.claims.exhibits import Catalogue
from reproduction.claims.ledger import REAL_DATA, STATUSES, Claim
from reproduction.claims.results import read_json

REFERENCE = Path("reference/demo-real.json")
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


def read_reference(path: str | Path = REFERENCE) -> dict[str, Any] | None:
    """Return the reference run, or None if there is none."""
    return read_json(path) if Path(path).exists() else None


def reference_document(
    ledger: Mapping[str, Any],
    provenance: Mapping[str, Any],
    claims: Iterable[Claim],
    results: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the content of the reference file.

    Parameters
    ----------
    ledger
        The content of ``reports/claims.json``.
    provenance
        The content of ``reports/provenance.json``.
    claims
        As `load_claims` returns them.
    results
        Experiment names to what `read_results` returns. The values that claims name are kept, with repeats.
    """
    rows = [*ledger["claims"], *ledger["controls"]]
    values: dict[str, dict[str, Any]] = {}
    for claim in claims:
        known = results.get(claim.experiment, {"values": {}})["values"]
        kept = {name: known[name] for name in sorted(claim.names) if name in known}
        values.setdefault(claim.experiment, {}).update(kept)
    return {
        "code": provenance["code"],
        "scale": provenance["config"]["scale"],
        "packages": provenance["packages"],
        "counts": ledger["counts"],
        "claims": {row["id"]: {name: row[name] for name in _KEPT} for row in rows},
        "values": values,
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


def results_table(reference: Mapping[str, Any], catalogue: Catalogue) -> str:
    """Return a Markdown table of the reference run by chapter: exhibits, verdicts, and kind of the data."""
    counts = count_by_part(reference["claims"].values(), catalogue)
    header = ["chapter", *counts["all"]]
    lines = [header, ["---", *["---:"] * (len(header) - 1)]]
    lines += [[title, *map(str, row.values())] for title, row in counts.items()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _count(rows: Sequence[Mapping[str, Any]], exhibits: int) -> dict[str, int]:
    by_status = {status: sum(row["status"] == status for row in rows) for status in STATUSES}
    real = sum(row["badge"] == REAL_DATA for row in rows)
    return {"exhibits": exhibits, **by_status, "with real data": real}


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
