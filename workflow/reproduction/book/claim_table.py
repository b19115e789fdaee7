"""Write the table of claims: published values, those of the reference run and those of this run."""

from collections.abc import Iterable, Mapping
from typing import Any

from reproduction.book import markup
from reproduction.claims.ledger import NOT_REPRODUCED, UNDECIDED
from reproduction.claims.reference import SCALES

_HEADER = ["Claim", "Published", "Reference run", "This run", "Verdict"]


def claims_table(
    claims: Iterable[Mapping[str, Any]], references: Mapping[str, Mapping[str, Any]] | None = None
) -> str:
    """Return the table of ``claims`` or controls.

    Parameters
    ----------
    claims
        Rows of ``reports/claims.json``.
    references
        Reference runs by scale.
    """
    references = references or {}
    rows = [
        [
            _claim_cell(claim),
            _published_cell(claim),
            _reference_cell(claim, references),
            _ours_cell(claim),
            _verdict_cell(claim),
        ]
        for claim in claims
    ]
    # A block instead of an attribute of the table, so that Jupyter renders the same text.
    return f'<div class="claims">\n\n{markup.table(_HEADER, rows)}\n</div>\n'


def _claim_cell(claim: Mapping[str, Any]) -> str:
    notes = [claim["id"], *claim["history"]]
    return " ".join([markup.text(claim["text"]), *map(markup.note, notes)])


def _published_cell(claim: Mapping[str, Any]) -> str:
    """Return the published numbers, where there are any, and where the source says so."""
    place = markup.note(claim["source"])
    if claim["published"] is None:
        return place
    return f"{markup.text(with_spread(claim['published'], claim['published_spread']))} {place}"


def _reference_cell(claim: Mapping[str, Any], references: Mapping[str, Mapping[str, Any]]) -> str:
    """Return values and verdict of each reference run that has the claim."""
    cells = []
    for scale, reference in references.items():
        if row := reference["claims"].get(claim["id"]):
            cell = f"{_ours_cell(row)} {_status(row['status'], claim['control'])}"
            cells.append(cell if scale == SCALES[0] else f"{markup.note(f'at {scale} scale')} {cell}")
    return " ".join(cells) or "–"


def _ours_cell(claim: Mapping[str, Any]) -> str:
    """Return each shown expression with its value, and its interval where there is one."""
    cells = []
    for expression, value in claim["ours"].items():
        ends = claim["intervals"].get(expression, {"low": None, "high": None})
        shown = markup.html_text(with_interval(value, ends["low"], ends["high"]))
        cells.append(f'<span class="value">{markup.code(expression)} {shown}</span>')
    return "".join(cells) or "–"


def _verdict_cell(claim: Mapping[str, Any]) -> str:
    """Return the status, the share of draws in which the claim holds, what was repeated, and the data."""
    notes = []
    if claim["probability"] is not None:
        notes.append(f"holds in {100 * claim['probability']:.0f} % of draws")
    if claim["units"]:
        notes.append(", ".join(plural(number, unit) for unit, number in claim["units"].items()))
    if claim["reason"]:
        notes.append(claim["reason"])
    if claim["basis"] and claim["status"] in (NOT_REPRODUCED, UNDECIDED) and not claim["control"]:
        notes.append(basis_text(claim))
    cell = " ".join([_status(claim["status"], claim["control"]), *map(markup.note, notes)])
    return f"{cell} {markup.data_badge(claim['badge'], claim['datasets'])}" if claim["badge"] else cell


def _status(status: str, control: bool) -> str:
    return markup.status_badge(status, words=markup.CONTROL_WORDS.get(status) if control else None)


def basis_text(claim: Mapping[str, Any]) -> str:
    """Return how a claim was tested: as in the source, or with what departures from it."""
    if not claim["departures"]:
        return f"tested {claim['basis']}"
    ways: dict[str, list[str]] = {}
    for departure in claim["departures"]:
        ways.setdefault(departure["basis"], []).append(departure["text"])
    return "tested with " + "; with ".join(f"{basis}: {', '.join(texts)}" for basis, texts in ways.items())


def plural(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 film``, ``3 classes``, ``8 studies``."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{number} {noun[:-1]}ies"
    return f"{number} {noun}es" if noun.endswith("s") else f"{number} {noun}s"


def with_spread(value: Any, deviation: Any) -> str:
    """Return a number, or a list or mapping of numbers, each with its standard deviation if there is one."""
    return _each(
        lambda number, spread: number if spread is None else f"{number} ± {spread}", value, deviation
    )


def with_interval(value: Any, low: Any, high: Any) -> str:
    """Return a number, or a list or mapping of numbers, each with its interval if there is one."""
    return _each(
        lambda number, low, high: f"{number} ({low} to {high})" if low is not None else number,
        value,
        low,
        high,
    )


def _each(join, value: Any, *others: Any) -> str:
    """Join each number of ``value`` and the numbers at its place in ``others``, which may be None."""
    if isinstance(value, Mapping):
        parts = [(name, [other and other[name] for other in others]) for name in value]
        return "; ".join(f"{name}: {_each(join, value[name], *part)}" for name, part in parts)
    if isinstance(value, list):
        columns = [other or [None] * len(value) for other in others]
        return ", ".join(_each(join, *items) for items in zip(value, *columns, strict=True))
    return join(markup.number(value), *(None if other is None else markup.number(other) for other in others))
