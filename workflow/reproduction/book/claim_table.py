"""Write the table of claims: published values next to those of this run."""

from collections.abc import Iterable, Mapping
from typing import Any

from reproduction.book import markup


def claims_table(claims: Iterable[Mapping[str, Any]]) -> str:
    """Return the table of ``claims``, rows of ``reports/claims.json``."""
    rows = [
        [
            _claim_cell(claim),
            _published_cell(claim),
            _ours_cell(claim),
            markup.status_badge(claim["status"]),
            markup.data_badge(claim["badge"], claim["datasets"]) if claim["badge"] else "–",
        ]
        for claim in claims
    ]
    return markup.table(["Claim", "Published", "This run", "Status", "Data"], rows, "claims")


def _claim_cell(claim: Mapping[str, Any]) -> str:
    cell = f"{markup.text(claim['text'])} {markup.note(claim['id'])}"
    return f"{cell} {markup.note(claim['reason'])}" if claim["reason"] else cell


def _published_cell(claim: Mapping[str, Any]) -> str:
    """Return the published numbers, where there are any, and where the source says so."""
    place = markup.note(claim["source"])
    if claim["published"] is None:
        return place
    return f"{markup.text(markup.number(claim['published']))} {place}"


def _ours_cell(claim: Mapping[str, Any]) -> str:
    """Return each shown expression with its value, and the spread over seeds where there is one."""
    cells = []
    for expression, value in claim["ours"].items():
        spread = claim["spread"].get(expression, {})
        shown = markup.html_text(with_spread(value, spread.get("sd")))
        seeds = f" ({spread['n']} seeds)" if spread else ""
        cells.append(f'<span class="value"><code>{markup.html_text(expression)}</code> {shown}{seeds}</span>')
    return "".join(cells) or "–"


def with_spread(value: Any, deviation: Any) -> str:
    """Return a number, or a list or mapping of numbers, each with its standard deviation if there is one."""
    if isinstance(value, Mapping):
        return "; ".join(
            f"{name}: {with_spread(item, deviation and deviation[name])}" for name, item in value.items()
        )
    if isinstance(value, list):
        deviations = deviation or [None] * len(value)
        return ", ".join(with_spread(*pair) for pair in zip(value, deviations, strict=True))
    shown = markup.number(value)
    return shown if deviation is None else f"{shown} ± {markup.number(deviation)}"
