"""Write commit, versions, configuration, machine and run times of a run (rule collect_provenance)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reproduction.book.provenance import collect_provenance
from reproduction.claims.results import write_json
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, config: Mapping[str, Any], benchmarks: str) -> None:
    """Describe the run that ends in the working folder."""
    path = Path(outputs["provenance"])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, collect_provenance(config, benchmarks=benchmarks, seeds=[config["seed"]]))


if "snakemake" in globals():
    run_stage(main, snakemake)
