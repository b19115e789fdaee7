"""Compare the results of a run with the published claims (rule check_claims)."""

from pathlib import Path

from reproduction.claims.departures import load_published
from reproduction.claims.exhibits import load_exhibits
from reproduction.claims.ledger import check_claims, claims_document, load_claims
from reproduction.claims.results import read_results, write_json
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths) -> None:
    """Check each claim on the experiments whose ``values.json`` are given."""
    documents = [read_results(Path(path).parent) for path in inputs["results"]]
    by_experiment = {document["experiment"]: document for document in documents}
    claims, exhibits = load_claims(inputs["claims"]), load_exhibits(inputs["exhibits"])
    outcome = check_claims(claims, exhibits, by_experiment, load_published())
    write_json(outputs["claims"], claims_document(outcome))


if "snakemake" in globals():
    run_stage(main, snakemake)
