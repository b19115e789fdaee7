"""Preprocess the scans of the two films (rule prepare_movie_watching)."""

from reproduction.claims.results import read_json
from reproduction.datasets.movie_watching import read_movie_watching
from reproduction.experiments.fmri_studies.movie_series import prepare_movie
from reproduction.pipeline.job import job


def main(receipt: str, series: str) -> None:
    """Write the volumes of both films and the labels as arrays."""
    prepare_movie(read_movie_watching(read_json(receipt)["folder"])).write(series)


if "snakemake" in globals():
    with job(snakemake):
        main(snakemake.input.receipt, snakemake.output.series)
