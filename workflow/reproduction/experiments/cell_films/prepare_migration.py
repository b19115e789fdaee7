"""Detections of migrating cells at some frame rates (rule prepare_migration_films)."""

from collections.abc import Mapping

from reproduction.claims.results import read_json
from reproduction.datasets.cell_migration import read_cell_migration
from reproduction.experiments.cell_films.migration import film_of_migration
from reproduction.pipeline.job import job


def main(receipt: str, films: Mapping[int, str]) -> None:
    """Write the film of each step between frames to its file."""
    data = read_cell_migration(read_json(receipt)["folder"])
    shape = data.truth.masks[0].shape
    for step, path in films.items():
        film_of_migration(data.sequences[step], shape).write(path)


if "snakemake" in globals():
    with job(snakemake):
        main(
            snakemake.input.receipt,
            dict(zip(snakemake.params.steps, snakemake.output.films, strict=True)),
        )
