"""Preprocess the scans of the two films (rule prepare_movie_watching)."""

from ermlab.datasets.movie_watching import read_movie_watching
from ermlab.evaluation.results import read_json
from ermlab.features.movie_series import prepare_movie
from ermlab.workflow.job import job


def main(receipt: str, series: str) -> None:
    """Write the volumes of both films and the labels as arrays."""
    prepare_movie(read_movie_watching(read_json(receipt)["folder"])).write(series)


if "snakemake" in globals():
    with job(snakemake):
        main(snakemake.input.receipt, snakemake.output.series)
