"""Write a reference file from the run in this folder, and its tables into the README (`make reference`)."""

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ermlab._utils.files import write_json
from reproduction.acquire.registry import Dataset, load_registry
from reproduction.book.provenance import describe_commit, installed_versions
from reproduction.claims.departures import load_published
from reproduction.claims.exhibits import Catalogue, load_exhibits
from reproduction.claims.ledger import check_claims, load_claims
from reproduction.claims.reference import (
    SCALES,
    read_references,
    reference_document,
    reference_path,
    results_tables,
)
from reproduction.claims.results import read_results

_TABLES = re.compile(r"(?<=<!-- reference run -->\n).*?(?=\n<!-- end of reference run -->)", flags=re.DOTALL)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the reference file of a scale, or say why the run cannot be a reference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", choices=SCALES, default=SCALES[0])
    parser.add_argument("sections", nargs="*", help="sections that were run; by default all")
    given = parser.parse_args(arguments)
    catalogue = load_exhibits("config/exhibits.yaml")
    sections = given.sections or [section.id for section in catalogue.built_sections]
    results = section_results(sections, catalogue)
    code = describe_commit()
    if reason := why_not(given.scale, code, results.values(), load_registry("data/registry.yaml")):
        sys.exit(f"this run cannot be the reference: {reason}")
    provenance = {"code": code, "scale": given.scale, "packages": installed_versions()}
    before = read_references().get(given.scale) if given.sections else None
    document = new_reference(sections, catalogue, results, provenance, before)
    path = reference_path(given.scale)
    path.parent.mkdir(exist_ok=True)
    write_json(path, document)
    if given.scale == SCALES[0]:
        readme = Path("README.md")
        tables = results_tables(document, catalogue)
        readme.write_text(with_tables(readme.read_text(encoding="utf-8"), tables), encoding="utf-8")
    print(f"{path} has {len(document['sections'])} sections, the last of commit {code['commit'][:7]}")


def section_results(sections: Iterable[str], catalogue: Catalogue) -> dict[str, dict[str, Any]]:
    """Read the results of the experiments of sections."""
    names = {name for section in sections for name in catalogue.section(section).experiments}
    return {name: read_results(Path("data/results") / name) for name in sorted(names)}


def new_reference(
    sections: Sequence[str],
    catalogue: Catalogue,
    results: Mapping[str, Mapping[str, Any]],
    provenance: Mapping[str, Any],
    before: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Decide the claims of sections on results, and return the content of the reference file."""
    exhibits = {exhibit.id for section in sections for exhibit in catalogue.exhibits_in(section)}
    claims = [claim for claim in load_claims("config/claims.yaml") if claim.exhibit in exhibits]
    rows = [asdict(row) for row in check_claims(claims, catalogue, results, load_published())]
    return reference_document(rows, sections, provenance, claims, results, before)


def why_not(
    scale: str,
    code: Mapping[str, Any] | None,
    results: Iterable[Mapping[str, Any]],
    registry: Mapping[str, Dataset],
) -> str | None:
    """Return why a run cannot be the reference at a scale; None if it can."""
    if code is None or code["dirty"]:
        return "the code is not that of a commit"
    for found in results:
        if found["settings"].get("scale") != scale:
            return f"the scale of {found['experiment']} is {found['settings'].get('scale')}, expected {scale}"
        for name, kind in found["datasets"].items():
            if kind == "simulated" and name in registry and registry[name].tree is not None:
                return f"{name} is simulated; set ERMLAB_MIRROR to a folder that has the real data"
    return None


def with_tables(readme: str, tables: str) -> str:
    """Return the text of the README with the tables of the reference run in their place."""
    found, n = _TABLES.subn(lambda _: tables, readme)
    if n != 1:
        raise ValueError(f"README.md has {n} places for the tables of the reference run: expected one")
    return found


if __name__ == "__main__":
    main()
