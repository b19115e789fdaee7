"""What five strategies need of a target's annotation (rule evaluate_transfer)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from reproduction.claims.results import read_json, write_results
from reproduction.experiments.transfer.measures import percent, summarise
from reproduction.experiments.transfer.protocol import SHARED
from reproduction.pipeline.job import job

#: The study whose numbers the claims are about.
MAIN = "laboratories"


def main(
    runs: Sequence[str],
    facts: Sequence[str],
    timings: Mapping[str, str],
    receipts: Sequence[str],
    folder: Path,
) -> None:
    """Put the runs of all scenarios together, and summarise each study."""
    table = percent(pd.concat([pd.read_csv(path) for path in runs], ignore_index=True))
    table.to_csv(folder / "runs.csv", index=False, lineterminator="\n")
    summaries = {name: summarise(some, list(SHARED)) for name, some in table.groupby("study", sort=False)}
    known = {name: fact for path in facts for name, fact in read_json(path).items()}
    write_results(
        folder,
        {
            **summaries[MAIN],
            "union_limit_difference": known[MAIN]["union_limit_difference"],
            "studies": {name: {**summary, **known[name]} for name, summary in summaries.items()},
        },
        datasets={Path(path).stem: read_json(path)["kind"] for path in receipts},
        timings={name: read_json(path)["seconds"] for name, path in timings.items()},
    )


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.runs,
            snakemake.input.facts,
            dict(zip(snakemake.params.scenarios, snakemake.input.timings, strict=True)),
            snakemake.input.receipts,
            Path(snakemake.output.values).parent,
        )
