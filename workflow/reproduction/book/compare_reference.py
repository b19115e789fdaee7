"""Compare the run in this folder with the reference run (`make compare`)."""

import sys
from dataclasses import asdict
from pathlib import Path

from reproduction.claims.exhibits import load_exhibits
from reproduction.claims.ledger import check_claims, load_claims
from reproduction.claims.reference import SCALES, Difference, compare, read_references
from reproduction.claims.results import VALUES, read_results


def main() -> None:
    """Print what differs from the reference at demo scale beyond its interval."""
    reference = read_references().get(SCALES[0])
    if reference is None:
        sys.exit("there is no reference run: `make reference` writes one")
    found, n = differences(reference)
    if n == 0:
        sys.exit("there are no results in data/results: run `make` or `make figure ID=...` first")
    print(report(found, n, reference["scale"]))


def differences(reference: dict, results: str | Path = "data/results") -> tuple[list[Difference], int]:
    """Return what differs between the reference and the results in a folder, and how many claims it has."""
    folders = sorted(path.parent for path in Path(results).glob(f"*/{VALUES}"))
    by_experiment = {folder.name: read_results(folder) for folder in folders}
    claims = [claim for claim in load_claims("config/claims.yaml") if claim.experiment in by_experiment]
    rows = [asdict(row) for row in check_claims(claims, load_exhibits("config/exhibits.yaml"), by_experiment)]
    return compare(reference, rows), sum(row["id"] in reference["claims"] for row in rows)


def report(found: list[Difference], n: int, scale: str) -> str:
    """Return the differences as text, one per line."""
    lines = [f"{n} claims and controls compared with the reference run at {scale} scale"]
    for difference in found:
        lines.append(
            f"{difference.claim}: {difference.what}: {difference.run} (reference: {difference.reference})"
        )
    return "\n".join([*lines, f"{len(found)} differences beyond the 95 % intervals"])


if __name__ == "__main__":
    main()
