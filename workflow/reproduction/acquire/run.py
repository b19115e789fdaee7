"""Put a data set into data/raw and write its receipt (rule acquire_dataset)."""

from pathlib import Path

from reproduction.acquire.registry import acquire
from reproduction.claims.results import write_json
from reproduction.pipeline.job import job


def main(dataset: str, receipt: str, policy: str, mirror: str | None, seed: int, size: str) -> None:
    """Acquire ``dataset`` as ``policy`` says, and write to ``receipt`` where it came from."""
    result = acquire(dataset, policy=policy, mirror=mirror, seed=seed, size=size)
    Path(receipt).parent.mkdir(parents=True, exist_ok=True)
    write_json(receipt, result.as_dict())


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.wildcards.dataset,
            snakemake.output.receipt,
            snakemake.params.policy,
            snakemake.config["mirror"],
            snakemake.params.seed,
            snakemake.params.size,
        )
