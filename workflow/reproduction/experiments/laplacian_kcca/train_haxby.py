"""The experiments of section 4.1.3 on the Haxby slice (rule train_haxby_kcca)."""

from collections.abc import Mapping
from typing import Any

from reproduction.claims.results import read_json
from reproduction.datasets.haxby2001_slice import read_haxby2001_slice
from reproduction.experiments.fmri_studies.haxby import prepare_haxby
from reproduction.experiments.laplacian_kcca.movie_study import (
    PUBLISHED_EXPERIMENTS,
    both_protocols,
    study_haxby,
)
from reproduction.experiments.laplacian_kcca.protocol import Settings
from reproduction.pipeline.job import job


def main(receipt: str, table: str, *, runs: int, settings: Mapping[str, Any]) -> None:
    """Learn all categories and sets of them, with runs held out and with permuted volumes."""
    data, grid = prepare_haxby(read_haxby2001_slice(read_json(receipt)["folder"])), Settings.of(settings)
    fair = study_haxby(data, runs, grid)
    permuted = study_haxby(
        data, runs, grid, permuted=True, variants=PUBLISHED_EXPERIMENTS, criteria=("folds",)
    )
    both_protocols(fair, permuted).to_csv(table, index=False, lineterminator="\n")


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            snakemake.output.table,
            runs=snakemake.params.runs,
            settings=snakemake.params.settings,
        )
