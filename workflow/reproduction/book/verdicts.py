"""Show the claims of a section at the end of its notebook."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from IPython.display import Markdown

from reproduction.book.claim_table import claims_table
from reproduction.claims.departures import load_published
from reproduction.claims.exhibits import load_exhibits
from reproduction.claims.ledger import check_claims, load_claims
from reproduction.claims.reference import read_references
from reproduction.claims.results import read_results

_EXPLANATION = (
    "Each claim is decided by a criterion on the results of this run. Results that rest on seeds, splits, "
    "films or other repeated measurements have 95 % intervals, and the criterion is evaluated on draws from "
    "their joint uncertainty, paired where the measurements are paired: a claim is *reproduced* if it holds "
    "in at least 95 % of the draws, *not reproduced* if it holds in at most 5 %, and *undecided* otherwise."
)


def verdicts(section: str, *folders: str | Path) -> Markdown:
    """Return the table of claims of a section, decided on the results of its experiments.

    Parameters
    ----------
    section
        Id of the section in ``config/exhibits.yaml``.
    *folders
        Result folders of its experiments.
    """
    catalogue = load_exhibits("config/exhibits.yaml")
    exhibits = {exhibit.id for exhibit in catalogue.exhibits_in(section)}
    claims = [claim for claim in load_claims("config/claims.yaml") if claim.exhibit in exhibits]
    results = {found["experiment"]: found for found in map(read_results, folders)}
    rows = [asdict(row) for row in check_claims(claims, catalogue, results, load_published())]
    return Markdown(verdicts_text(rows, read_references()))


def verdicts_text(rows: Sequence[Mapping[str, Any]], references: Mapping[str, Mapping[str, Any]]) -> str:
    """Return tables of claims and of controls as Markdown that Jupyter and the book both render.

    ``references`` are reference runs by scale.
    """
    published = [row for row in rows if not row["control"]]
    controls = [row for row in rows if row["control"]]
    parts = [_EXPLANATION, claims_table(published, references)]
    if controls:
        parts += ["**Controls of this project**", claims_table(controls, references)]
    return "\n\n".join(parts)
