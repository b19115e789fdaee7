"""The reference run: values and verdicts of the last complete run on real data at demo scale.

``reference/demo-real.json`` is committed, so that pages show its numbers next to those of any other run.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reproduction.claims.results import read_json

REFERENCE = Path("reference/demo-real.json")
_KEPT = ("status", "reason", "probability", "units", "ours", "intervals", "badge", "datasets")


def read_reference(path: str | Path = REFERENCE) -> dict[str, Any] | None:
    """Return the reference run, or None if there is none."""
    return read_json(path) if Path(path).exists() else None


def reference_document(claims: Mapping[str, Any], provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of the reference file.

    Parameters
    ----------
    claims
        The content of ``reports/claims.json``.
    provenance
        The content of ``reports/provenance.json``.
    """
    rows = [*claims["claims"], *claims["controls"]]
    return {
        "code": provenance["code"],
        "scale": provenance["config"]["scale"],
        "packages": provenance["packages"],
        "counts": claims["counts"],
        "claims": {row["id"]: {name: row[name] for name in _KEPT} for row in rows},
    }
