"""Write the reference file from the run in this folder, and its table into the README (`make reference`)."""

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ermlab._utils.files import write_json
from reproduction.acquire.registry import load_registry
from reproduction.claims.exhibits import load_exhibits
from reproduction.claims.ledger import load_claims
from reproduction.claims.reference import REFERENCE, reference_document, results_table
from reproduction.claims.results import VALUES, read_json, read_results

_TABLE = re.compile(r"(?<=<!-- reference run -->\n).*?(?=\n<!-- end of reference run -->)", flags=re.DOTALL)


def main() -> None:
    """Write the reference file and the table in the README, or say why the run cannot be a reference."""
    provenance = read_json("reports/provenance.json")
    receipts = [read_json(path) for path in sorted(Path("data/receipts").glob("*.json"))]
    if reason := why_not(provenance["config"]["scale"], provenance["code"], receipts):
        sys.exit(f"this run cannot be the reference: {reason}")
    folders = [path.parent for path in Path("data/results").glob(f"*/{VALUES}")]
    results = {folder.name: read_results(folder) for folder in folders}
    claims = load_claims("config/claims.yaml")
    document = reference_document(read_json("reports/claims.json"), provenance, claims, results)
    REFERENCE.parent.mkdir(exist_ok=True)
    write_json(REFERENCE, document)
    readme = Path("README.md")
    catalogue = load_exhibits("config/exhibits.yaml")
    readme.write_text(
        with_table(readme.read_text(encoding="utf-8"), results_table(document, catalogue)), "utf-8"
    )
    print(f"{REFERENCE} and the table in {readme} describe the run of {provenance['code']['commit'][:7]}")


def why_not(scale: str, code: Mapping[str, Any] | None, receipts: Iterable[Mapping[str, Any]]) -> str | None:
    """Return why a run cannot be the reference; None if it can."""
    if scale != "demo":
        return f"its scale is {scale}, expected demo"
    if code is None or code["dirty"]:
        return "the code is not that of a commit"
    registry = load_registry("data/registry.yaml")
    for receipt in receipts:
        dataset = registry[receipt["dataset"]]
        if receipt["kind"] == "simulated" and dataset.tree is not None:
            return f"{dataset.name} is simulated; set ERMLAB_MIRROR to a folder that has the real data"
    return None


def with_table(readme: str, table: str) -> str:
    """Return the text of the README with the table of the reference run in its place."""
    found, n = _TABLE.subn(lambda _: table, readme)
    if n != 1:
        raise ValueError(f"README.md has {n} places for the table of the reference run: expected one")
    return found


if __name__ == "__main__":
    main()
