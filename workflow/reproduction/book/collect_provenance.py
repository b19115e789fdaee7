"""Write reports/provenance.json: commit, versions, configuration, machine and run times."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from reproduction.book.provenance import collect_provenance
from reproduction.claims.results import write_json
from reproduction.pipeline.job import job


def main(output: str, config: Mapping[str, Any], seeds: Iterable[int], benchmarks: str) -> None:
    """Describe the run that ends in the working folder, and write it to ``output``."""
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    write_json(output, collect_provenance(config, benchmarks=benchmarks, seeds=seeds))


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.output[0],
            snakemake.params.config,
            snakemake.params.seeds,
            snakemake.params.benchmarks,
        )
