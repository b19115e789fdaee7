"""Hold the results of this run against the published claims: write `reports/claims.json`."""

from collections.abc import Iterable
from pathlib import Path

from reproduction.claims.exhibits import load_exhibits
from reproduction.claims.ledger import check_claims, claims_document, load_claims
from reproduction.claims.results import read_results, write_json


def main(claims: str, exhibits: str, results: Iterable[str], output: str) -> None:
    """Check each claim on the experiments whose `values.json` are given."""
    documents = [read_results(Path(path).parent) for path in results]
    by_experiment = {document["experiment"]: document for document in documents}
    outcome = check_claims(load_claims(claims), load_exhibits(exhibits), by_experiment)
    write_json(output, claims_document(outcome))


if "snakemake" in globals():
    main(
        snakemake.input.claims,
        snakemake.input.exhibits,
        snakemake.input.results,
        snakemake.output[0],
    )
