"""Put a data set into data/raw and write its receipt (rule acquire_dataset)."""

from pathlib import Path

from reproduction.acquire.registry import acquire
from reproduction.claims.results import write_json
from reproduction.pipeline.job import Paths, run_stage


def main(inputs: Paths, outputs: Paths, *, dataset: str, policy: str, seed: int, size: str) -> None:
    """Acquire ``dataset`` from the sources that ``policy`` allows, and write where it came from."""
    receipt = acquire(dataset, policy=policy, seed=seed, size=size)
    path = Path(outputs["receipt"])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, receipt.as_dict())


if "snakemake" in globals():
    run_stage(main, snakemake)
